// What tests of code generation share: kernels built by hand, memory, calls.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "espalier/codegen/jit.h"
#include "espalier/ir/mutate.h"

namespace espalier::test {

inline LoweredKernel kernel_of(std::vector<Buffer> params, Stmt body, int threads = 1) {
  LoweredKernel k;
  k.main.name = "kernel";
  k.main.threads = threads;
  for (Buffer& b : params) k.main.params.push_back({std::move(b)});
  k.main.body = std::move(body);
  k.pack.name = "kernel_pack";
  return k;
}

// n elements, 64-byte aligned, filled with zeros.
template <class T>
class Aligned {
 public:
  explicit Aligned(int64_t n) : bytes_(static_cast<size_t>(n) * sizeof(T) + 64) {
    void* at = bytes_.data();
    size_t space = bytes_.size();
    data_ = static_cast<T*>(std::align(64, bytes_.size() - 64, at, space));
  }
  T* data() { return data_; }
  T& operator[](int64_t i) { return data_[i]; }

 private:
  std::vector<std::byte> bytes_;
  T* data_;
};

inline int32_t run(const JitCode& code, std::vector<void*> params,
                   espalier_context* ctx = nullptr) {
  Aligned<std::byte> workspace(code.workspace_bytes());
  return code.main()(params.data(), workspace.data(), ctx);
}

}  // namespace espalier::test
