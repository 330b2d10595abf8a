// What tests of code generation share: kernels built by hand, memory, calls.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "espalier/codegen/jit.h"
#include "espalier/ir/evaluate.h"
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

// The memory of a kernel's parameters, with a margin on both sides that must stay as it is.
// Elements are small integers, different everywhere, so that sums and products are exact.
class Memory {
 public:
  explicit Memory(const LoweredFunc& func, uint64_t seed = 1);
  const std::vector<void*>& pointers() const { return pointers_; }
  // Where the two differ, bit by bit except that all NaNs are equal; empty when they do not.
  std::string difference(const Memory& other) const;
  template <class T>
  T* as(size_t param) {
    return static_cast<T*>(pointers_[param]);
  }

 private:
  const LoweredFunc& func_;
  std::vector<std::vector<std::byte>> blocks_;
  std::vector<size_t> starts_;  // of the lowest element
  std::vector<void*> pointers_;
};

// Expects the same from the interpreter before the passes (if `also_before`), the interpreter after
// them and machine code for the target. Returns the code, null when it cannot run here.
std::unique_ptr<JitCode> expect_same(const LoweredKernel& kernel, const Target& target,
                                     bool also_before = true, uint64_t seed = 1);
// On this machine's own target, on AVX2, and with 128-bit vectors.
void expect_same_everywhere(const LoweredKernel& kernel, bool also_before = true);

// The function's text after the passes.
std::string final_text(const LoweredKernel& kernel, const Target& target);

inline Target avx512() {
  return parse_target("x86_64 features=+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl")
      .value();
}
inline Target avx2() { return parse_target("x86_64 features=+avx2,+fma,+f16c").value(); }

inline Target sse() { return parse_target("x86_64 features=+sse4.2").value(); }

}  // namespace espalier::test
