// Pools over h and w. Cells in the padding are absent: a maximum skips them, an average divides by
// the number of cells that exist, or with count_pad=1 by those in the padding as well.
#include "espalier/ir/ops/pointwise.h"
#include "espalier/ir/ops/window.h"

namespace espalier::ops {
namespace {

struct Pool {
  Window h, w;
  std::vector<Axis> axes, taps;  // n h w c; kh kw
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
  const Tensor x =
      placeholder("X", {args.integer("n"), pool.h.in, pool.w.in, args.integer("c")}, args.dtype());
  const Axis n{Var("n"), args.integer("n")}, h{Var("h"), pool.h.out}, w{Var("w"), pool.w.out};
  const Axis c{Var("c"), args.integer("c")};
  const Axis kh = reduce_axis("kh", pool.h.kernel), kw = reduce_axis("kw", pool.w.kernel);
  pool.axes = {n, h, w, c};
  pool.taps = {kh, kw};
  pool.value = x(n, pool.h.cell(h, kh), pool.w.cell(w, kw), c);
  pool.where = both(pool.h.exists(h, kh), pool.w.exists(w, kw));
  return pool;
}

Result<Tensor> max_pool(const Args& args) {
  ESP_TRY(const Pool pool, make_pool(args));
  return compute_with_axes(args.result_name("pool"), pool.axes,
                           max_over(pool.value, pool.taps, pool.where));
}

Result<Tensor> avg_pool(const Args& args) {
  ESP_TRY(const Pool pool, make_pool(args));
  const Tensor total =
      compute_with_axes("total", pool.axes, sum(pool.value, pool.taps, pool.where));
  return pointwise(args.result_name("pool"), total, [&](const std::vector<Var>& v) {
    const bool padding = args.flag("count_pad");
    const Expr count = pool.h.count(v[1], padding) * pool.w.count(v[2], padding);
    return total.at({v.begin(), v.end()}) / cast(total->dtype, count);
  });
}

Result<Tensor> global_avg_pool(const Args& args) {
  const int64_t h = args.integer("h"), w = args.integer("w");
  const Axis n{Var("n"), args.integer("n")}, c{Var("c"), args.integer("c")};
  const Axis oh{Var("h"), 1}, ow{Var("w"), 1}, kh = reduce_axis("kh", h), kw = reduce_axis("kw", w);
  const Tensor x = placeholder("X", {n.extent, h, w, c.extent}, args.dtype());
  const Tensor total = compute_with_axes("total", {n, oh, ow, c}, sum(x(n, kh, kw, c), {kh, kw}));
  return pointwise(args.result_name("pool"), total, [&](const std::vector<Var>& v) {
    return total.at({v.begin(), v.end()}) / (static_cast<double>(h) * static_cast<double>(w));
  });
}

}  // namespace

std::vector<OpDef> pool_ops() {
  const KeyDef n = required_int("n"), h = required_int("h", 1), w = required_int("w", 1);
  const KeyDef c = required_int("c"), layout = word("layout", {"nhwc", "nchw"});
  std::vector<KeyDef> keys = {n, h, w, c, kernel_2d(), stride_2d(), padding_2d(), flag("ceil")};
  std::vector<KeyDef> avg_keys = keys;
  avg_keys.push_back(flag("count_pad"));
  keys.push_back(layout);
  avg_keys.push_back(layout);
  return {
      {"max_pool2d", keys, max_pool},
      {"avg_pool2d", avg_keys, avg_pool},
      {"global_avg_pool2d", {n, h, w, c, layout}, global_avg_pool},
  };
}

}  // namespace espalier::ops
