// OpenBLAS on a workload: matrix products, with the epilogue as loops over the result.
#include <cblas.h>

#include "contest/contestant.h"
#include "contest/epilogue_pass.h"

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

Result<Entry> enter(const Contest& contest) {
  const bool batched = contest.op() == "batch_matmul";
  if ((contest.op() != "matmul" && !batched) || contest.keys().dtype() != DType::F32) {
    return make_error(ErrorCode::Unsupported, "only f32 matrix products");
  }
  const ops::Args& keys = contest.keys();
  const Product p{batched ? keys.integer("b") : 1,
                  keys.integer("m"),
                  keys.integer("n"),
                  keys.integer("k"),
                  keys.flag("ta"),
                  keys.flag("tb"),
                  static_cast<const float*>(contest.array("A").data),
                  static_cast<const float*>(contest.array("B").data),
                  static_cast<float*>(contest.array("Y").data)};
  for (int64_t extent : {p.m, p.n, p.k}) {
    if (extent < 1 || extent > INT32_MAX) {
      return make_error(ErrorCode::Unsupported, "extents outside of 1 to 2^31 - 1");
    }
  }
  ESP_TRY(const EpiloguePass epilogue, EpiloguePass::make(contest, contest.epilogue()));
  openblas_set_num_threads(contest.task().threads);
  return Entry{[p, epilogue] {
                 p.run();
                 epilogue.run();
               },
               openblas_get_corename()};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier::bench;
  return run_contestant(argc, argv, {.name = "openblas", .enter = enter, .slack = 1e-5});
}
