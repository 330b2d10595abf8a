// Convolutions (cross-correlations) in one to three dimensions with stride, padding, dilation and
// groups, depthwise ones, and those of capsules, whose elements are matrices. Channels come last
// and weights are [k..., ci/g, co] (depthwise [kh, kw, c, mult]), or with layout=nchw they come
// second and weights are [co, ci/g, k...] (depthwise [c * mult, 1, kh, kw]). Terms in the padding
// are absent. Integers give Y the accumulator's type.
#include "espalier/ir/ops/layout.h"
#include "espalier/ir/ops/types.h"
#include "espalier/ir/ops/weights.h"
#include "espalier/ir/ops/window.h"
#include "espalier/support/number.h"

namespace espalier::ops {
namespace {

using Dims = std::vector<WindowKeys>;

// What convolutions of all kinds share: the loops over windows and their taps.
struct Nest {
  Axis n;
  std::vector<Axis> places, taps;  // one a dimension
  std::vector<Expr> cells;         // the input's index in each dimension
  std::vector<Expr> tap_indices;   // the same as `taps`
  Expr where;
  std::vector<int64_t> inputs, kernels;  // extents
};

Result<Nest> make_nest(const Args& args, const Dims& dims) {
  Nest nest;
  nest.n = Axis{Var("n"), args.integer("n")};
  for (const WindowKeys& keys : dims) {
    ESP_TRY(const Window w, make_window(args, keys));
    const Axis out{Var(keys.extent), w.out}, tap = reduce_axis("k" + keys.suffix, w.kernel);
    nest.places.push_back(out);
    nest.taps.push_back(tap);
    nest.cells.push_back(w.cell(out, tap));
    nest.tap_indices.push_back(tap);
    nest.where = both(nest.where, w.exists(out, tap));
    nest.inputs.push_back(w.in);
    nest.kernels.push_back(w.kernel);
  }
  return nest;
}

Result<OpResult> build(const Args& args, const Dims& dims) {
  const int64_t ci = args.integer("ci"), co = args.integer("co"), g = args.integer("g");
  if (ci % g != 0 || co % g != 0) {
    return args.error("'g=", g, "': it must divide ci=", ci, " and co=", co);
  }
  ESP_TRY(const DType acc, accumulator_type(args));
  ESP_TRY(Nest nest, make_nest(args, dims));
  const Layout layout(args);
  const int64_t ci_group = ci / g, co_group = co / g;
  const Axis out{Var("co"), co}, in = reduce_axis("ci", ci_group);

  // Input channel of output channel `out` and the group's `in`-th. One affine form per group: a
  // tile of output channels inside a group sees a plain `in`.
  Expr channel = in;
  if (g > 1) {
    Expr group = co_group == 1 ? Expr(out) : floordiv(out, co_group);
    channel = ci_group == 1 ? group : group * ci_group + in;
  }
  const Tensor x =
      placeholder("X", layout.activation<int64_t>(nest.n.extent, nest.inputs, ci), args.dtype());
  const Tensor w = make_weights(args, "W", layout.weight<int64_t>(nest.kernels, ci_group, co));
  const Expr cell = x.at(layout.activation<Expr>(nest.n, nest.cells, channel));
  const Expr factor = w.at(layout.weight<Expr>(nest.tap_indices, in, out));
  nest.taps.push_back(in);
  const Tensor conv =
      compute_with_axes("conv", layout.activation<Axis>(nest.n, nest.places, out),
                        sum(widened(acc, cell) * widened(acc, factor), nest.taps, nest.where));
  return OpResult(conv, is_int(args.dtype()) ? acc : args.dtype(),
                  layout.channel_axis(dims.size()));
}

Result<OpResult> build_depthwise(const Args& args, const Dims& dims) {
  const int64_t c = args.integer("c"), mult = args.integer("mult");
  const auto channels = checked_mul(c, mult);
  if (!channels) return args.error("'mult=", mult, "': there would be too many channels");
  ESP_TRY(const DType acc, accumulator_type(args));
  ESP_TRY(const Nest nest, make_nest(args, dims));
  const Layout layout(args);
  const Axis out{Var("c"), *channels};
  const Expr channel = mult == 1 ? Expr(out) : floordiv(out, mult);
  const Expr which = mult == 1 ? Expr(0) : floormod(out, mult);
  const Tensor x =
      placeholder("X", layout.activation<int64_t>(nest.n.extent, nest.inputs, c), args.dtype());
  const bool first = layout.channels_first();
  const Tensor w = make_weights(args, "W",
                                first ? layout.weight<int64_t>(nest.kernels, 1, *channels)
                                      : layout.weight<int64_t>(nest.kernels, c, mult));
  const Expr cell = x.at(layout.activation<Expr>(nest.n, nest.cells, channel));
  const Expr factor = w.at(first ? layout.weight<Expr>(nest.tap_indices, 0, out)
                                 : layout.weight<Expr>(nest.tap_indices, channel, which));
  const Tensor conv =
      compute_with_axes("conv", layout.activation<Axis>(nest.n, nest.places, out),
                        sum(widened(acc, cell) * widened(acc, factor), nest.taps, nest.where));
  return OpResult(conv, is_int(args.dtype()) ? acc : args.dtype(),
                  layout.channel_axis(dims.size()));
}

// Each element of an activation is a matrix, and so is each weight; their product is a matrix
// product. The matrices' axes come last in either layout.
Result<OpResult> build_capsule(const Args& args, const Dims& dims) {
  const int64_t ci = args.integer("ci"), co = args.integer("co"), caps = args.integer("caps");
  ESP_TRY(const DType acc, accumulator_type(args));
  ESP_TRY(Nest nest, make_nest(args, dims));
  const Layout layout(args);
  const Axis out{Var("co"), co}, in = reduce_axis("ci", ci);
  const Axis i{Var("i"), caps}, j{Var("j"), caps}, k = reduce_axis("k", caps);
  const Tensor x = placeholder(
      "X", layout.activation<int64_t>(nest.n.extent, nest.inputs, ci, {caps, caps}), args.dtype());
  const Tensor w =
      make_weights(args, "W", layout.weight<int64_t>(nest.kernels, ci, co, {caps, caps}));
  const Expr cell = x.at(layout.activation<Expr>(nest.n, nest.cells, in, {i, k}));
  const Expr factor = w.at(layout.weight<Expr>(nest.tap_indices, in, out, {k, j}));
  nest.taps.insert(nest.taps.end(), {in, k});
  const Tensor conv =
      compute_with_axes("conv", layout.activation<Axis>(nest.n, nest.places, out, {i, j}),
                        sum(widened(acc, cell) * widened(acc, factor), nest.taps, nest.where));
  return OpResult(conv, is_int(args.dtype()) ? acc : args.dtype(),
                  layout.channel_axis(dims.size()));
}

std::vector<KeyDef> keys(const Dims& dims, std::vector<KeyDef> channels_and_window) {
  std::vector<KeyDef> k = {required_int("n")};
  for (const WindowKeys& d : dims) k.push_back(required_int(d.extent));
  for (KeyDef& key : channels_and_window) k.push_back(std::move(key));
  k.insert(k.end(), {layout_key(), weights_key(), accumulator_key()});
  return k;
}

Dims dims_1d() { return {{"l", "", "pl", "pr"}}; }
// A suffix d for depth: kd, sd, dd.
Dims dims_3d() {
  Dims dims = {{"depth", "d", "pd", "pd"}};
  dims.insert(dims.end(), window_keys_2d().begin(), window_keys_2d().end());
  return dims;
}

KeyDef dilation_2d() { return with_parts(optional_int("d", 1, "1"), {{"dh", {}}, {"dw", {}}}); }
KeyDef in_3d(KeyDef key) {
  const std::string n = key.name;
  return with_parts(std::move(key), {{n + "d", {}}, {n + "h", {}}, {n + "w", {}}});
}

}  // namespace

std::vector<OpDef> convolution_ops() {
  const KeyDef ci = required_int("ci"), co = required_int("co"), g = optional_int("g", 1, "1");
  const KeyDef k = required_int("k", 1), s = optional_int("s", 1, "1");
  const KeyDef p = optional_int("p", 0, "0"), caps = optional_int("caps", 0, "4");
  const KeyDef p_3d = with_parts(p, {{"pd", {}}, {"ph", {"pt", "pb"}}, {"pw", {"pl", "pr"}}});
  const KeyDef d = optional_int("d", 1, "1");
  return {
      {"conv1d", keys(dims_1d(), {ci, co, k, s, with_parts(p, {{"pl", {}}, {"pr", {}}}), d, g}),
       [](const Args& args) { return build(args, dims_1d()); }},
      {"conv2d",
       keys(window_keys_2d(), {ci, co, kernel_2d(), stride_2d(), padding_2d(), dilation_2d(), g}),
       [](const Args& args) { return build(args, window_keys_2d()); }},
      {"conv3d", keys(dims_3d(), {ci, co, in_3d(k), in_3d(s), p_3d, in_3d(d), g}),
       [](const Args& args) { return build(args, dims_3d()); }},
      {"depthwise_conv2d",
       keys(window_keys_2d(), {required_int("c"), kernel_2d(), stride_2d(), padding_2d(),
                               dilation_2d(), optional_int("mult", 1, "1")}),
       [](const Args& args) { return build_depthwise(args, window_keys_2d()); }},
      {"capsule_conv2d",
       keys(window_keys_2d(), {ci, co, kernel_2d(), stride_2d(), padding_2d(), caps}),
       [](const Args& args) { return build_capsule(args, window_keys_2d()); }},
  };
}

}  // namespace espalier::ops
