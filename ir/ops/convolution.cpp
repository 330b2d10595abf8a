// Convolutions (cross-correlations) in one to three dimensions with stride, padding, dilation and
// groups, and depthwise ones. Channels come last; weights are [k..., ci/g, co], depthwise ones
// [kh, kw, c, mult]. Terms in the padding are absent.
#include "espalier/ir/ops/window.h"
#include "espalier/support/number.h"

namespace espalier::ops {
namespace {

using Dims = std::vector<WindowKeys>;

Tensor weights(const Args& args, std::vector<int64_t> shape) {
  if (args.word("weights") == "constant") return constant("W", std::move(shape), args.dtype());
  return placeholder("W", std::move(shape), args.dtype());
}

// What convolutions of all kinds share: the loops over windows and their taps.
struct Nest {
  std::vector<Axis> axes;         // n and one a dimension; channels are still to come
  std::vector<Axis> taps;         // one a dimension
  std::vector<Expr> cell;         // the input's index up to its channel
  std::vector<Expr> tap_indices;  // the weights' index up to the channels
  Expr where;
  std::vector<int64_t> input_shape, weight_shape;
};

Result<Nest> make_nest(const Args& args, const Dims& dims) {
  Nest nest;
  const int64_t n = args.integer("n");
  nest.axes.push_back(Axis{Var("n"), n});
  nest.cell.push_back(nest.axes[0]);
  nest.input_shape.push_back(n);
  for (const WindowKeys& keys : dims) {
    ESP_TRY(const Window w, make_window(args, keys));
    const Axis out{Var(keys.extent), w.out}, tap = reduce_axis("k" + keys.suffix, w.kernel);
    nest.axes.push_back(out);
    nest.taps.push_back(tap);
    nest.cell.push_back(w.cell(out, tap));
    nest.tap_indices.push_back(tap);
    nest.where = both(nest.where, w.exists(out, tap));
    nest.input_shape.push_back(w.in);
    nest.weight_shape.push_back(w.kernel);
  }
  return nest;
}

Result<Tensor> build(const Args& args, const Dims& dims) {
  const int64_t ci = args.integer("ci"), co = args.integer("co"), g = args.integer("g");
  if (ci % g != 0 || co % g != 0) {
    return args.error("'g=", g, "': it must divide ci=", ci, " and co=", co);
  }
  ESP_TRY(Nest nest, make_nest(args, dims));
  const int64_t ci_group = ci / g, co_group = co / g;
  const Axis out{Var("co"), co}, in = reduce_axis("ci", ci_group);

  // Input channel of output channel `out` and the group's `in`-th. One affine form per group: a
  // tile of output channels inside a group sees a plain `in`.
  Expr channel = in;
  if (g > 1) {
    Expr group = co_group == 1 ? Expr(out) : floordiv(out, co_group);
    channel = ci_group == 1 ? group : group * ci_group + in;
  }
  nest.input_shape.push_back(ci);
  nest.cell.push_back(channel);
  nest.weight_shape.insert(nest.weight_shape.end(), {ci_group, co});
  nest.tap_indices.insert(nest.tap_indices.end(), {in, out});
  const Tensor x = placeholder("X", nest.input_shape, args.dtype());
  const Tensor w = weights(args, nest.weight_shape);
  nest.axes.push_back(out);
  nest.taps.push_back(in);
  return compute_with_axes(args.result_name("conv"), nest.axes,
                           sum(x.at(nest.cell) * w.at(nest.tap_indices), nest.taps, nest.where));
}

Result<Tensor> build_depthwise(const Args& args, const Dims& dims) {
  const int64_t c = args.integer("c"), mult = args.integer("mult");
  const auto channels = checked_mul(c, mult);
  if (!channels) return args.error("'mult=", mult, "': there would be too many channels");
  ESP_TRY(Nest nest, make_nest(args, dims));
  const Axis out{Var("c"), *channels};
  const Expr channel = mult == 1 ? Expr(out) : floordiv(out, mult);
  const Expr which = mult == 1 ? Expr(0) : floormod(out, mult);
  nest.input_shape.push_back(c);
  nest.cell.push_back(channel);
  nest.weight_shape.insert(nest.weight_shape.end(), {c, mult});
  nest.tap_indices.insert(nest.tap_indices.end(), {channel, which});
  const Tensor x = placeholder("X", nest.input_shape, args.dtype());
  const Tensor w = weights(args, nest.weight_shape);
  nest.axes.push_back(out);
  return compute_with_axes(args.result_name("conv"), nest.axes,
                           sum(x.at(nest.cell) * w.at(nest.tap_indices), nest.taps, nest.where));
}

std::vector<KeyDef> keys(const Dims& dims, std::vector<KeyDef> channels_and_window) {
  std::vector<KeyDef> k = {required_int("n")};
  for (const WindowKeys& d : dims) k.push_back(required_int(d.extent));
  for (KeyDef& key : channels_and_window) k.push_back(std::move(key));
  k.push_back(word("layout", {"nhwc", "nchw"}));
  k.push_back(word("weights", {"constant", "variable"}));
  return k;
}

Dims dims_1d() { return {{"l", "", "pl", "pr"}}; }
// A suffix d for depth: kd, sd, dd.
Dims dims_3d() {
  return {{"depth", "d", "pd", "pd"}, {"h", "h", "ph", "ph"}, {"w", "w", "pw", "pw"}};
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
  const KeyDef p = optional_int("p", 0, "0"), d = optional_int("d", 1, "1");
  return {
      {"conv1d", keys(dims_1d(), {ci, co, k, s, with_parts(p, {{"pl", {}}, {"pr", {}}}), d, g}),
       [](const Args& args) { return build(args, dims_1d()); }},
      {"conv2d",
       keys(window_keys_2d(), {ci, co, kernel_2d(), stride_2d(), padding_2d(), dilation_2d(), g}),
       [](const Args& args) { return build(args, window_keys_2d()); }},
      {"conv3d", keys(dims_3d(), {ci, co, in_3d(k), in_3d(s), in_3d(p), in_3d(d), g}),
       [](const Args& args) { return build(args, dims_3d()); }},
      {"depthwise_conv2d",
       keys(window_keys_2d(), {required_int("c"), kernel_2d(), stride_2d(), padding_2d(),
                               dilation_2d(), optional_int("mult", 1, "1")}),
       [](const Args& args) { return build_depthwise(args, window_keys_2d()); }},
  };
}

}  // namespace espalier::ops
