// OpenBLAS on a workload: matrix products, with what it cannot fuse as a loop over the result.
#ifdef ESPALIER_HAVE_OPENBLAS
#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "contest/contestant.h"

namespace espalier::bench {
namespace {

struct Product {
  int64_t b, m, n, k;
  bool ta, tb;
  const float *x, *w;
  float* y;

  void run() const {
    const CBLAS_TRANSPOSE transpose_a = ta ? CblasTrans : CblasNoTrans;
    const CBLAS_TRANSPOSE transpose_b = tb ? CblasTrans : CblasNoTrans;
    const int lda = static_cast<int>(ta ? m : k), ldb = static_cast<int>(tb ? k : n);
    const int im = static_cast<int>(m), in = static_cast<int>(n), ik = static_cast<int>(k);
    for (int64_t i = 0; i < b; ++i) {
      const float *a = x + i * m * k, *c = w + i * k * n;
      float* out = y + i * m * n;
      if (m == 1) {
        // The row of A is a vector however it is stored.
        cblas_sgemv(CblasRowMajor, tb ? CblasNoTrans : CblasTrans, tb ? in : ik, tb ? ik : in, 1, c,
                    ldb, a, 1, 0, out, 1);
      } else if (n == 1) {
        cblas_sgemv(CblasRowMajor, transpose_a, ta ? ik : im, ta ? im : ik, 1, a, lda, c, 1, 0, out,
                    1);
      } else {
        cblas_sgemm(CblasRowMajor, transpose_a, transpose_b, im, in, ik, 1, a, lda, c, ldb, 0, out,
                    in);
      }
    }
  }
};

// One step over the rows of the result.
using RowStep = std::function<void(float* row, int64_t n)>;

Result<std::vector<RowStep>> epilogue_steps(const Contest& contest) {
  std::vector<RowStep> steps;
  for (const EpilogueStep& step : contest.epilogue()) {
    if (step.operand != nullptr && step.operand->shape.size() == 1) {
      const float* v = static_cast<const float*>(step.operand->data);
      if (step.word == "bias" || step.word == "add") {
        steps.push_back([v](float* row, int64_t n) {
          for (int64_t j = 0; j < n; ++j) row[j] += v[j];
        });
      } else {
        steps.push_back([v](float* row, int64_t n) {
          for (int64_t j = 0; j < n; ++j) row[j] *= v[j];
        });
      }
    } else if (step.word == "relu") {
      steps.push_back([](float* row, int64_t n) {
        for (int64_t j = 0; j < n; ++j) row[j] = std::max(row[j], 0.0f);
      });
    } else if (step.word == "relu6") {
      steps.push_back([](float* row, int64_t n) {
        for (int64_t j = 0; j < n; ++j) row[j] = std::min(std::max(row[j], 0.0f), 6.0f);
      });
    } else if (step.word == "scale") {
      const float factor = static_cast<float>(contest.scale());
      steps.push_back([factor](float* row, int64_t n) {
        for (int64_t j = 0; j < n; ++j) row[j] *= factor;
      });
    } else if (step.word == "gelu") {
      steps.push_back([](float* row, int64_t n) {
        for (int64_t j = 0; j < n; ++j) {
          row[j] = 0.5f * row[j] * (1.0f + std::erf(row[j] * 0.70710678f));
        }
      });
    } else {
      return make_error(ErrorCode::Unsupported, "the epilogue step ", step.word);
    }
  }
  return steps;
}

Result<Entry> enter(const Contest& contest) {
  const bool batched = contest.op() == "batch_matmul";
  if ((contest.op() != "matmul" && !batched) || contest.word("dtype", "f32") != "f32") {
    return make_error(ErrorCode::Unsupported, "only f32 matrix products");
  }
  Product p{};
  p.b = batched ? contest.number("b", 1) : 1;
  p.m = contest.number("m", 1), p.n = contest.number("n", 1), p.k = contest.number("k", 1);
  p.ta = contest.number("ta", 0) != 0, p.tb = contest.number("tb", 0) != 0;
  p.x = static_cast<const float*>(contest.array("A").data);
  p.w = static_cast<const float*>(contest.array("B").data);
  p.y = static_cast<float*>(contest.array("Y").data);
  ESP_TRY(const std::vector<RowStep> steps, epilogue_steps(contest));
  openblas_set_num_threads(contest.task().threads);
  return Entry{[p, steps] {
                 p.run();
                 for (int64_t i = 0; i < p.b * p.m && !steps.empty(); ++i) {
                   for (const RowStep& step : steps) step(p.y + i * p.n, p.n);
                 }
               },
               openblas_get_corename()};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  return espalier::bench::run_contestant(argc, argv, espalier::bench::enter);
}
#else
#include <cstdio>

int main() { std::puts("{\"unsupported\": \"this build is without OpenBLAS\"}"); }
#endif
