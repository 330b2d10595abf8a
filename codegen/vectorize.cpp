#include "espalier/codegen/vectorize.h"

#include <algorithm>
#include <bit>

#include "espalier/codegen/lane_dependence.h"
#include "espalier/codegen/lane_rewriter.h"
#include "espalier/codegen/ranges.h"
#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

// Whole vectors up to this number are written out, as far as the code stays small.
constexpr int64_t kMostStraight = 16;
constexpr int64_t kMostStatements = 512;

struct Traits {
  int widest = 1, narrowest = 8;  // bytes of the data types
  int64_t statements = 0;
  bool uses_registers = false;  // must be straight: register buffers want constant indices
};

class TraitsFinder {
 public:
  Traits run(const Stmt& s) {
    stmt(s);
    return traits_;
  }

 private:
  void stmt(const Stmt& s) {
    if (const auto* n = s.as<StoreNode>()) {
      ++traits_.statements;
      buffer(n->buffer);
      value(n->value);
      if (n->predicate) value(n->predicate);
      return;
    }
    if (s.kind() == StmtKind::Prefetch) return;
    if (const auto* n = s.as<ForNode>()) return stmt(n->body);
    map_children(
        s,
        [this](const Expr& e) {
          value(e);
          return e;
        },
        [this](const Stmt& inner) {
          stmt(inner);
          return inner;
        });
  }

  void buffer(const Buffer& b) {
    data(b->dtype);
    traits_.uses_registers = traits_.uses_registers || b->scope == BufferScope::Register;
  }

  void data(DType t) {
    traits_.widest = std::max(traits_.widest, bytes_of(t));
    traits_.narrowest = std::min(traits_.narrowest, bytes_of(t));
  }

  // Index arithmetic does not count: it is folded into addresses.
  void value(const Expr& e) {
    if (const auto* load = e.as<LoadNode>()) return buffer(load->buffer);
    if (e.type() != kIndex && e.type() != kBool) {
      traits_.widest = std::max(traits_.widest, bytes_of(e.type().dtype));
    }
    map_children(e, [this](const Expr& part) {
      value(part);
      return part;
    });
  }

  Traits traits_;
};

// Lets of index values that depend on the loop would hide progressions.
Stmt inline_index_lets(const Stmt& s, const Var& var) {
  if (const auto* n = s.as<LetNode>()) {
    if (n->var.type() == kIndex && uses_var(n->value, var)) {
      return inline_index_lets(substitute(n->body, {{n->var.get(), n->value}}), var);
    }
  }
  return map_children(
      s, [](const Expr& e) { return e; },
      [&](const Stmt& inner) { return inline_index_lets(inner, var); });
}

class Vectorizer {
 public:
  explicit Vectorizer(const Target& target) : target_(target) {}

  Stmt run(const Stmt& s) {
    const auto* n = s.as<ForNode>();
    if (n == nullptr) {
      return map_children(
          s, [](const Expr& e) { return e; }, [this](const Stmt& inner) { return run(inner); });
    }
    bounds_.set(n->var, loop_range(n->min, n->extent, bounds_));
    Stmt body = run(n->body);
    bounds_.erase(n->var);
    if (n->for_kind == ForKind::Vectorized) {
      if (Stmt vectors = vector_loop(*n, body)) return vectors;
      return make_for(n->var, n->min, n->extent, ForKind::Serial, std::move(body), n->partition);
    }
    if (body.same_as(n->body)) return s;
    return make_for(n->var, n->min, n->extent, n->for_kind, std::move(body), n->partition);
  }

 private:
  Stmt vector_loop(const ForNode& n, const Stmt& original) {
    const Stmt body = inline_index_lets(original, n.var);
    const Traits traits = TraitsFinder().run(body);
    const int lanes = target_.lanes(traits.widest);
    int64_t extent;
    const bool constant = is_const_int(n.extent, &extent);
    if (!constant) extent = bounds_.of(n.extent).hi;
    if (extent <= 0) return make_block({});
    if (lanes < 2 || !independent(n, body, extent)) return {};
    if (!constant) return loop_of_any_extent(n, body, lanes);

    const int64_t whole = extent / lanes, rest = extent % lanes;
    const bool straight = traits.uses_registers ||
                          (whole <= kMostStraight && whole * traits.statements <= kMostStatements);
    std::vector<Stmt> parts;
    if (straight) {
      for (int64_t c = 0; c < whole; ++c) {
        if (!add_block(&parts, n, body, n.min + Expr(c * lanes), lanes, lanes)) return {};
      }
    } else if (whole > 0) {
      const Var chunk(n.var.name() + ".v");
      bounds_.set(chunk, {0, whole - 1});
      std::vector<Stmt> inside;
      const bool done = add_block(&inside, n, body, n.min + chunk * Expr(lanes), lanes, lanes);
      bounds_.erase(chunk);
      if (!done) return {};
      parts.push_back(make_for(chunk, 0, whole, ForKind::Serial, make_block(std::move(inside))));
    }
    return add_rest(&parts, n, body, n.min + Expr(whole * lanes), static_cast<int>(rest), traits)
               ? make_block(std::move(parts))
               : Stmt{};
  }

  // Whole vectors, then one under a mask where stores under masks are cheap, else single
  // iterations.
  Stmt loop_of_any_extent(const ForNode& n, const Stmt& body, int lanes) {
    const Expr extent = simplify(max(n.extent, make_index(0)), bounds_);
    const Expr whole = simplify(floordiv(extent, lanes), bounds_);
    const Expr first = simplify(n.min + whole * Expr(lanes), bounds_);
    const Expr rest = simplify(extent - whole * Expr(lanes), bounds_);
    std::vector<Stmt> parts;
    const Var chunk(n.var.name() + ".v");
    bounds_.set(chunk, loop_range(make_index(0), whole, bounds_));
    std::vector<Stmt> inside;
    const bool done = add_block(&inside, n, body, n.min + chunk * Expr(lanes), lanes, lanes);
    bounds_.erase(chunk);
    if (!done) return {};
    parts.push_back(make_for(chunk, 0, whole, ForKind::Serial, make_block(std::move(inside))));
    if (target_.has("avx512f") && target_.has("avx512vl")) {
      std::vector<Stmt> last;
      const Stmt guarded = make_if(n.var < first + rest, body);
      if (!add_block(&last, n, guarded, first, lanes, lanes)) return {};
      parts.push_back(make_if(rest > Expr(0), make_block(std::move(last))));
    } else {
      parts.push_back(make_for(n.var, first, rest, ForKind::Serial, body));
    }
    return make_block(std::move(parts));
  }

  bool independent(const ForNode& n, const Stmt& body, int64_t extent) {
    bounds_.set(n.var, loop_range(n.min, n.extent, bounds_));
    const bool result = lanes_are_independent(body, n.var, extent, bounds_);
    bounds_.erase(n.var);
    return result;
  }

  // The iterations after the whole vectors.
  bool add_rest(std::vector<Stmt>* parts, const ForNode& n, const Stmt& body, Expr base, int rest,
                const Traits& traits) {
    while (rest > 0) {
      const int above = static_cast<int>(std::bit_ceil(static_cast<unsigned>(rest)));
      if (above == rest || has_masked_loads(target_, traits.narrowest)) {
        return add_block(parts, n, body, base, above, rest);
      }
      const int piece = above / 2;
      if (!add_block(parts, n, body, base, piece, piece)) return false;
      base = base + Expr(piece);
      rest -= piece;
    }
    return true;
  }

  bool add_block(std::vector<Stmt>* parts, const ForNode& n, const Stmt& body, const Expr& at,
                 int lanes, int active) {
    const Expr base = simplify(at, bounds_);
    if (lanes == 1) {
      parts->push_back(simplify(substitute(body, {{n.var.get(), base}}), bounds_));
      return true;
    }
    std::optional<Stmt> block = rewrite_lanes(body, {n.var, base, lanes, active}, bounds_);
    if (block) parts->push_back(std::move(*block));
    return block.has_value();
  }

  const Target& target_;
  Bounds bounds_;
};

}  // namespace

bool has_masked_loads(const Target& target, int element_bytes) {
  if (target.has("avx512f") && target.has("avx512vl")) {
    return element_bytes >= 4 || target.has("avx512bw");
  }
  return element_bytes >= 4 && (target.has("avx") || target.has("avx2"));
}

Stmt vectorize(const Stmt& s, const Target& target) { return Vectorizer(target).run(s); }

}  // namespace espalier
