#include "espalier/codegen/test_kernels.h"

#include "espalier/codegen/pipeline.h"

namespace espalier::test {
namespace {

constexpr size_t kMargin = 256;
constexpr std::byte kUntouched{0xa5};

int64_t lowest_element(const BufferNode& b) {
  int64_t lowest = 0;
  for (size_t d = 0; d < b.shape.size(); ++d) {
    if (b.strides[d] < 0) lowest += b.strides[d] * (b.shape[d] - 1);
  }
  return lowest;
}

bool is_nan(DType t, const std::byte* at) {
  Array one(t, {1});
  std::memcpy(one.data(), at, static_cast<size_t>(bytes_of(t)));
  return is_float(t) && std::isnan(one.get(0));
}

}  // namespace

Memory::Memory(const LoweredFunc& func, uint64_t seed) : func_(func) {
  uint64_t state = seed;
  for (const LoweredFunc::Param& p : func.params) {
    const BufferNode& b = *p.buffer;
    const auto element = static_cast<size_t>(bytes_of(b.dtype));
    const auto bytes = static_cast<size_t>(b.bytes());
    std::vector<std::byte> block(bytes + 2 * kMargin + 64, kUntouched);
    // So that the first element, not the lowest one, is aligned.
    const auto below = static_cast<size_t>(-lowest_element(b)) * element;
    const auto at = reinterpret_cast<uintptr_t>(block.data()) + kMargin + below;
    const size_t start = kMargin + (64 - at % 64) % 64;
    Array one(b.dtype, {1});
    for (size_t i = 0; i < bytes / element; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      one.set_int(0, static_cast<int64_t>(state >> 33) % 7 - (is_unsigned_int(b.dtype) ? 0 : 3));
      std::memcpy(block.data() + start + i * element, one.data(), element);
    }
    starts_.push_back(start);
    pointers_.push_back(block.data() + start + below);
    blocks_.push_back(std::move(block));
  }
}

std::string Memory::difference(const Memory& other) const {
  for (size_t p = 0; p < blocks_.size(); ++p) {
    const BufferNode& b = *func_.params[p].buffer;
    const auto element = static_cast<size_t>(bytes_of(b.dtype));
    const auto bytes = static_cast<size_t>(b.bytes());
    const std::byte* x = blocks_[p].data() + starts_[p];
    const std::byte* y = other.blocks_[p].data() + other.starts_[p];
    for (size_t i = 0; i < bytes; i += element) {
      if (std::memcmp(x + i, y + i, element) == 0) continue;
      if (is_nan(b.dtype, x + i) && is_nan(b.dtype, y + i)) continue;
      Array one(b.dtype, {2});
      std::memcpy(one.data(), x + i, element);
      std::memcpy(static_cast<std::byte*>(one.data()) + element, y + i, element);
      return b.name + " at " + std::to_string(i / element) + ": " + std::to_string(one.get(0)) +
             " and " + std::to_string(one.get(1));
    }
    for (const Memory* m : {this, &other}) {
      for (size_t i = 0; i < m->blocks_[p].size(); ++i) {
        const bool outside = i < m->starts_[p] || i >= m->starts_[p] + bytes;
        if (outside && m->blocks_[p][i] != kUntouched) {
          return b.name + " was written outside of its bounds";
        }
      }
    }
  }
  return "";
}

std::unique_ptr<JitCode> expect_same(const LoweredKernel& kernel, const Target& target,
                                     bool also_before, uint64_t seed) {
  const LoweredFunc final = run_passes(kernel.main, target);
  Memory before(kernel.main, seed), after(kernel.main, seed), machine(kernel.main, seed);
  const auto ran = interpret(final, after.pointers());
  EXPECT_TRUE(ran.ok()) << to_string(ran.error()) << "\n" << to_string(final);
  if (also_before) {
    const auto first = interpret(kernel.main, before.pointers());
    EXPECT_TRUE(first.ok()) << to_string(first.error());
    EXPECT_EQ(before.difference(after), "") << "before and after the passes\n" << to_string(final);
  }
  if (!target.runs_on(host_target())) return nullptr;
  auto code = JitCode::compile(kernel, target);
  EXPECT_TRUE(code.ok()) << to_string(code.error());
  if (!code.ok()) return nullptr;
  EXPECT_EQ(run(*code, machine.pointers()), 0);
  EXPECT_EQ(after.difference(machine), "")
      << "interpreter and machine code for " << to_string(target) << "\n"
      << to_string(final);
  return std::make_unique<JitCode>(std::move(code).value());
}

void expect_same_everywhere(const LoweredKernel& kernel, bool also_before) {
  for (const Target& target : {avx512(), avx2(), parse_target("x86_64 features=+sse4.2").value()}) {
    expect_same(kernel, target, also_before);
  }
}

std::string final_text(const LoweredKernel& kernel, const Target& target) {
  return to_string(run_passes(kernel.main, target));
}

}  // namespace espalier::test
