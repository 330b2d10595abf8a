// Transposed convolutions against the scatter that they undo.
#include <gmock/gmock.h>

#include <algorithm>

#include "espalier/ir/ops/test_spec.h"

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

struct Shape {
  int64_t n = 1, h = 1, w = 1, ci = 1, co = 1, kh = 1, kw = 1, s = 1, d = 1, pt = 0, pl = 0;
  int64_t pb = 0, pr = 0, op = 0;
  bool nchw = false;

  int64_t out_h() const { return (h - 1) * s + (kh - 1) * d + 1 + op - pt - pb; }
  int64_t out_w() const { return (w - 1) * s + (kw - 1) * d + 1 + op - pl - pr; }
  std::string spec() const {
    std::string text = "conv2d_transpose:";
    auto add = [&](const char* key, int64_t value) {
      text += std::string(key) + "=" + std::to_string(value) + ",";
    };
    add("n", n), add("h", h), add("w", w), add("ci", ci), add("co", co), add("kh", kh);
    add("kw", kw), add("s", s), add("d", d), add("op", op);
    add("pt", pt), add("pb", pb), add("pl", pl), add("pr", pr);
    return text + (nchw ? "layout=nchw" : "layout=nhwc");
  }
};

// Each element of X adds its multiple of the kernel to Y.
std::vector<double> scatter(const Shape& p, const std::vector<double>& x,
                            const std::vector<double>& w) {
  std::vector<double> y(static_cast<size_t>(p.n * p.out_h() * p.out_w() * p.co), 0);
  auto at = [&](int64_t b, int64_t i, int64_t j, int64_t c, int64_t h, int64_t wide, int64_t many) {
    return static_cast<size_t>(p.nchw ? ((b * many + c) * h + i) * wide + j
                                      : ((b * h + i) * wide + j) * many + c);
  };
  for (int64_t b = 0; b < p.n; ++b)
    for (int64_t i = 0; i < p.h; ++i)
      for (int64_t j = 0; j < p.w; ++j)
        for (int64_t c = 0; c < p.ci; ++c)
          for (int64_t kh = 0; kh < p.kh; ++kh)
            for (int64_t kw = 0; kw < p.kw; ++kw)
              for (int64_t o = 0; o < p.co; ++o) {
                const int64_t row = i * p.s + kh * p.d - p.pt, col = j * p.s + kw * p.d - p.pl;
                if (row < 0 || row >= p.out_h() || col < 0 || col >= p.out_w()) continue;
                const auto weight =
                    static_cast<size_t>(p.nchw ? ((o * p.ci + c) * p.kh + kh) * p.kw + kw
                                               : ((kh * p.kw + kw) * p.ci + c) * p.co + o);
                y[at(b, row, col, o, p.out_h(), p.out_w(), p.co)] +=
                    x[at(b, i, j, c, p.h, p.w, p.ci)] * w[weight];
              }
  return y;
}

// Small integers: sums of their products are exact in f32.
std::vector<double> small(int64_t count, int seed) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>((i * 7 + seed) % 11 - 5));
  }
  return values;
}

void expect_scatter(const Shape& p) {
  const auto x = small(p.n * p.h * p.w * p.ci, 3), w = small(p.kh * p.kw * p.ci * p.co, 5);
  EXPECT_THAT(run_spec(p.spec(), {x, w}), ElementsAreArray(scatter(p, x, w))) << p.spec();
}

TEST(TransposedConvolutionOp, SpreadsTheKernel) {
  EXPECT_THAT(
      run_spec("conv2d_transpose:n=1,h=1,w=2,ci=1,co=1,kh=1,kw=3,s=2", {{1, 10}, {1, 2, 3}}),
      ElementsAre(1, 2, 13, 20, 30));
}

TEST(TransposedConvolutionOp, IsTheScatter) {
  expect_scatter({.n = 2,
                  .h = 4,
                  .w = 5,
                  .ci = 3,
                  .co = 2,
                  .kh = 4,
                  .kw = 4,
                  .s = 2,
                  .pt = 1,
                  .pl = 1,
                  .pb = 1,
                  .pr = 1});
  expect_scatter({.h = 3,
                  .w = 5,
                  .ci = 2,
                  .co = 3,
                  .kh = 3,
                  .kw = 3,
                  .s = 2,
                  .pt = 1,
                  .pl = 1,
                  .pb = 1,
                  .pr = 1,
                  .op = 1});
  expect_scatter({.h = 5, .w = 4, .ci = 2, .co = 1, .kh = 3, .kw = 5, .s = 1, .pt = 2, .pl = 0});
}

TEST(TransposedConvolutionOp, KernelBelowTheStrideLeavesZeros) {
  expect_scatter({.h = 3, .w = 2, .ci = 1, .co = 2, .kh = 2, .kw = 1, .s = 3});
  expect_scatter({.h = 3, .w = 2, .ci = 1, .co = 2, .kh = 2, .kw = 2, .s = 2});
}

TEST(TransposedConvolutionOp, Dilation) {
  for (int64_t s : {1, 2, 3, 4, 6}) {
    for (int64_t d : {2, 3, 4}) {
      expect_scatter({.h = 3,
                      .w = 4,
                      .ci = 2,
                      .co = 2,
                      .kh = 3,
                      .kw = 2,
                      .s = s,
                      .d = d,
                      .pt = 1,
                      .pl = 2,
                      .pr = 1,
                      .op = std::max(s, d) - 1});
    }
  }
}

TEST(TransposedConvolutionOp, ChannelsFirst) {
  expect_scatter(
      {.n = 2, .h = 3, .w = 4, .ci = 3, .co = 2, .kh = 3, .kw = 2, .s = 2, .pt = 1, .nchw = true});
}

TEST(TransposedConvolutionOp, ExtentsOneAndZero) {
  expect_scatter({.h = 1, .w = 1, .ci = 1, .co = 1, .kh = 3, .kw = 3, .s = 2});
  expect_scatter({.n = 0, .h = 2, .w = 2, .ci = 1, .co = 1, .kh = 2, .kw = 2});
  expect_scatter({.h = 2, .w = 2, .ci = 0, .co = 2, .kh = 2, .kw = 2});
}

TEST(TransposedConvolutionOp, OutputSizes) {  // G9, G13
  const auto shape = [](std::string_view spec) {
    const ComputeDag dag = load_workload(spec).value();
    return dag.stage(dag.outputs()[0]).tensor->shape;
  };
  EXPECT_EQ(shape("conv2d_transpose:n=1,h=28,w=28,ci=1,co=1,k=3,s=2,p=1,op=1"),
            (std::vector<int64_t>{1, 56, 56, 1}));
  EXPECT_EQ(shape("conv2d_transpose:n=1,h=10,w=10,ci=1,co=1,k=2,d=2,s=2,p=3,op=1"),
            (std::vector<int64_t>{1, 16, 16, 1}));
}

// Only terms between the strides that exist are counted: a quarter of all taps at stride 2.
TEST(TransposedConvolutionOp, HasNoTermsBetweenStrides) {
  const ComputeDag dag =
      load_workload("conv2d_transpose:n=1,h=8,w=8,ci=3,co=5,k=4,s=2,p=1").value();
  EXPECT_EQ(dag.flops(), 2.0 * 16 * 16 * 5 * (2 * 2 * 3));
}

TEST(TransposedConvolutionErrors, ImpossibleShapes) {
  EXPECT_THAT(workload_error("conv2d_transpose:n=1,h=2,w=2,ci=1,co=1,k=2,s=2,op=2"),
              AllOf(HasSubstr("oph=2"), HasSubstr("below")));
  EXPECT_THAT(workload_error("conv2d_transpose:n=1,h=2,w=2,ci=1,co=1,k=2,p=2"),
              HasSubstr("leaves nothing"));
  EXPECT_THAT(workload_error("conv2d_transpose:n=1,h=2,w=2,ci=1,co=1,k=2,s=0"), HasSubstr("s=0"));
  EXPECT_THAT(
      workload_error("conv2d_transpose:n=1,h=1099511627776,w=2,ci=1,co=1,k=2,s=1099511627776"),
      HasSubstr("too large"));
}

}  // namespace
}  // namespace espalier
