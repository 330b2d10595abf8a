#include "espalier/codegen/hoist_offsets.h"

#include <algorithm>
#include <unordered_map>

#include "espalier/ir/mutate.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

struct ExprHash {
  size_t operator()(const Expr& e) const { return static_cast<size_t>(e->hash); }
};
struct ExprEqual {
  bool operator()(const Expr& a, const Expr& b) const { return equal(a, b); }
};

// The body of a loop or a Let: where its variable has a value.
struct Scope {
  std::unordered_map<Expr, Var, ExprHash, ExprEqual> known;
  std::vector<std::pair<Var, Expr>> bindings;  // in the order they were asked for
};

class Hoister {
 public:
  Hoister() : scopes_(1) {}

  Stmt run(const Stmt& s) { return with_bindings(stmt(s)); }

 private:
  Stmt stmt(const Stmt& s) {
    if (const auto* n = s.as<ForNode>()) {
      const Expr min = expr(n->min), extent = expr(n->extent);
      Stmt body = inside(n->var, n->body);
      if (min.same_as(n->min) && extent.same_as(n->extent) && body.same_as(n->body)) return s;
      return make_for(n->var, min, extent, n->for_kind, std::move(body), n->partition);
    }
    if (const auto* n = s.as<LetNode>()) {
      const Expr value = expr(n->value);
      Stmt body = inside(n->var, n->body);
      if (value.same_as(n->value) && body.same_as(n->body)) return s;
      return make_let(n->var, value, std::move(body));
    }
    if (const auto* n = s.as<StoreNode>(); n != nullptr && n->flat) {
      const Expr at = offset(n->indices[0]), value = expr(n->value);
      const Expr predicate = n->predicate ? expr(n->predicate) : Expr{};
      if (at.same_as(n->indices[0]) && value.same_as(n->value) && predicate.same_as(n->predicate)) {
        return s;
      }
      return make_flat_store(n->buffer, at, value, predicate, n->non_temporal);
    }
    if (const auto* n = s.as<PrefetchNode>(); n != nullptr && n->flat) {
      const Expr at = offset(n->indices[0]);
      if (at.same_as(n->indices[0])) return s;
      return make_prefetch(n->buffer, {at}, n->for_write, n->locality, /*flat=*/true);
    }
    return map_children(
        s, [this](const Expr& e) { return expr(e); },
        [this](const Stmt& inner) { return stmt(inner); });
  }

  Stmt inside(const Var& var, const Stmt& body) {
    depth_[var.get()] = scopes_.size();
    scopes_.emplace_back();
    Stmt result = with_bindings(stmt(body));
    scopes_.pop_back();
    depth_.erase(var.get());
    return result;
  }

  Stmt with_bindings(Stmt body) {
    const auto& bindings = scopes_.back().bindings;
    for (auto b = bindings.rbegin(); b != bindings.rend(); ++b) {
      body = make_let(b->first, b->second, std::move(body));
    }
    return body;
  }

  Expr expr(const Expr& e) {
    const auto* load = e.as<LoadNode>();
    if (load == nullptr || !load->flat) {
      return map_children(e, [this](const Expr& part) { return expr(part); });
    }
    const Expr at = offset(load->indices[0]);
    const Expr predicate = load->predicate ? expr(load->predicate) : Expr{};
    if (at.same_as(load->indices[0]) && predicate.same_as(load->predicate)) return e;
    return make_flat_load(load->buffer, at, predicate);
  }

  Expr offset(const Expr& e) {
    if (const auto* ramp = e.as<RampNode>()) {
      const Expr base = offset(ramp->base);
      return base.same_as(ramp->base) ? e : make_ramp(base, ramp->stride, ramp->type.lanes);
    }
    if (const auto* broadcast = e.as<BroadcastNode>()) {
      const Expr value = offset(broadcast->value);
      return value.same_as(broadcast->value) ? e : make_broadcast(value, e.type().lanes);
    }
    // Other vectors are gathers; what they read is handled as any expression.
    return e.type().is_vector() ? expr(e) : split(e);
  }

  struct Term {
    size_t scope;  // the innermost one whose variable it uses
    size_t order;  // as written
    Expr value;
  };

  Expr split(const Expr& e) {
    if (e.kind() != ExprKind::Binary) return e;
    std::vector<Term> terms;
    int64_t constant = 0;
    if (!collect(e, false, &terms, &constant)) return expr(e);
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
      return std::pair(a.scope, a.order) < std::pair(b.scope, b.order);
    });
    Expr sum;
    for (size_t i = 0; i < terms.size(); ++i) {
      sum = sum ? sum + terms[i].value : terms[i].value;
      if (i + 1 == terms.size() || terms[i + 1].scope != terms[i].scope) {
        sum = bound_in(terms[i].scope, sum);
      }
    }
    if (!sum) return make_index(constant);
    return constant == 0 ? sum : sum + Expr(constant);
  }

  // Adds the parts of a sum. Returns false when one reads memory: it cannot be moved.
  bool collect(const Expr& e, bool negated, std::vector<Term>* terms, int64_t* constant) {
    int64_t value;
    if (is_const_int(e, &value)) {
      const auto u = static_cast<uint64_t>(value);
      *constant = static_cast<int64_t>(static_cast<uint64_t>(*constant) + (negated ? 0 - u : u));
      return true;
    }
    const auto* n = e.as<BinaryNode>();
    if (n != nullptr && (n->op == BinaryOp::Add || n->op == BinaryOp::Sub)) {
      const bool right = negated != (n->op == BinaryOp::Sub);
      return collect(n->a, negated, terms, constant) && collect(n->b, right, terms, constant);
    }
    bool reads = false;
    size_t scope = 0;
    visit(e, [&](const Expr& part) {
      reads = reads || part.kind() == ExprKind::Load;
      if (part.kind() == ExprKind::Var) {
        const auto it = depth_.find(part.get());
        ESP_CHECK(it != depth_.end(), "unbound variable in an offset");
        scope = std::max(scope, it->second);
      }
      return !reads;
    });
    if (reads) return false;
    terms->push_back({scope, terms->size(), negated ? make_index(0) - e : e});
    return true;
  }

  Expr bound_in(size_t scope, const Expr& sum) {
    if (sum.kind() == ExprKind::Var) return sum;
    Scope& s = scopes_[scope];
    if (const auto it = s.known.find(sum); it != s.known.end()) return it->second;
    const Var v("p" + std::to_string(scope) + "." + std::to_string(s.bindings.size()));
    depth_[v.get()] = scope;
    s.known.emplace(sum, v);
    s.bindings.emplace_back(v, sum);
    return v;
  }

  std::vector<Scope> scopes_;
  std::unordered_map<const ExprNode*, size_t> depth_;  // index of the scope that binds a variable
};

}  // namespace

Stmt hoist_offsets(const Stmt& s) { return Hoister().run(s); }

}  // namespace espalier
