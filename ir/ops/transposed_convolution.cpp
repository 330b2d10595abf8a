// conv2d_transpose: what conv2d takes back in training. Each input element adds its multiple of the
// kernel to Y, at steps of the stride; `op` more rows and columns are appended to Y. Weights are
// [kh, kw, ci, co], or with layout=nchw [co, ci, kh, kw].
//
// It is written as a gather of the terms that exist, without the zeros between strides. Place y of
// Y (counted with the padding) meets tap k of input x where y = x * stride + k * dilation. With g =
// gcd(stride, dilation) and step = stride / g, places that g does not divide get nothing, and the
// taps of the others are k = step * t + phase(y), where phase depends on y mod stride alone, and x
// falls by dilation / g when t rises by one. A schedule that splits y by the stride sees a constant
// phase and plain strides in each part.
#include <numeric>

#include "espalier/ir/ops/layout.h"
#include "espalier/ir/ops/types.h"
#include "espalier/ir/ops/weights.h"
#include "espalier/ir/ops/window.h"
#include "espalier/support/number.h"

namespace espalier::ops {
namespace {

// One dimension.
struct Scatter {
  int64_t in = 0, out = 0;
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t before = 0;  // padding, which cuts rows of Y off

  int64_t common() const { return std::gcd(stride, dilation); }
  int64_t step() const { return stride / common(); }
  int64_t taps() const { return ceil_div(kernel, step()); }  // values of t

  Expr place(const Expr& y) const { return before == 0 ? y : y + before; }
  Expr phase(const Expr& y) const {
    if (step() == 1) return make_index(0);
    // The tap at which the dilation first reaches y: its inverse modulo the step.
    int64_t inverse = 1;
    while (inverse * (dilation / common()) % step() != 1) ++inverse;
    const Expr steps = common() == 1 ? place(y) : floordiv(place(y), common());
    return floormod(inverse == 1 ? steps : steps * inverse, step());
  }
  Expr tap(const Expr& y, const Expr& t) const { return step() == 1 ? t : t * step() + phase(y); }
  Expr cell(const Expr& y, const Expr& t) const {
    const Expr first = dilation == 1 || step() == 1 ? place(y) : place(y) - phase(y) * dilation;
    const int64_t fall = dilation / common();
    return (stride == 1 ? first : floordiv(first, stride)) - (fall == 1 ? t : t * fall);
  }
  // True when the term exists; empty if it always does.
  Expr exists(const Expr& y, const Expr& t) const {
    Expr condition;
    if (common() > 1) condition = floormod(place(y), common()) == 0;
    if (kernel % step() != 0) condition = both(condition, tap(y, t) < kernel);
    if (before < (kernel - 1) * dilation) condition = both(condition, cell(y, t) >= 0);
    if (out - 1 + before >= in * stride) condition = both(condition, cell(y, t) < in);
    return condition;
  }
};

Result<Scatter> make_scatter(const Args& args, const WindowKeys& keys) {
  const std::string& suffix = keys.suffix;
  Scatter s;
  s.in = args.integer(keys.extent);
  s.kernel = args.integer("k" + suffix);
  s.stride = args.integer("s" + suffix);
  s.dilation = args.integer("d" + suffix);
  s.before = args.integer(keys.before);
  const int64_t after = args.integer(keys.after), more = args.integer("op" + suffix);
  if (more >= std::max(s.stride, s.dilation)) {
    return args.error("'op", suffix, "=", more, "': it must be below s", suffix, "=", s.stride,
                      " or d", suffix, "=", s.dilation);
  }
  const auto steps = checked_mul(s.in - 1, s.stride), reach = checked_mul(s.kernel - 1, s.dilation);
  const auto whole = steps && reach ? checked_add(*steps, *reach) : std::nullopt;
  if (!whole || *whole > (int64_t{1} << 41)) {
    return args.error("'k", suffix, "=", s.kernel, "', 's", suffix, "=", s.stride,
                      "': the result would be too large");
  }
  s.out = *whole + 1 + more - s.before - after;
  if (s.out < 1) {
    return args.error("'", keys.before, "=", s.before, "', '", keys.after, "=", after,
                      "': the padding leaves nothing of ", *whole + 1 + more, " cells along ",
                      keys.extent);
  }
  return s;
}

Result<OpResult> build(const Args& args) {
  const Layout layout(args);
  ESP_TRY(const DType acc, accumulator_type(args));
  std::vector<int64_t> inputs, kernels;
  std::vector<Axis> places, taps;
  std::vector<Expr> cells, tap_indices;
  Expr where;
  for (const WindowKeys& keys : window_keys_2d()) {
    ESP_TRY(const Scatter s, make_scatter(args, keys));
    const Axis y{Var(keys.extent), s.out}, t = reduce_axis("t" + keys.suffix, s.taps());
    places.push_back(y);
    taps.push_back(t);
    cells.push_back(s.cell(y, t));
    tap_indices.push_back(s.tap(y, t));
    where = both(where, s.exists(y, t));
    inputs.push_back(s.in);
    kernels.push_back(s.kernel);
  }
  const Axis n{Var("n"), args.integer("n")}, out{Var("co"), args.integer("co")};
  const Axis in = reduce_axis("ci", args.integer("ci"));
  const Tensor x =
      placeholder("X", layout.activation<int64_t>(n.extent, inputs, in.extent), args.dtype());
  const Tensor w = make_weights(args, "W", layout.weight<int64_t>(kernels, in.extent, out.extent));
  const Expr cell = x.at(layout.activation<Expr>(n, cells, in));
  const Expr factor = w.at(layout.weight<Expr>(tap_indices, in, out));
  taps.push_back(in);
  const Tensor conv =
      compute_with_axes("conv", layout.activation<Axis>(n, places, out),
                        sum(widened(acc, cell) * widened(acc, factor), taps, where));
  return OpResult(conv, is_int(args.dtype()) ? acc : args.dtype(), layout.channel_axis(2));
}

}  // namespace

std::vector<OpDef> transposed_convolution_ops() {
  const KeyDef dilation = with_parts(optional_int("d", 1, "1"), {{"dh", {}}, {"dw", {}}});
  const KeyDef more = with_parts(optional_int("op", 0, "0"), {{"oph", {}}, {"opw", {}}});
  return {{"conv2d_transpose",
           {required_int("n"), required_int("h"), required_int("w"), required_int("ci"),
            required_int("co"), kernel_2d(), stride_2d(), padding_2d(), dilation, more,
            layout_key(), weights_key(), accumulator_key()},
           build}};
}

}  // namespace espalier::ops
