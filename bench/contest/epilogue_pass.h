// An epilogue as loops over the finished result, for libraries that cannot fuse it. In a header, so
// that a contestant compiles it for the vectors that it is built for.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "contest/contest.h"

namespace espalier::bench {

class EpiloguePass {
 public:
  /// For a result Y whose last axis the vectors of bias and cscale go over.
  static Result<EpiloguePass> make(const Contest& contest, const std::vector<ChainStep>& steps) {
    EpiloguePass pass;
    const ArrayView& y = contest.array("Y");
    pass.y_ = static_cast<float*>(y.data);
    pass.width_ = y.shape.empty() ? 1 : y.shape.back();
    pass.rows_ = pass.width_ == 0 ? 0 : y.elements() / pass.width_;
    for (const ChainStep& step : steps) {
      ESP_TRY(RowStep row, row_step(contest, step, pass.width_));
      pass.steps_.push_back(std::move(row));
    }
    return pass;
  }

  void run() const {
    if (steps_.empty()) return;
    for (int64_t i = 0; i < rows_; ++i) {
      for (const RowStep& step : steps_) step(y_ + i * width_, i, width_);
    }
  }

 private:
  using RowStep = std::function<void(float* row, int64_t number, int64_t n)>;

  template <class F>
  static RowStep each(F f) {
    return [f](float* row, int64_t, int64_t n) {
      for (int64_t j = 0; j < n; ++j) row[j] = f(row[j]);
    };
  }
  // `period`: rows after which the operand starts again.
  template <class F>
  static RowStep with(const ArrayView& operand, int64_t width, F f) {
    const auto* v = static_cast<const float*>(operand.data);
    const int64_t period = std::max<int64_t>(1, operand.elements() / std::max<int64_t>(1, width));
    return [f, v, period](float* row, int64_t number, int64_t n) {
      const float* other = v + number % period * n;
      for (int64_t j = 0; j < n; ++j) row[j] = f(row[j], other[j]);
    };
  }

  static Result<RowStep> row_step(const Contest& contest, const ChainStep& step, int64_t width) {
    const std::string_view word = step.word;
    if (step.operand != nullptr && step.operand->elements() % std::max<int64_t>(1, width) == 0) {
      const ArrayView& operand = *step.operand;
      if (word == "bias" || word == "add") {
        return with(operand, width, [](float x, float v) { return x + v; });
      }
      if (word == "cscale" || word == "mul") {
        return with(operand, width, [](float x, float v) { return x * v; });
      }
    }
    if (word == "relu") return each([](float x) { return std::max(x, 0.0f); });
    if (word == "relu6") return each([](float x) { return std::min(std::max(x, 0.0f), 6.0f); });
    if (word == "silu") return each([](float x) { return x / (1 + std::exp(-x)); });
    if (word == "sigmoid") return each([](float x) { return 1 / (1 + std::exp(-x)); });
    if (word == "tanh") return each([](float x) { return std::tanh(x); });
    if (word == "gelu") {
      return each([](float x) { return 0.5f * x * (1 + std::erf(x * 0.70710678f)); });
    }
    if (word == "scale") {
      const auto factor = static_cast<float>(contest.keys().number("scale"));
      return each([factor](float x) { return x * factor; });
    }
    return make_error(ErrorCode::Unsupported, "no loop for the epilogue step ", word);
  }

  std::vector<RowStep> steps_;
  float* y_ = nullptr;
  int64_t rows_ = 0, width_ = 0;
};

}  // namespace espalier::bench
