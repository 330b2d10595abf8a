#include "espalier/codegen/lane_dependence.h"

#include <algorithm>
#include <unordered_set>

#include "espalier/codegen/ranges.h"
#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

// An index, or the offset of all of them, as stride * var + rest.
struct Place {
  bool affine = false;
  int64_t stride = 0;
  bool inner = false;  // the rest depends on a loop inside the body
  std::vector<std::pair<const ExprNode*, int64_t>> terms;  // of the rest, sorted
  int64_t offset = 0;
};

// One access of the body.
struct Touch {
  Buffer buffer;
  std::vector<Expr> indices;
  bool is_store = false;
  bool uses_lane = false;
  bool reduces = false;       // a store that is a LaneReduction
  bool same_value = false;    // a store of one value to one element by all lanes
  bool in_loop = false;       // happens several times an iteration
  std::vector<Place> places;  // one a dimension, and perhaps one of the flat offset
};

class Collector {
 public:
  Collector(const Var& var, const Bounds& bounds) : var_(var), bounds_(bounds) {}

  std::vector<Touch> run(const Stmt& body) {
    visit(
        body,
        [this](const Stmt& s) {
          if (const auto* n = s.as<StoreNode>()) stored_.insert(n->buffer.get());
          return true;
        },
        [](const Expr&) { return false; });
    visit_stmt(body);
    return std::move(accesses_);
  }

 private:
  void visit_stmt(const Stmt& s) {
    if (const auto* n = s.as<ForNode>()) {
      loads(n->min);
      loads(n->extent);
      bounds_.set(n->var, loop_range(n->min, n->extent, bounds_));
      inner_.insert(n->var.get());
      ++depth_;
      visit_stmt(n->body);
      --depth_;
      return;
    }
    if (const auto* n = s.as<AllocateNode>()) private_.insert(n->buffer.get());
    if (const auto* n = s.as<LetNode>()) inner_.insert(n->var.get());
    if (const auto* n = s.as<StoreNode>()) {
      store(*n);
      return;
    }
    map_children(
        s,
        [this](const Expr& e) {
          loads(e);
          return e;
        },
        [this](const Stmt& inner) {
          visit_stmt(inner);
          return inner;
        });
  }

  void store(const StoreNode& n) {
    for (const Expr& index : n.indices) loads(index);
    if (n.predicate) loads(n.predicate);
    Touch access = make_access(n.buffer, n.indices);
    access.is_store = true;
    access.in_loop = depth_ > 0;
    const std::optional<LaneReduction> reduction =
        access.uses_lane ? std::nullopt : as_lane_reduction(n);
    if (reduction) {
      access.reduces = true;
      loads(reduction->term);
    } else {
      access.same_value = !access.uses_lane && !uses_var(n.value, var_);
      loads(n.value);
    }
    add(std::move(access));
  }

  void loads(const Expr& e) {
    visit(e, [this](const Expr& part) {
      // What is only read cannot be read at the wrong time.
      const auto* load = part.as<LoadNode>();
      if (load != nullptr && stored_.contains(load->buffer.get())) {
        add(make_access(load->buffer, load->indices));
      }
      return true;
    });
  }

  void add(Touch access) {
    if (private_.contains(access.buffer.get())) return;
    accesses_.push_back(std::move(access));
  }

  Touch make_access(const Buffer& buffer, const std::vector<Expr>& indices) {
    Touch access;
    access.buffer = buffer;
    access.indices = indices;
    bool is_split = false;
    for (const Expr& index : indices) {
      access.places.push_back(place(index));
      if (uses_var(index, var_)) {
        access.uses_lane = true;
        is_split = is_split || !access.places.back().affine;
      }
    }
    if (is_split && indices.size() > 1) {
      // Divisions and remainders may add up to a progression again.
      Expr flat = make_index(0);
      for (size_t d = 0; d < indices.size(); ++d) {
        flat = flat + indices[d] * Expr(buffer->strides[d]);
      }
      access.places.push_back(place(simplify(flat, bounds_)));
    }
    return access;
  }

  Place place(const Expr& e) const {
    Place p;
    const std::optional<AffineForm> form = as_affine(e, bounds_);
    if (!form) return p;
    p.affine = true;
    p.offset = form->offset;
    for (const auto& [v, coef] : form->terms) {
      if (v.same_as(var_)) {
        p.stride = coef;
      } else {
        p.terms.emplace_back(v.get(), coef);
        p.inner = p.inner || inner_.contains(v.get());
      }
    }
    std::sort(p.terms.begin(), p.terms.end());
    return p;
  }

  Var var_;
  Bounds bounds_;
  int depth_ = 0;  // of loops around
  std::unordered_set<const ExprNode*> inner_;
  std::unordered_set<const BufferNode*> stored_, private_;
  std::vector<Touch> accesses_;
};

// Whether two different iterations of the lane variable never meet at one element (and, where the
// places do not depend on it, no two accesses do).
bool apart(const Place& a, const Place& b, int64_t extent) {
  if (!a.affine || !b.affine || a.inner || b.inner) return false;
  if (a.stride != b.stride || a.terms != b.terms) return false;
  const int64_t delta = a.offset - b.offset;
  if (a.stride == 0) return delta != 0;
  return delta == 0 || delta % a.stride != 0 || std::abs(delta / a.stride) >= extent;
}

bool apart(const Touch& a, const Touch& b, int64_t extent) {
  for (size_t d = 0; d < std::min(a.places.size(), b.places.size()); ++d) {
    if (apart(a.places[d], b.places[d], extent)) return true;
  }
  return false;
}

}  // namespace

std::optional<LaneReduction> as_lane_reduction(const StoreNode& store) {
  const auto* n = store.value.as<BinaryNode>();
  if (n == nullptr) return {};
  switch (n->op) {
    case BinaryOp::Add:
    case BinaryOp::Mul:
    case BinaryOp::Min:
    case BinaryOp::Max:
    case BinaryOp::And:
    case BinaryOp::Or: break;
    default: return {};
  }
  const auto is_element = [&](const Expr& e) {
    const auto* load = e.as<LoadNode>();
    if (load == nullptr || load->buffer != store.buffer || load->predicate) return false;
    return std::equal(load->indices.begin(), load->indices.end(), store.indices.begin(),
                      store.indices.end(),
                      [](const Expr& a, const Expr& b) { return equal(a, b); });
  };
  if (is_element(n->a)) return LaneReduction{n->op, n->a, n->b};
  if (is_element(n->b)) return LaneReduction{n->op, n->b, n->a};
  return {};
}

bool lanes_are_independent(const Stmt& body, const Var& var, int64_t extent, const Bounds& bounds) {
  const std::vector<Touch> accesses = Collector(var, bounds).run(body);
  for (size_t i = 0; i < accesses.size(); ++i) {
    const Touch& store = accesses[i];
    if (!store.is_store) continue;
    if (!store.uses_lane && !store.reduces && !store.same_value) return false;
    // A statement that runs once an iteration stores its lanes in order.
    if (store.uses_lane && store.in_loop && !apart(store, store, extent)) return false;
    for (size_t j = 0; j < accesses.size(); ++j) {
      const Touch& other = accesses[j];
      if (i == j || other.buffer != store.buffer) continue;
      if (other.is_store && j < i) continue;  // met before
      if (!apart(store, other, extent)) return false;
    }
  }
  return true;
}

}  // namespace espalier
