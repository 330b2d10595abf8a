#include "espalier/codegen/emit.h"

#include <gtest/gtest.h>

#include "espalier/codegen/test_kernels.h"

namespace espalier {
namespace {

// Y[i] = exp(X[i]) + X[i] mod 3 on `threads` threads.
LoweredKernel mapped(int threads) {
  const Buffer x = make_buffer("X", DType::F32, {4, 37}, BufferScope::Param);
  const Buffer y = make_buffer("Y", DType::F32, {4, 37}, BufferScope::Param);
  const Var i("i"), j("j");
  const Expr v = make_load(x, {i, j});
  return test::kernel_of({x, y},
                         make_for(i, 0, 4, ForKind::Parallel,
                                  make_for(j, 0, 37, ForKind::Vectorized,
                                           make_store(y, {i, j}, exp(v) + v % Expr(3.0f)))),
                         threads);
}

TEST(Emit, IrNamesTheEntryAndItsOutlinedBody) {
  const std::string text = emit_llvm_ir(mapped(2), test::avx2()).value();
  EXPECT_NE(text.find("define i32 @kernel(ptr"), std::string::npos);
  EXPECT_NE(text.find("define internal void @kernel.body0(ptr"), std::string::npos);
  EXPECT_NE(text.find("@espalier_parallel_for"), std::string::npos);
}

TEST(Emit, NoFlagOfFastMathIsSet) {
  const std::string text = emit_llvm_ir(mapped(1), test::avx2()).value();
  for (const char* flag : {" fast ", " contract ", " nnan ", " ninf ", " nsz ", " reassoc "}) {
    EXPECT_EQ(text.find(flag), std::string::npos) << flag;
  }
}

TEST(Emit, OneThreadNeedsNoRuntimeForItsLoops) {
  EXPECT_EQ(emit_llvm_ir(mapped(1), test::avx2()).value().find("espalier_parallel_for"),
            std::string::npos);
}

TEST(Emit, VectorsAreAsWideAsTheTargets) {
  EXPECT_NE(emit_assembly(mapped(1), test::avx512()).value().find("zmm"), std::string::npos);
  const std::string avx2 = emit_assembly(mapped(1), test::avx2()).value();
  EXPECT_NE(avx2.find("ymm"), std::string::npos);
  EXPECT_EQ(avx2.find("zmm"), std::string::npos);
}

TEST(Emit, MaskedStoresAreForTargetsThatDoThemFast) {
  EXPECT_EQ(emit_assembly(mapped(1), test::avx2()).value().find("vmaskmovps\t%ymm"),
            std::string::npos);
}

TEST(Emit, ObjectIsAnElfFile) {
  const std::string bytes = emit_object(mapped(2), test::avx2()).value();
  EXPECT_EQ(bytes.substr(0, 4),
            "\x7f"
            "ELF");
}

TEST(Emit, CrossCompilesForNeon) {
  const std::string text =
      emit_assembly(mapped(2), parse_target("aarch64 features=+neon").value()).value();
  EXPECT_NE(text.find("fmla"), std::string::npos);
}

TEST(Emit, PackIsAFunctionOfItsOwn) {
  LoweredKernel kernel = mapped(1);
  kernel.pack = mapped(1).main;
  kernel.pack.name = "kernel_pack";
  EXPECT_NE(emit_llvm_ir(kernel, test::avx2()).value().find("define i32 @kernel_pack("),
            std::string::npos);
}

}  // namespace
}  // namespace espalier
