// The nest of one stage: its loops, the identity before a reduction, guards at the outermost place
// where they are decided, and the stages attached at its loops.
#include <algorithm>

#include "espalier/ir/mutate.h"
#include "espalier/schedule/linear_condition.h"
#include "espalier/schedule/lower_context.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

class NestBuilder {
 public:
  NestBuilder(LowerContext& context, StageId s)
      : context_(context), s_(s), stage_(context.stage(s)), info_(context.info(s)) {
    for (Guard& g : context.guards(s)) {
      if (g.pad && info_.reduce() == nullptr) {
        pad_guards_.push_back(g.cond);
      } else if (stage_.layout.empty() || g.storage) {
        guards_.push_back(std::move(g));
      }
    }
    first_reduce_ = stage_.order.size();
    last_reduce_ = -1;
    for (size_t i = 0; i < stage_.order.size(); ++i) {
      if (!own(stage_.order[i]).reduce) continue;
      first_reduce_ = std::min(first_reduce_, i);
      last_reduce_ = static_cast<int>(i);
    }
    initializes_ = stage_.role == StageRole::Final ||
                   (info_.reduce() != nullptr &&
                    (stage_.role == StageRole::Compute || stage_.role == StageRole::Accumulate ||
                     stage_.role == StageRole::Partial));
    combines_ = stage_.role == StageRole::WriteBack && last_reduce_ >= 0;
    if (combines_) {
      // The choice between writing and combining stands around the write-back loops alone.
      write_back_ = static_cast<size_t>(last_reduce_) + 1;
      for (size_t i = write_back_; i < stage_.order.size(); ++i) {
        if (holds_others(stage_.order[i])) write_back_ = i + 1;
      }
    }
    index_ = context.write_index(s);
    if (stage_.role != StageRole::WriteBack && stage_.role != StageRole::Final) round_up_lanes();
  }

  // The lanes of a whole vector may be computed where only some of them are needed, if they read
  // packed copies alone, whose every element is defined, and the stage's own buffer has room.
  bool lanes_are_spare(const Guard& g, const Var& lane) const {
    const Buffer& own_buffer = context_.buffer(s_);
    if (g.reduce || g.storage || g.pad || own_buffer->scope == BufferScope::Param ||
        !stage_.layout.empty() || stage_.stored_at_root || info_.reduce() == nullptr) {
      return false;
    }
    auto within = [&](const Buffer& b, const std::vector<Expr>& indices) {
      for (size_t d = 0; d < indices.size(); ++d) {
        const Interval r = context_.bounds().of(indices[d]);
        if (r.lo < 0 || r.hi >= b->shape[d]) return false;
      }
      return true;
    };
    if (!within(own_buffer, index_)) return false;
    bool ok = true;
    visit(context_.body_value(s_), [&](const Expr& e) {
      const LoadNode* load = e.as<LoadNode>();
      if (load == nullptr || !uses_var(e, lane)) return ok;
      if (!context_.is_copy(load->buffer) || !within(load->buffer, load->indices)) ok = false;
      return ok;
    });
    return ok;
  }

  // Conditions on lanes are asked of whole vectors where that is allowed: it spares the masks.
  void round_up_lanes() {
    const int lanes =
        context_.state().task().target.vector_bits / 8 / bytes_of(info_.tensor->dtype);
    for (Guard& g : guards_) {
      if (g.position < 0 || lanes < 2) continue;
      const LoopId l = stage_.order[static_cast<size_t>(g.position)];
      if (!own(l).vectorize) continue;
      const Var lane = context_.loop_var(s_, l);
      const std::optional<LinearCondition> linear = as_linear_condition(g.cond);
      if (!linear || linear->coef_of(lane) != -1 || !lanes_are_spare(g, lane)) continue;
      VarMap whole;
      whole[lane.get()] = floordiv(lane, make_index(lanes)) * make_index(lanes);
      g.cond = simplify(substitute(g.cond, whole), context_.bounds());
    }
    std::erase_if(guards_, [](const Guard& g) { return is_const(g.cond, 1); });
  }

  Stmt build() {
    Stmt body = level(0);
    return guarded(body, -1, 0);
  }

 private:
  const Loop& own(LoopId l) const { return stage_.loops[static_cast<size_t>(l)]; }

  // Wraps `body` in the guards decided by the loop at `position`, which concern elements, and those
  // about terms when the reduction has begun there.
  Stmt guarded(Stmt body, int position, size_t inner) {
    for (auto g = guards_.rbegin(); g != guards_.rend(); ++g) {
      if (g->position != position || (g->reduce && initializes_ && inner <= first_reduce_)) {
        continue;
      }
      body = make_if(g->cond, body);
    }
    return body;
  }
  // Everything inside the first `position` loops.
  Stmt level(size_t position) {
    Stmt body = inside(position);
    if (initializes_ && position == first_reduce_) {
      // Terms can be decided by loops further out; their guards may not skip the identity.
      for (auto g = guards_.rbegin(); g != guards_.rend(); ++g) {
        if (g->reduce && g->position < static_cast<int>(position)) body = make_if(g->cond, body);
      }
      return make_block({identity_nest(position), body});
    }
    return body;
  }

  Stmt inside(size_t position) {
    if (combines_ && position == write_back_) return write_or_combine(position);
    if (position == stage_.order.size()) return statement();
    return loop_at(position);
  }

  Stmt loop_at(size_t position) {
    const LoopId l = stage_.order[position];
    const Loop& lp = own(l);
    Stmt body = level(position + 1);
    body = with_attached(l, std::move(body));
    body = guarded(std::move(body), static_cast<int>(position), position + 1);
    ForKind kind = lp.parallel    ? ForKind::Parallel
                   : lp.vectorize ? ForKind::Vectorized
                   : lp.unroll    ? ForKind::Unrolled
                                  : ForKind::Serial;
    // A reduction that has no terms still writes its identity once.
    const int64_t extent = combines_ && lp.reduce ? std::max<int64_t>(1, lp.extent) : lp.extent;
    return make_for(context_.loop_var(s_, l), make_index(0), make_index(extent), kind, body,
                    lp.partition);
  }

  bool holds_others(LoopId l) const {
    for (StageId t = 0; t < context_.state().size(); ++t) {
      const Stage& other = context_.stage(t);
      if (other.attach_stage == s_ && other.attach_loop == l) return true;
      if (!other.stored_at_root && other.store_stage == s_ && other.store_loop == l) return true;
    }
    return false;
  }

  // Producers before, consumers that wait for this loop's body after it, and the buffers that live
  // here around both.
  Stmt with_attached(LoopId l, Stmt body) {
    std::vector<Stmt> stmts;
    std::vector<Buffer> buffers;
    std::vector<Stmt> after;
    for (StageId t : context_.state().execution_order()) {
      const Stage& other = context_.stage(t);
      if (!other.stored_at_root && other.store_stage == s_ && other.store_loop == l) {
        buffers.push_back(context_.buffer(t));
      }
      if (other.attach_stage != s_ || other.attach_loop != l) continue;
      if (other.attach == AttachKind::At) stmts.push_back(lower_nest(context_, t));
      if (other.attach == AttachKind::After)
        after.push_back(when_complete(l, lower_nest(context_, t)));
    }
    if (stmts.empty() && after.empty() && buffers.empty()) return prefetched(l, std::move(body));
    stmts.push_back(std::move(body));
    stmts.insert(stmts.end(), after.begin(), after.end());
    Stmt result = make_block(std::move(stmts));
    for (auto b = buffers.rbegin(); b != buffers.rend(); ++b) result = make_allocate(*b, result);
    return prefetched(l, std::move(result));
  }

  Stmt when_complete(LoopId l, Stmt nest) {
    Expr cond;
    for (LoopId outer : stage_.order) {
      const Loop& lp = own(outer);
      if (lp.reduce && lp.extent > 1) {
        Expr last = context_.loop_var(s_, outer) == make_index(lp.extent - 1);
        cond = cond ? cond && last : last;
      }
      if (outer == l) break;
    }
    return cond ? make_if(cond, nest) : nest;
  }

  // A prefetch loop touches, once an iteration, what each read of the body will need `distance`
  // iterations later, at the first iteration of the loops inside.
  Stmt prefetched(LoopId l, Stmt body) {
    const int64_t distance = own(l).prefetch;
    if (distance == 0) return body;
    const Var v = context_.loop_var(s_, l);
    VarMap ahead;
    ahead[v.get()] = v + make_index(distance);
    auto at = std::find(stage_.order.begin(), stage_.order.end(), l);
    for (++at; at != stage_.order.end(); ++at) {
      ahead[context_.loop_var(s_, *at).get()] = make_index(0);
    }
    std::vector<Stmt> stmts;
    visit(value(), [&](const Expr& e) {
      const LoadNode* load = e.as<LoadNode>();
      if (load == nullptr || load->buffer->scope == BufferScope::Register ||
          load->buffer->scope == BufferScope::Stack || !uses_var(e, v)) {
        return true;
      }
      // An index read from data would have to be read, perhaps past the end.
      bool from_data = false;
      for (const Expr& i : load->indices) {
        visit(i, [&](const Expr& x) {
          from_data = from_data || x.kind() == ExprKind::Load;
          return !from_data;
        });
      }
      if (from_data) return true;
      std::vector<Expr> index;
      for (const Expr& i : load->indices) index.push_back(substitute(i, ahead));
      stmts.push_back(make_prefetch(load->buffer, std::move(index), false, 3));
      return true;
    });
    stmts.push_back(std::move(body));
    return make_block(std::move(stmts));
  }

  // The loops of `stage_` from `position` on that concern elements, with `leaf` inside.
  Stmt element_loops(size_t position, Stmt leaf, bool all_guards) {
    for (size_t i = stage_.order.size(); i-- > position;) {
      const LoopId l = stage_.order[i];
      const Loop& lp = own(l);
      if (lp.reduce) continue;
      for (const Guard& g : guards_) {
        if (!g.reduce && g.position == static_cast<int>(i) && (all_guards || g.storage)) {
          leaf = make_if(g.cond, leaf);
        }
      }
      const ForKind kind = lp.vectorize ? ForKind::Vectorized
                           : lp.unroll  ? ForKind::Unrolled
                                        : ForKind::Serial;
      leaf = make_for(context_.loop_var(s_, l), make_index(0), make_index(lp.extent), kind, leaf,
                      lp.partition);
    }
    return leaf;
  }

  Stmt identity_nest(size_t position) {
    const Expr identity = info_.reduce()->combiner.identity(info_.tensor->dtype);
    // An accumulator has room for whole tiles; other buffers end where the elements do.
    const bool all_guards = stage_.role != StageRole::Accumulate;
    return element_loops(position, make_store(context_.buffer(s_), index_, identity, {}),
                         all_guards);
  }

  Stmt write_or_combine(size_t position) {
    Expr first;
    for (LoopId l : stage_.order) {
      if (!own(l).reduce || own(l).extent <= 1) continue;
      Expr zero = context_.loop_var(s_, l) == make_index(0);
      first = first ? first && zero : zero;
    }
    auto nest = [&](bool combine) {
      combine_ = combine;
      return position == stage_.order.size() ? statement() : loop_at(position);
    };
    if (!first) return nest(false);
    Stmt write = nest(false);
    Stmt combine = nest(true);
    return make_if(first, write, combine);
  }

  Expr value() {
    if (stage_.role == StageRole::WriteBack || stage_.role == StageRole::Final) {
      return context_.read_loops(s_, stage_.reads[0]);
    }
    return stage_.layout.empty() ? context_.body_value(s_) : context_.copied_value(s_);
  }

  Stmt statement() {
    Expr v = value();
    const Buffer buffer = context_.buffer(s_);
    if (!stage_.layout.empty()) {
      if (Expr exists = context_.copy_condition(s_)) {
        v = make_select(exists, v, context_.copy_fill(s_));
      }
    } else if (initializes_ || combine_) {
      const Combiner& combiner = info_.reduce()->combiner;
      const Expr so_far = make_load(buffer, index_);
      v = combiner.combine(so_far, v);
    }
    for (const Expr& exists : pad_guards_) {
      v = make_select(exists, v, make_number(Type(info_.tensor->dtype), 0));
    }
    return make_store(buffer, index_, v, {}, stage_.non_temporal);
  }

  LowerContext& context_;
  const StageId s_;
  const Stage& stage_;
  const StageInfo& info_;
  std::vector<Guard> guards_;
  std::vector<Expr> pad_guards_;
  std::vector<Expr> index_;
  size_t first_reduce_ = 0, write_back_ = 0;
  int last_reduce_ = -1;
  bool initializes_ = false, combines_ = false, combine_ = false;
};

}  // namespace

Stmt lower_nest(LowerContext& context, StageId s) { return NestBuilder(context, s).build(); }

}  // namespace espalier
