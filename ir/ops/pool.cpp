// Pools over h and w, the channels last or (layout=nchw) second. Cells in the padding are absent: a
// maximum skips them, an average divides by the number of cells that exist, or with count_pad=1 by
// those in the padding as well.
#include "espalier/ir/ops/layout.h"
#include "espalier/ir/ops/pointwise.h"
#include "espalier/ir/ops/types.h"
#include "espalier/ir/ops/window.h"

namespace espalier::ops {
namespace {

struct Pool {
  Window h, w;
  std::vector<Axis> axes, taps;  // of windows: n h w c or n c h w; kh kw
  size_t h_axis = 0, w_axis = 0;
  Expr value, where;
};

Result<Pool> make_pool(const Args& args) {
  Pool pool;
  for (const WindowKeys& keys : window_keys_2d()) {
    const std::string kernel = "k" + keys.suffix;
    for (const std::string& side : {keys.before, keys.after}) {
      // Or a window would lie in the padding entirely.
      if (args.integer(side) >= args.integer(kernel)) {
        return args.error("'", side, "=", args.integer(side), "': the padding must be below ",
                          kernel, "=", args.integer(kernel));
      }
    }
    ESP_TRY((keys.suffix == "h" ? pool.h : pool.w), make_window(args, keys, args.flag("ceil")));
  }
  const Layout layout(args);
  const Axis n{Var("n"), args.integer("n")}, h{Var("h"), pool.h.out}, w{Var("w"), pool.w.out};
  const Axis c{Var("c"), args.integer("c")};
  const Axis kh = reduce_axis("kh", pool.h.kernel), kw = reduce_axis("kw", pool.w.kernel);
  const Tensor x = placeholder(
      "X", layout.activation<int64_t>(n.extent, {pool.h.in, pool.w.in}, c.extent), args.dtype());
  pool.axes = layout.activation<Axis>(n, {h, w}, c);
  pool.taps = {kh, kw};
  pool.h_axis = layout.place_axis(0);
  pool.w_axis = layout.place_axis(1);
  pool.value = x.at(layout.activation<Expr>(n, {pool.h.cell(h, kh), pool.w.cell(w, kw)}, c));
  pool.where = both(pool.h.exists(h, kh), pool.w.exists(w, kw));
  return pool;
}

Result<OpResult> max_pool(const Args& args) {
  ESP_TRY(const Pool pool, make_pool(args));
  return OpResult(compute_with_axes("pool", pool.axes, max_over(pool.value, pool.taps, pool.where)),
                  args.dtype(), Layout(args).channel_axis(2));
}

Result<OpResult> avg_pool(const Args& args) {
  ESP_TRY(const DType acc, accumulator_type(args, true));
  ESP_TRY(const Pool pool, make_pool(args));
  const Tensor total =
      compute_with_axes("total", pool.axes, sum(widened(acc, pool.value), pool.taps, pool.where));
  const Tensor average = pointwise("pool", total, [&](const std::vector<Var>& v) {
    const bool padding = args.flag("count_pad");
    const Expr count =
        pool.h.count(v[pool.h_axis], padding) * pool.w.count(v[pool.w_axis], padding);
    return total.at({v.begin(), v.end()}) / cast(acc, count);
  });
  return OpResult(average, args.dtype(), Layout(args).channel_axis(2));
}

Result<OpResult> global_avg_pool(const Args& args) {
  ESP_TRY(const DType acc, accumulator_type(args, true));
  const Layout layout(args);
  const int64_t h = args.integer("h"), w = args.integer("w");
  const Axis n{Var("n"), args.integer("n")}, c{Var("c"), args.integer("c")};
  const Axis oh{Var("h"), 1}, ow{Var("w"), 1}, kh = reduce_axis("kh", h), kw = reduce_axis("kw", w);
  const Tensor x =
      placeholder("X", layout.activation<int64_t>(n.extent, {h, w}, c.extent), args.dtype());
  const Expr cell = x.at(layout.activation<Expr>(n, {kh, kw}, c));
  const Tensor total = compute_with_axes("total", layout.activation<Axis>(n, {oh, ow}, c),
                                         sum(widened(acc, cell), {kh, kw}));
  const Tensor average = pointwise("pool", total, [&](const std::vector<Var>& v) {
    return total.at({v.begin(), v.end()}) / (static_cast<double>(h) * static_cast<double>(w));
  });
  return OpResult(average, args.dtype(), layout.channel_axis(2));
}

}  // namespace

std::vector<OpDef> pool_ops() {
  const KeyDef n = required_int("n"), h = required_int("h", 1), w = required_int("w", 1);
  const KeyDef c = required_int("c"), layout = layout_key(), acc = accumulator_key();
  std::vector<KeyDef> keys = {n, h, w, c, kernel_2d(), stride_2d(), padding_2d(), flag("ceil")};
  std::vector<KeyDef> avg_keys = keys;
  avg_keys.push_back(flag("count_pad"));
  keys.push_back(layout);
  avg_keys.insert(avg_keys.end(), {layout, acc});
  return {
      {"max_pool2d", keys, max_pool},
      {"avg_pool2d", avg_keys, avg_pool},
      {"global_avg_pool2d", {n, h, w, c, layout, acc}, global_avg_pool},
  };
}

}  // namespace espalier::ops
