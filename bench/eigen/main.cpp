// Eigen on a workload: matrix products, and what its arrays do over rows, columns and elements.
#include <Eigen/Core>

#include "contest/contestant.h"
#include "contest/epilogue_pass.h"

namespace espalier::bench {
namespace {

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Columns = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
// Whole arrays are aligned; parts of a batch may not be.
using ArrayMap = Eigen::Map<Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                            Eigen::Aligned16>;

float* floats(const ArrayView& array) { return static_cast<float*>(array.data); }

template <class A, class B>
void multiply(const ops::Args& keys, int64_t batch, float* a, float* b, float* y) {
  const int64_t m = keys.integer("m"), n = keys.integer("n"), k = keys.integer("k");
  for (int64_t i = 0; i < batch; ++i) {
    const Eigen::Map<A> left(a + i * m * k, m, k);
    const Eigen::Map<B> right(b + i * k * n, k, n);
    Eigen::Map<Rows>(y + i * m * n, m, n).noalias() = left * right;
  }
}

Result<std::function<void()>> matmul(const Contest& contest) {
  const ops::Args& keys = contest.keys();
  const int64_t batch = contest.op() == "batch_matmul" ? keys.integer("b") : 1;
  auto* run = keys.flag("ta")
                  ? (keys.flag("tb") ? multiply<Columns, Columns> : multiply<Columns, Rows>)
                  : (keys.flag("tb") ? multiply<Rows, Columns> : multiply<Rows, Rows>);
  float *a = floats(contest.array("A")), *b = floats(contest.array("B")),
        *y = floats(contest.array("Y"));
  return [&keys, batch, run, a, b, y] { run(keys, batch, a, b, y); };
}

// A reduction over neighbouring axes: outer x reduced x inner, one of outer and inner being 1.
Result<std::function<void()>> reduce(float* x, float* y, int64_t outer, int64_t reduced,
                                     int64_t inner, const std::string& op) {
  if (outer != 1 && inner != 1) {
    return make_error(ErrorCode::Unsupported, "Eigen reduces over rows or columns");
  }
  const bool rows = inner == 1;
  const ArrayMap from(x, rows ? outer : reduced, rows ? reduced : inner);
  auto over = [=](auto combine) {
    return [=] {
      if (rows) {
        Eigen::Map<Eigen::ArrayXf> to(y, outer);
        to = combine(from.rowwise());
      } else {
        Eigen::Map<Eigen::Array<float, 1, Eigen::Dynamic>> to(y, inner);
        to = combine(from.colwise());
      }
    };
  };
  if (op == "sum") return std::function<void()>(over([](auto lines) { return lines.sum(); }));
  if (op == "mean") return std::function<void()>(over([](auto lines) { return lines.mean(); }));
  if (op == "prod") return std::function<void()>(over([](auto lines) { return lines.prod(); }));
  if (op == "max") return std::function<void()>(over([](auto lines) { return lines.maxCoeff(); }));
  if (op == "min") return std::function<void()>(over([](auto lines) { return lines.minCoeff(); }));
  return make_error(ErrorCode::Unsupported, "no reduction ", op);
}

Result<std::function<void()>> reduce(const Contest& contest) {
  const std::vector<int64_t>& shape = contest.array("X").shape;
  const std::vector<int64_t>& axes = contest.keys().list("axes");
  if (axes.empty()) return make_error(ErrorCode::Unsupported, "nothing is reduced");
  const auto [first, last] = std::minmax_element(axes.begin(), axes.end());
  if (*last - *first + 1 != static_cast<int64_t>(axes.size())) {
    return make_error(ErrorCode::Unsupported, "the axes are no neighbours");
  }
  int64_t extents[3] = {1, 1, 1};
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto axis = static_cast<int64_t>(d);
    extents[axis < *first ? 0 : axis <= *last ? 1 : 2] *= shape[d];
  }
  return reduce(floats(contest.array("X")), floats(contest.array("Y")), extents[0], extents[1],
                extents[2], contest.keys().word("op"));
}

Result<std::function<void()>> global_avg_pool(const Contest& contest) {
  const std::vector<int64_t>& x = contest.array("X").shape;
  if (x[0] != 1) return make_error(ErrorCode::Unsupported, "more than one picture");
  return reduce(floats(contest.array("X")), floats(contest.array("Y")), 1, x[1] * x[2], x[3],
                "mean");
}

Result<std::function<void()>> softmax(const Contest& contest) {
  const std::vector<int64_t>& shape = contest.array("X").shape;
  const auto rank = static_cast<int64_t>(shape.size());
  if (contest.keys().has("axis") && contest.keys().integer("axis") != rank - 1) {
    return make_error(ErrorCode::Unsupported, "an axis that is not the last");
  }
  const int64_t cols = shape.back(), rows = contest.array("X").elements() / cols;
  float *from = floats(contest.array("X")), *to = floats(contest.array("Y"));
  return [=] {
    for (int64_t i = 0; i < rows; ++i) {
      const Eigen::Map<const Eigen::ArrayXf> x(from + i * cols, cols);
      Eigen::Map<Eigen::ArrayXf> y(to + i * cols, cols);
      y = (x - x.maxCoeff()).exp();
      y *= 1 / y.sum();
    }
  };
}

Result<std::function<void()>> layer_norm(const Contest& contest) {
  const int64_t rows = contest.array("X").shape[0], cols = contest.array("X").shape[1];
  float *from = floats(contest.array("X")), *to = floats(contest.array("Y"));
  float *gain = floats(contest.array("gain")), *bias = floats(contest.array("bias"));
  return [=] {
    const Eigen::Map<const Eigen::ArrayXf> g(gain, cols), b(bias, cols);
    for (int64_t i = 0; i < rows; ++i) {
      const Eigen::Map<const Eigen::ArrayXf> x(from + i * cols, cols);
      Eigen::Map<Eigen::ArrayXf> y(to + i * cols, cols);
      const float mean = x.mean();
      const float deviation = std::sqrt((x - mean).square().mean() + 1e-5f);
      y = (x - mean) * (1 / deviation) * g + b;
    }
  };
}

Result<std::function<void()>> rms_norm(const Contest& contest) {
  const int64_t rows = contest.array("X").shape[0], cols = contest.array("X").shape[1];
  float *from = floats(contest.array("X")), *to = floats(contest.array("Y"));
  float* gain = floats(contest.array("gain"));
  return [=] {
    const Eigen::Map<const Eigen::ArrayXf> g(gain, cols);
    for (int64_t i = 0; i < rows; ++i) {
      const Eigen::Map<const Eigen::ArrayXf> x(from + i * cols, cols);
      Eigen::Map<Eigen::ArrayXf> y(to + i * cols, cols);
      y = x * (1 / std::sqrt(x.square().mean() + 1e-5f)) * g;
    }
  };
}

Result<std::function<void()>> norm2(const Contest& contest) {
  const ArrayView &x = contest.array("X"), &y = contest.array("Y");
  const int64_t batch = y.elements(), size = x.elements() / batch;
  float *from = floats(x), *to = floats(y);
  return [=] {
    for (int64_t i = 0; i < batch; ++i) {
      to[i] = Eigen::Map<const Eigen::VectorXf>(from + i * size, size).norm();
    }
  };
}

Result<std::function<void()>> transpose(const Contest& contest) {
  const std::vector<int64_t>& shape = contest.array("X").shape;
  if (contest.keys().list("perm") != std::vector<int64_t>{1, 0}) {
    return make_error(ErrorCode::Unsupported, "more than two axes");
  }
  const ArrayMap x(floats(contest.array("X")), shape[0], shape[1]);
  const ArrayMap y(floats(contest.array("Y")), shape[1], shape[0]);
  return [=] {
    ArrayMap to = y;
    to = x.transpose();
  };
}

// The first word of a chain; what follows is a pass over the result.
Result<std::function<void()>> elementwise(const Contest& contest) {
  using Flat = Eigen::Map<Eigen::ArrayXf, Eigen::Aligned16>;
  const ArrayView &a = contest.array("A"), &y = contest.array("Y");
  if (a.shape != y.shape || (contest.has_array("B") && contest.array("B").shape != y.shape)) {
    return make_error(ErrorCode::Unsupported, "operands that broadcast");
  }
  const int64_t n = y.elements();
  const Flat x(floats(a), n), to(floats(y), n);
  auto with = [=](auto f) {
    return std::function<void()>([=] {
      Flat result = to;
      result = f(x);
    });
  };
  const std::string& word = contest.keys().chain("op")[0];
  if (word == "relu") return with([](const auto& v) { return v.cwiseMax(0.0f); });
  if (word == "relu6") return with([](const auto& v) { return v.cwiseMax(0.0f).cwiseMin(6.0f); });
  if (word == "sigmoid") return with([](const auto& v) { return v.logistic(); });
  if (word == "silu") return with([](const auto& v) { return v * v.logistic(); });
  if (word == "tanh") return with([](const auto& v) { return v.tanh(); });
  if (word == "exp") return with([](const auto& v) { return v.exp(); });
  if (word == "log") return with([](const auto& v) { return v.log(); });
  if (word == "sqrt") return with([](const auto& v) { return v.sqrt(); });
  if (word == "rsqrt") return with([](const auto& v) { return v.rsqrt(); });
  if (word == "abs") return with([](const auto& v) { return v.abs(); });
  if (word == "neg") return with([](const auto& v) { return -v; });
  if (word == "floor") return with([](const auto& v) { return v.floor(); });
  if (word == "ceil") return with([](const auto& v) { return v.ceil(); });
  if (!contest.has_array("B")) {
    return make_error(ErrorCode::Unsupported, "no operation for the step ", word);
  }
  const Flat b(floats(contest.array("B")), n);
  if (word == "add") return with([b](const auto& v) { return v + b; });
  if (word == "sub") return with([b](const auto& v) { return v - b; });
  if (word == "mul") return with([b](const auto& v) { return v * b; });
  if (word == "div") return with([b](const auto& v) { return v / b; });
  if (word == "min") return with([b](const auto& v) { return v.cwiseMin(b); });
  if (word == "max") return with([b](const auto& v) { return v.cwiseMax(b); });
  return make_error(ErrorCode::Unsupported, "no operation for the step ", word);
}

using Way = Result<std::function<void()>> (*)(const Contest&);

constexpr std::pair<std::string_view, Way> kWays[] = {
    {"matmul", matmul},       {"batch_matmul", matmul},
    {"softmax", softmax},     {"layer_norm", layer_norm},
    {"rms_norm", rms_norm},   {"norm2", norm2},
    {"transpose", transpose}, {"elementwise", elementwise},
    {"reduce", reduce},       {"global_avg_pool2d", global_avg_pool},
};

Result<Entry> enter(const Contest& contest) {
  if (contest.op().empty()) return make_error(ErrorCode::Unsupported, "a definition as text");
  if (contest.task().threads > 1) {
    return make_error(ErrorCode::Unsupported, "Eigen is compared on one thread only");
  }
  if (contest.keys().dtype() != DType::F32) return make_error(ErrorCode::Unsupported, "only f32");
  if (contest.outputs()[0].elements() == 0) {
    return make_error(ErrorCode::Unsupported, "there are no elements");
  }
  for (const auto& [op, way] : kWays) {
    if (op != contest.op()) continue;
    ESP_TRY(const std::function<void()> work, way(contest));
    const size_t done = op == "elementwise" ? 1 : 0;
    ESP_TRY(const EpiloguePass epilogue, EpiloguePass::make(contest, contest.epilogue(done)));
    return Entry{[work, epilogue] {
                   work();
                   epilogue.run();
                 },
                 Eigen::SimdInstructionSetsInUse()};
  }
  return make_error(ErrorCode::Unsupported, "nothing in Eigen's core does ", contest.op());
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier::bench;
  return run_contestant(argc, argv, {.name = "eigen", .enter = enter, .slack = 1e-5});
}
