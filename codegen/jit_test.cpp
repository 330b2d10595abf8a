#include "espalier/codegen/jit.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

using test::kernel_of;
using test::run;

// C[i, j] = sum over k of A[i, k] * B[k, j] as a plain nest.
LoweredKernel plain_matmul(int64_t m, int64_t n, int64_t k) {
  const Buffer a = make_buffer("A", DType::F32, {m, k}, BufferScope::Param, 4);
  const Buffer b = make_buffer("B", DType::F32, {k, n}, BufferScope::Param, 4);
  const Buffer c = make_buffer("C", DType::F32, {m, n}, BufferScope::Param, 4);
  const Var i("i"), j("j"), p("k");
  const Expr term = make_load(a, {i, p}) * make_load(b, {p, j});
  const Stmt update =
      make_for(p, 0, k, ForKind::Serial, make_store(c, {i, j}, make_load(c, {i, j}) + term));
  const Stmt body = make_block({make_store(c, {i, j}, Expr(0.0f)), update});
  return kernel_of({a, b, c},
                   make_for(i, 0, m, ForKind::Serial, make_for(j, 0, n, ForKind::Serial, body)));
}

TEST(Jit, RunsAPlainNest) {
  const JitCode code = JitCode::compile(plain_matmul(5, 7, 9), host_target()).value();
  std::vector<float> a(45), b(63), c(35, NAN);
  std::iota(a.begin(), a.end(), -20.0f);
  std::iota(b.begin(), b.end(), -30.0f);
  ASSERT_EQ(run(code, {a.data(), b.data(), c.data()}), 0);
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 7; ++j) {
      float want = 0;
      for (size_t k = 0; k < 9; ++k) want += a[i * 9 + k] * b[k * 7 + j];
      EXPECT_EQ(c[i * 7 + j], want);
    }
  }
}

TEST(Jit, HasNoPackFunctionWhenNothingIsPacked) {
  EXPECT_EQ(JitCode::compile(plain_matmul(1, 1, 1), host_target()).value().pack(), nullptr);
}

TEST(Jit, RunsParallelLoopsThroughTheContext) {
  const Buffer x = make_buffer("X", DType::I64, {100}, BufferScope::Param, 8);
  const Buffer y = make_buffer("Y", DType::I64, {100}, BufferScope::Param, 8);
  const Buffer scratch = make_buffer("T", DType::I64, {1}, BufferScope::Workspace);
  const Var i("i"), outer("o");
  const Stmt body = make_allocate(
      scratch, make_block({make_store(scratch, {0}, make_load(x, {i}) * Expr(3) + outer),
                           make_store(y, {i}, make_load(y, {i}) + make_load(scratch, {0}))}));
  const Stmt nest =
      make_for(outer, 0, 2, ForKind::Serial, make_for(i, 10, 80, ForKind::Parallel, body));
  const JitCode code = JitCode::compile(kernel_of({x, y}, nest, 3), host_target()).value();
  espalier_pool* pool = espalier_pool_create(3);
  espalier_context ctx = espalier_pool_context(pool);
  std::vector<int64_t> a(100), b(100, 7);
  std::iota(a.begin(), a.end(), 0);
  EXPECT_EQ(run(code, {a.data(), b.data()}, &ctx), 0);
  for (int64_t k = 0; k < 100; ++k) {
    EXPECT_EQ(b[static_cast<size_t>(k)], k >= 10 && k < 90 ? 7 + 6 * k + 1 : 7);
  }
  espalier_pool_destroy(pool);
}

TEST(Jit, RefusesMoreSlotsThanItWasCompiledFor) {
  const Buffer y = make_buffer("Y", DType::I64, {4}, BufferScope::Param, 8);
  const Var i("i");
  const Stmt nest = make_for(i, 0, 4, ForKind::Parallel, make_store(y, {i}, i));
  const JitCode code = JitCode::compile(kernel_of({y}, nest, 2), host_target()).value();
  espalier_context ctx{nullptr, nullptr, 3};
  std::vector<int64_t> out(4, -1);
  EXPECT_EQ(run(code, {out.data()}, &ctx), ESPALIER_ERROR_SLOTS);
  EXPECT_EQ(out, std::vector<int64_t>(4, -1));
}

TEST(Jit, ReturnsTheErrorOfTheHook) {
  const Buffer y = make_buffer("Y", DType::I64, {4}, BufferScope::Param, 8);
  const Var i("i");
  const Stmt nest = make_block({make_for(i, 0, 4, ForKind::Parallel, make_store(y, {i}, i)),
                                make_store(y, {0}, make_index(99))});
  const JitCode code = JitCode::compile(kernel_of({y}, nest, 2), host_target()).value();
  espalier_context ctx{};
  ctx.slots = 2;
  ctx.parallel_for = [](espalier_context*, int64_t, int64_t, int64_t, espalier_body, void*) {
    return int32_t{17};
  };
  std::vector<int64_t> out(4, -1);
  EXPECT_EQ(run(code, {out.data()}, &ctx), 17);
  EXPECT_EQ(out[0], -1);
}

TEST(Jit, CompilesOnTwoThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([t] {
      for (int r = 0; r < 5; ++r) {
        const int64_t n = 3 + t + r;
        const JitCode code = JitCode::compile(plain_matmul(n, n, n), host_target()).value();
        std::vector<float> a(static_cast<size_t>(n * n), 1.0f), b = a, c = a;
        run(code, {a.data(), b.data(), c.data()});
        EXPECT_EQ(c[0], static_cast<float>(n));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Jit, RefusesAForeignTarget) {
  Target target = parse_target("aarch64").value();
  const auto code = JitCode::compile(plain_matmul(1, 1, 1), target);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace espalier
