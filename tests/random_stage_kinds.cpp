#include <algorithm>
#include <cmath>

#include "random_stage.h"

namespace espalier {
namespace {

std::vector<Expr> exprs(const std::vector<Var>& vars) { return {vars.begin(), vars.end()}; }

int64_t product(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t e : shape) n *= e;
  return n;
}

Expr both(const Expr& a, const Expr& b) {
  if (!a) return b;
  return b ? a && b : a;
}

// One dimension of a window that slides over `in` elements.
struct Window {
  int64_t in = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  int64_t out() const {
    const int64_t room = in + 2 * pad - (kernel - 1) * dilation - 1;
    return room < 0 ? 0 : room / stride + 1;
  }
  Expr cell(const Expr& o, const Expr& k) const {
    Expr e = stride == 1 ? o : o * stride;
    e = e + (dilation == 1 ? k : k * dilation);
    return pad == 0 ? e : e - pad;
  }
  // Empty: every cell exists.
  Expr exists(const Expr& o, const Expr& k) const {
    if (pad == 0) return {};
    return cell(o, k) >= 0 && cell(o, k) < in;
  }
};

Window random_window(Rng& rng, int64_t in, int64_t kernel) {
  Window w{in, std::min(in, kernel), rng.range(1, 3), rng.range(1, 2), 0};
  if (w.in < (w.kernel - 1) * w.dilation + 1) w.dilation = 1;
  if (rng.chance(0.7)) w.pad = rng.range(1, std::max<int64_t>(1, w.kernel - 1));
  if (rng.chance(0.4)) w.stride = 1;
  return w;
}

}  // namespace

Value StageWriter::fresh() {
  return input(shape(static_cast<size_t>(rng_.range(0, 4)), work_ / 4), dtype_);
}

Value StageWriter::matmul() {
  const std::vector<int64_t> s = shape(3, work_ / 2);
  const bool batched = rng_.chance(0.25);
  const int64_t batch = batched ? rng_.range(1, 3) : 1;
  const bool swap_a = rng_.chance(0.25), swap_b = rng_.chance(0.4);
  auto dims = [&](int64_t x, int64_t y, bool swap) {
    std::vector<int64_t> d = swap ? std::vector{y, x} : std::vector{x, y};
    if (batched) d.insert(d.begin(), batch);
    return d;
  };
  const Value a = input(dims(s[0], s[2], swap_a), dtype_);
  const Value b = input(dims(s[2], s[1], swap_b), dtype_);
  const Axis k = axis(s[2]);
  return add(dims(s[0], s[1], false), s[2], [&](const Vars& v) {
    const Expr i = v[v.size() - 2], j = v[v.size() - 1];
    std::vector<Expr> at_a = swap_a ? std::vector<Expr>{k, i} : std::vector<Expr>{i, k};
    std::vector<Expr> at_b = swap_b ? std::vector<Expr>{j, k} : std::vector<Expr>{k, j};
    if (batched) at_a.insert(at_a.begin(), v[0]), at_b.insert(at_b.begin(), v[0]);
    return reduce(multiply(read(a, at_a, dtype_), read(b, at_b, dtype_)), {k}, {},
                  rng_.chance(0.7));
  });
}

// x[h, w, ci] with w[kh, kw, ci, co], or its one-dimensional kin.
Value StageWriter::convolution() {
  const size_t rank = rng_.chance(0.6) ? 2 : 1;
  std::vector<Window> windows;
  int64_t room = work_ / 3;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t k = rng_.range(1, rank == 2 ? 3 : 5);
    windows.push_back(
        random_window(rng_, extent(std::min<int64_t>(rank == 2 ? 14 : 200, room)), k));
    room /= std::max<int64_t>(1, windows.back().out() * windows.back().kernel);
  }
  const int64_t ci = extent(std::min<int64_t>(13, room));
  const int64_t co = extent(std::min<int64_t>(49, room / std::max<int64_t>(1, ci)));
  std::vector<int64_t> in, weights, out;
  std::vector<Axis> axes;
  for (const Window& w : windows) {
    in.push_back(w.in);
    weights.push_back(w.kernel);
    out.push_back(w.out());
    axes.push_back(axis(w.kernel));
  }
  in.push_back(ci);
  weights.insert(weights.end(), {ci, co});
  out.push_back(co);
  axes.push_back(axis(ci));
  const Value x = input(in, dtype_), w = input(weights, dtype_);
  const int64_t terms = product(weights) / std::max<int64_t>(1, co);
  return add(out, terms, [&](const Vars& v) {
    std::vector<Expr> at_x, at_w;
    Expr where;
    for (size_t d = 0; d < rank; ++d) {
      at_x.push_back(windows[d].cell(v[d], axes[d]));
      at_w.push_back(axes[d]);
      where = both(where, windows[d].exists(v[d], axes[d]));
    }
    at_x.push_back(axes[rank]);
    at_w.insert(at_w.end(), {axes[rank], v[rank]});
    return reduce(multiply(read(x, at_x, dtype_), read(w, at_w, dtype_)), axes, where,
                  rng_.chance(0.85));
  });
}

Value StageWriter::depthwise() {
  const Window h = random_window(rng_, extent(14), rng_.range(1, 3));
  const Window w = random_window(rng_, extent(14), rng_.range(1, 3));
  const int64_t c =
      extent(std::max<int64_t>(1, work_ / 3 / std::max<int64_t>(1, h.out() * w.out() * 9)));
  const Value x = input({h.in, w.in, c}, dtype_), f = input({h.kernel, w.kernel, c}, dtype_);
  const Axis kh = axis(h.kernel), kw = axis(w.kernel);
  return add({h.out(), w.out(), c}, h.kernel * w.kernel, [&](const Vars& v) {
    const Operand a = read(x, {h.cell(v[0], kh), w.cell(v[1], kw), v[2]}, dtype_);
    const Operand b = read(f, {kh, kw, v[2]}, dtype_);
    return reduce(multiply(a, b), {kh, kw}, both(h.exists(v[0], kh), w.exists(v[1], kw)));
  });
}

// y[o] collects x[(o + p - k) / s] * w[k] where the division is whole: terms between the strides
// are absent.
Value StageWriter::transposed_convolution() {
  const int64_t in = extent(std::min<int64_t>(49, work_ / 16)), kernel = rng_.range(1, 4);
  const int64_t s = rng_.range(1, 3), p = rng_.range(0, kernel - 1), c = extent(7);
  const int64_t out = std::max<int64_t>(0, (in - 1) * s + kernel - 2 * p);
  const Value x = input({in, c}, dtype_), w = input({kernel, c}, dtype_);
  const Axis k = axis(kernel);
  return add({out, c}, kernel, [&](const Vars& v) {
    const Expr t = v[0] + p - k;
    const Expr where = floormod(t, s) == make_index(0) && t >= 0 && floordiv(t, s) < in;
    return reduce(multiply(read(x, {floordiv(t, s), v[1]}, dtype_), read(w, {k, v[1]}, dtype_)),
                  {k}, where, true);
  });
}

Value StageWriter::gather() {
  const int64_t rows = std::max<int64_t>(1, extent(200));
  const int64_t width = extent(49);
  const std::vector<int64_t> picks =
      shape(static_cast<size_t>(rng_.range(1, 2)), work_ / 3 / std::max<int64_t>(1, width));
  const Value table = input({rows, width}, dtype_);
  const Value index = index_input(picks, rows);
  std::vector<int64_t> out = picks;
  out.push_back(width);
  return add(out, 1, [&](const Vars& v) {
    std::vector<Expr> at(v.begin(), v.end() - 1);
    return read(table, {cast(DType::I64, index.tensor.at(at)), v.back()}, dtype_);
  });
}

Value StageWriter::elementwise(const Value& a) {
  DType t = a.dtype();
  if (rng_.chance(0.12)) t = draw_dtype();
  // Out of a float's range, or beside NaN, an integer or bool would depend on rounding.
  if (is_float(a.dtype()) && !is_float(t)) t = a.dtype();
  return add(a.shape(), 1, [&](const Vars& v) {
    std::vector<Operand> operands = {read(a, exprs(v), t)};
    for (const Value& other : stages_) {
      const bool usable =
          other.shape() == a.shape() && other.dtype() == t && other.tensor.get() != a.tensor.get();
      if (usable && operands.size() < 3 && rng_.chance(0.4)) {
        operands.push_back(read(other, exprs(v), t));
      }
    }
    if (rng_.chance(0.5)) operands.push_back(broadcast_read(v, a.shape(), t));
    return random_expr(rng_, t, std::move(operands), exact_);
  });
}

// Neighbours along one dimension: within the tensor (the result is smaller), or with zeros around.
Value StageWriter::stencil(const Value& a) {
  if (a.rank() == 0) return elementwise(a);
  const size_t dim = rng_.below(a.rank());
  const int64_t n = a.shape()[dim];
  const int64_t reach = std::min<int64_t>(n > 0 ? n - 1 : 0, rng_.range(1, 3));
  const bool padded = rng_.chance(0.5);
  std::vector<int64_t> out = a.shape();
  if (!padded) out[dim] -= reach;
  const DType t = a.dtype();
  return add(out, 1, [&](const Vars& v) {
    std::vector<Operand> operands;
    for (int64_t offset : {int64_t{0}, reach}) {
      std::vector<Expr> at = exprs(v);
      if (offset != 0) at[dim] = at[dim] + offset;
      if (padded) at[dim] = at[dim] - 1;
      Operand e = read(a, at, t);
      if (padded) {
        const Expr inside = at[dim] >= 0 && at[dim] < n;
        e.expr = select(inside, e.expr, make_number(Type(t), 0));
      }
      operands.push_back(e);
    }
    return random_expr(rng_, t, std::move(operands), exact_);
  });
}

Value StageWriter::pool(const Value& a) {
  if (a.rank() == 0) return elementwise(a);
  const size_t dim = rng_.below(a.rank());
  if (a.shape()[dim] == 0) return elementwise(a);
  const Window w = random_window(rng_, a.shape()[dim], rng_.range(1, 4));
  std::vector<int64_t> out = a.shape();
  out[dim] = w.out();
  const Axis k = axis(w.kernel);
  return add(out, w.kernel, [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    at[dim] = w.cell(v[dim], k);
    return reduce(read(a, at, a.dtype()), {k}, w.exists(v[dim], k));
  });
}

Value StageWriter::reduction(const Value& a) {
  if (a.rank() == 0) return elementwise(a);
  std::vector<size_t> kept;
  for (size_t d = 0; d < a.rank(); ++d) {
    if (rng_.chance(0.4)) kept.push_back(d);
  }
  if (kept.size() == a.rank()) kept.pop_back();
  std::vector<int64_t> out;
  for (size_t d : kept) out.push_back(a.shape()[d]);
  std::vector<Axis> axes;
  std::vector<Expr> at(a.rank());
  for (size_t d = 0; d < a.rank(); ++d) {
    if (std::find(kept.begin(), kept.end(), d) != kept.end()) continue;
    axes.push_back(axis(a.shape()[d]));
    at[d] = axes.back().var;
  }
  const bool square = rng_.chance(0.4);
  return add(out, product(a.shape()) / std::max<int64_t>(1, product(out)), [&](const Vars& v) {
    for (size_t i = 0; i < kept.size(); ++i) at[kept[i]] = v[i];
    Operand term = read(a, at, a.dtype());
    if (square) term = random_expr(rng_, a.dtype(), {term}, exact_);
    rng_.shuffle(axes);
    return reduce(term, axes);
  });
}

// A permutation of the dimensions, some of them backwards.
Value StageWriter::transpose(const Value& a) {
  std::vector<size_t> order(a.rank());
  for (size_t d = 0; d < order.size(); ++d) order[d] = d;
  rng_.shuffle(order);
  std::vector<int64_t> out;
  for (size_t d : order) out.push_back(a.shape()[d]);
  const bool backwards = rng_.chance(0.2);
  return add(out, 1, [&](const Vars& v) {
    std::vector<Expr> at(a.rank());
    for (size_t i = 0; i < order.size(); ++i) at[order[i]] = v[i];
    if (backwards && !order.empty()) {
      at[order[0]] = make_index(a.shape()[order[0]] - 1) - at[order[0]];
    }
    return read(a, at, a.dtype());
  });
}

// Between all dimensions and a flat one.
Value StageWriter::reshape(const Value& a) {
  const int64_t n = product(a.shape());
  if (a.rank() == 1) {
    const int64_t inner = rng_.range(1, 9);
    if (n == 0 || n % inner != 0) return elementwise(a);
    return add({n / inner, inner}, 1,
               [&](const Vars& v) { return read(a, {v[0] * inner + v[1]}, a.dtype()); });
  }
  return add({n}, 1, [&](const Vars& v) {
    std::vector<Expr> at(a.rank());
    int64_t stride = 1;
    for (size_t d = a.rank(); d-- > 0;) {
      const Expr q = stride == 1 ? Expr(v[0]) : floordiv(v[0], stride);
      at[d] = d == 0 ? q : floormod(q, std::max<int64_t>(1, a.shape()[d]));
      stride *= std::max<int64_t>(1, a.shape()[d]);
    }
    return read(a, at, a.dtype());
  });
}

Value StageWriter::contraction(const Value& a) {
  if (a.rank() == 0) return elementwise(a);
  const int64_t n = a.shape().back();
  const int64_t room = std::max<int64_t>(1, work_) / std::max<int64_t>(1, product(a.shape()));
  if (room < 1) return elementwise(a);
  const int64_t width = extent(room);
  const bool swap = rng_.chance(0.4);
  const Value w = input(swap ? std::vector{width, n} : std::vector{n, width}, a.dtype());
  const Axis k = axis(n);
  std::vector<int64_t> out = a.shape();
  out.back() = width;
  return add(out, n, [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    at.back() = k;
    const Expr j = v.back();
    const Operand b = read(w, swap ? std::vector<Expr>{j, k} : std::vector<Expr>{k, j}, a.dtype());
    return reduce(multiply(read(a, at, a.dtype()), b), {k}, {}, rng_.chance(0.8));
  });
}

Value StageWriter::softmax(Value a) {
  const bool small =
      is_float(a.dtype()) && 2 * a.magnitude < std::min(1e4, limit_of(a.dtype(), exact_));
  if (a.rank() == 0 || !small) return elementwise(a);
  std::vector<int64_t> rows = a.shape();
  const int64_t n = rows.back();
  rows.pop_back();
  auto row = [&](const Value& v, const Vars& at) {
    return v.tensor.at(std::vector<Expr>(at.begin(), at.begin() + static_cast<long>(rows.size())));
  };
  auto with = [&](const Vars& at, const Expr& last) {
    std::vector<Expr> e = exprs(at);
    e.resize(rows.size());
    e.push_back(last);
    return e;
  };
  const Axis k = axis(n), l = axis(n);
  const Value top = add(rows, n, [&](const Vars& v) -> Operand {
    return {max_over(a.tensor.at(with(v, k)), {k}), a.magnitude};
  });
  const Value e = add(a.shape(), 1, [&](const Vars& v) -> Operand {
    const Expr x = a.tensor.at(exprs(v)) - row(top, v);
    return {exact_ ? x : exp(x), exact_ ? 2 * a.magnitude : 1};
  });
  const Value total = add(rows, n, [&](const Vars& v) {
    return reduce({e.tensor.at(with(v, l)), e.magnitude}, {l}, {}, true);
  });
  return add(a.shape(), 1, [&](const Vars& v) -> Operand {
    const Expr x = e.tensor.at(exprs(v)), s = row(total, v);
    return exact_ ? Operand{max(x, s), std::max(e.magnitude, total.magnitude)} : Operand{x / s, 1};
  });
}

}  // namespace espalier
