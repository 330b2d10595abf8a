#include "espalier/ir/ops/window.h"

#include "espalier/support/number.h"

namespace espalier::ops {
namespace {

Expr scaled(const Expr& e, int64_t factor) { return factor == 1 ? e : e * factor; }
Expr shifted(const Expr& e, int64_t offset) {
  if (offset == 0) return e;
  return offset < 0 ? e - (-offset) : e + offset;
}

}  // namespace

Expr Window::cell(const Expr& o, const Expr& tap) const {
  return shifted(scaled(o, stride) + scaled(tap, dilation), -before);
}

Expr Window::exists(const Expr& o, const Expr& tap) const {
  const int64_t last = (out - 1) * stride + (kernel - 1) * dilation - before;
  Expr condition;
  if (before > 0) condition = both(condition, cell(o, tap) >= 0);
  if (last >= in) condition = both(condition, cell(o, tap) < in);
  return condition;
}

Expr Window::count(const Expr& o, bool count_padding) const {
  const int64_t low = count_padding ? -before : 0, high = count_padding ? in + after : in;
  const bool begin_inside = -before >= low;
  const bool end_inside = (out - 1) * stride - before + kernel <= high;
  if (begin_inside && end_inside) return make_index(kernel);
  const Expr begin = shifted(scaled(o, stride), -before);
  const Expr end = shifted(scaled(o, stride), kernel - before);
  return (end_inside ? end : min(end, high)) - (begin_inside ? begin : max(begin, low));
}

Result<Window> make_window(const Args& args, const WindowKeys& keys, bool ceil) {
  Window w;
  w.in = args.integer(keys.extent);
  w.kernel = args.integer("k" + keys.suffix);
  w.stride = args.integer("s" + keys.suffix);
  if (args.has("d" + keys.suffix)) w.dilation = args.integer("d" + keys.suffix);
  w.before = args.integer(keys.before);
  w.after = args.integer(keys.after);
  const int64_t padded = w.in + w.before + w.after;
  const auto reach = checked_mul(w.kernel - 1, w.dilation);
  if (!reach || *reach >= padded) {
    return args.error(
        "'k", keys.suffix, "=", w.kernel, "'",
        w.dilation == 1 ? std::string() : detail::concat(" with dilation ", w.dilation),
        ": the kernel must fit into ", keys.extent, "=", w.in, " and its padding of ", w.before,
        " before and ", w.after, " after");
  }
  const int64_t room = padded - *reach - 1;
  w.out = room / w.stride + 1;
  if (ceil && room % w.stride != 0 && w.out * w.stride < w.in + w.before) ++w.out;
  return w;
}

KeyDef kernel_2d() { return with_parts(required_int("k", 1), {{"kh", {}}, {"kw", {}}}); }
KeyDef stride_2d() { return with_parts(optional_int("s", 1, "1"), {{"sh", {}}, {"sw", {}}}); }
KeyDef padding_2d() {
  return with_parts(optional_int("p", 0, "0"), {{"ph", {"pt", "pb"}}, {"pw", {"pl", "pr"}}});
}

const std::vector<WindowKeys>& window_keys_2d() {
  static const std::vector<WindowKeys> keys = {{"h", "h", "pt", "pb"}, {"w", "w", "pl", "pr"}};
  return keys;
}

Expr both(const Expr& a, const Expr& b) {
  if (!a) return b;
  if (!b) return a;
  return a && b;
}

}  // namespace espalier::ops
