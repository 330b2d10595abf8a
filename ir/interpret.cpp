#include <algorithm>
#include <cstring>

#include "espalier/ir/evaluate.h"
#include "espalier/ir/internal/stmt_program.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

class Interpreter {
 public:
  explicit Interpreter(StmtProgram program) : p_(std::move(program)) {}

  Result<void> run(const std::vector<void*>& params) {
    for (size_t i = 0; i < params.size(); ++i) {
      p_.memories[i].first = static_cast<std::byte*>(params[i]);
    }
    if (p_.root >= 0 && !exec(p_.root)) return std::move(*error_);
    return {};
  }

 private:
  using Code = StmtOp::Code;
  const StmtOp& op(int i) const { return p_.ops[static_cast<size_t>(i)]; }
  ScalarBits* at(int place) { return p_.frame.data() + place; }
  ScalarBits* values(int i) { return at(op(i).out); }

  // Computes an operation and what it needs, as one evaluation: nothing that it reads changes
  // meanwhile.
  void evaluate(int i) {
    ++evaluation_;
    compute(i);
  }

  void compute(int i) {
    StmtOp& o = p_.ops[static_cast<size_t>(i)];
    if (o.code == Code::Done) return;
    if (o.shared) {
      if (o.done_at == evaluation_) return;
      o.done_at = evaluation_;
    }
    switch (o.code) {
      case Code::Done: return;
      case Code::Unary:
        compute(o.a);
        o.unary(values(o.a), at(o.out), o.lanes);
        return;
      case Code::Binary:
        compute(o.a);
        compute(o.b);
        o.binary(values(o.a), values(o.b), at(o.out), o.lanes);
        return;
      case Code::Fma:
        compute(o.a);
        compute(o.b);
        compute(o.c);
        o.fma(values(o.a), values(o.b), values(o.c), at(o.out), o.lanes);
        return;
      case Code::Reinterpret:
        compute(o.a);
        for (int l = 0; l < o.lanes; ++l) {
          at(o.out)[l] = apply_reinterpret(o.from, o.dtype, values(o.a)[l]);
        }
        return;
      case Code::Select: select(o); return;
      case Code::Load: load(o); return;
      case Code::Ramp: {
        compute(o.a);
        const ScalarBits base = values(o.a)[0];
        for (int64_t l = 0; l < o.lanes; ++l) {
          const ScalarBits offset = bits_from_int(
              o.dtype,
              static_cast<int64_t>(static_cast<uint64_t>(o.stride) * static_cast<uint64_t>(l)));
          o.binary(&base, &offset, at(o.out) + l, 1);
        }
        return;
      }
      case Code::Broadcast:
        compute(o.a);
        std::fill_n(at(o.out), o.lanes, values(o.a)[0]);
        return;
      case Code::LaneReduce: {
        compute(o.a);
        scratch_.assign(values(o.a), values(o.a) + op(o.a).lanes);
        for (size_t n = scratch_.size(); n > 1; n = (n + 1) / 2) {
          for (size_t l = 0, half = (n + 1) / 2; l + half < n; ++l) {
            o.binary(&scratch_[l], &scratch_[l + half], &scratch_[l], 1);
          }
        }
        at(o.out)[0] = scratch_[0];
        return;
      }
    }
  }

  // A scalar condition chooses the side that is computed; a vector one picks from both.
  void select(const StmtOp& o) {
    compute(o.a);
    if (op(o.a).lanes == 1) {
      const int side = values(o.a)[0] != 0 ? o.b : o.c;
      compute(side);
      std::copy_n(values(side), o.lanes, at(o.out));
      return;
    }
    compute(o.b);
    compute(o.c);
    for (int l = 0; l < o.lanes; ++l) {
      at(o.out)[l] = (values(o.a)[l] != 0 ? values(o.b) : values(o.c))[l];
    }
  }

  void compute_indices(const StmtAccess& a) {
    for (int i : a.indices) compute(i);
  }

  // The offset of the element that lane `l` refers to; sets the error if there is none.
  int64_t locate(const StmtAccess& a, const StmtMemory& m, int l, const char* what) {
    const BufferNode& b = *m.buffer;
    const auto index = [&](size_t d) {
      const StmtOp& i = op(a.indices[d]);
      return static_cast<int64_t>(at(i.out)[i.lanes == 1 ? 0 : l]);
    };
    if (a.flat) {
      const int64_t offset = index(0);
      if (offset < m.lowest || offset > m.highest) {
        fail(detail::concat(what, " of element ", offset, " of '", b.name, "', which has ",
                            m.lowest, " to ", m.highest));
        return m.lowest;
      }
      return offset;
    }
    int64_t offset = 0;
    for (size_t d = 0; d < b.shape.size(); ++d) {
      const int64_t i = index(d);
      if (i < 0 || i >= b.shape[d]) {
        fail(detail::concat(what, " at index ", i, " in dimension ", d, " of '", b.name,
                            "', whose extent is ", b.shape[d]));
        return m.lowest;
      }
      offset += i * b.strides[d];
    }
    return offset;
  }

  static bool is_active(const ScalarBits* predicate, int lanes, int l) {
    return predicate == nullptr || predicate[lanes == 1 ? 0 : l] != 0;
  }

  void load(const StmtOp& o) {
    const StmtAccess& a = p_.accesses[static_cast<size_t>(o.access)];
    const StmtMemory& m = p_.memories[static_cast<size_t>(a.memory)];
    if (o.a >= 0) compute(o.a);
    const ScalarBits* predicate = o.a >= 0 ? values(o.a) : nullptr;
    const int predicates = o.a >= 0 ? op(o.a).lanes : 1;
    compute_indices(a);
    const int size = bytes_of(o.dtype);
    for (int l = 0; l < o.lanes; ++l) {
      ScalarBits& out = at(o.out)[l];
      out = 0;
      if (error_ || !is_active(predicate, predicates, l)) continue;
      const int64_t offset = locate(a, m, l, "read");
      if (error_) continue;
      if (m.written && m.written[static_cast<size_t>(offset - m.lowest)] == 0) {
        fail(detail::concat("read of element ", offset, " of '", m.buffer->name,
                            "', which was never written"));
        continue;
      }
      out = load_scalar(o.dtype, m.first + offset * size);
    }
  }

  bool store(const StmtInstr& s) {
    const StmtAccess& a = p_.accesses[static_cast<size_t>(s.access)];
    StmtMemory& m = p_.memories[static_cast<size_t>(a.memory)];
    ++evaluation_;
    if (s.predicate >= 0) compute(s.predicate);
    compute_indices(a);
    compute(s.a);
    if (error_) return failed_in(s);
    const ScalarBits* predicate = s.predicate >= 0 ? values(s.predicate) : nullptr;
    const int predicates = s.predicate >= 0 ? op(s.predicate).lanes : 1;
    const DType t = m.buffer->dtype;
    const int size = bytes_of(t);
    for (int l = 0; l < s.lanes; ++l) {
      if (!is_active(predicate, predicates, l)) continue;
      const int64_t offset = locate(a, m, l, "write");
      if (error_) return failed_in(s);
      if (m.written) m.written[static_cast<size_t>(offset - m.lowest)] = 1;
      store_scalar(t, m.first + offset * size, values(s.a)[l]);
    }
    return true;
  }

  // False once there is an error.
  bool exec(int i) {
    const StmtInstr& s = p_.instrs[static_cast<size_t>(i)];
    switch (s.kind) {
      case StmtKind::For: return loop(s);
      case StmtKind::Store: return store(s);
      case StmtKind::If: {
        evaluate(s.a);
        if (error_) return failed_in(s);
        const int side = values(s.a)[0] != 0 ? s.then_case : s.else_case;
        return side < 0 || exec(side);
      }
      case StmtKind::Let: {
        evaluate(s.a);
        if (error_) return failed_in(s);
        std::copy_n(values(s.a), s.lanes, at(s.var));
        return s.then_case < 0 || exec(s.then_case);
      }
      case StmtKind::Block:
        for (int c : s.stmts) {
          if (!exec(c)) return false;
        }
        return true;
      case StmtKind::Allocate: {
        allocate(p_.memories[static_cast<size_t>(s.memory)]);
        return s.then_case < 0 || exec(s.then_case);
      }
      case StmtKind::Prefetch: return true;
    }
    ESP_UNREACHABLE("statement kind");
  }

  bool loop(const StmtInstr& s) {
    evaluate(s.a);
    const int64_t min = static_cast<int64_t>(values(s.a)[0]);
    evaluate(s.b);
    const int64_t extent = static_cast<int64_t>(values(s.b)[0]);
    if (error_) return failed_in(s);
    if (s.then_case < 0) return true;
    loops_.push_back(&s);
    for (int64_t n = 0; n < extent; ++n) {
      *at(s.var) = static_cast<uint64_t>(min) + static_cast<uint64_t>(n);
      if (!exec(s.then_case)) return false;
    }
    loops_.pop_back();
    return true;
  }

  static void allocate(StmtMemory& m) {
    const size_t elements = static_cast<size_t>(m.highest - m.lowest + 1);
    const size_t bytes = elements * static_cast<size_t>(bytes_of(m.buffer->dtype));
    if (!m.owned) {
      m.owned.reset(new std::byte[bytes]);
      m.written.reset(new uint8_t[elements]);
      m.first = m.owned.get() - m.lowest * bytes_of(m.buffer->dtype);
    }
    std::fill_n(m.written.get(), elements, uint8_t{0});
  }

  void fail(std::string message) {
    if (!error_) error_ = Error{ErrorCode::OutOfRange, std::move(message), {}};
  }

  // Says where: the statement's first line and the loops around it.
  bool failed_in(const StmtInstr& s) {
    std::string text = to_string(s.source);
    text.resize(std::min(text.find('\n'), text.size()));
    std::string where;
    for (const StmtInstr* l : loops_) {
      where += (where.empty() ? " with " : ", ") + l->source.as<ForNode>()->var.name() + " = " +
               std::to_string(static_cast<int64_t>(*at(l->var)));
    }
    error_->notes.push_back("in '" + text + "'" + where);
    return false;
  }

  StmtProgram p_;
  uint64_t evaluation_ = 0;
  std::vector<ScalarBits> scratch_;
  std::vector<const StmtInstr*> loops_;
  std::optional<Error> error_;
};

}  // namespace

Result<void> interpret(const LoweredFunc& func, const std::vector<void*>& params) {
  if (params.size() != func.params.size()) {
    return make_error(ErrorCode::InvalidArgument, "'", func.name, "' has ", func.params.size(),
                      " parameters, ", params.size(), " were given");
  }
  ESP_TRY(StmtProgram program, compile_stmt(func));
  return Interpreter(std::move(program)).run(params);
}

}  // namespace espalier
