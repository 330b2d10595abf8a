#include "espalier/cost_model/ansor_features.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "espalier/cost_model/streams.h"
#include "espalier/ir/children.h"
#include "espalier/support/check.h"
#include "espalier/support/parallel.h"

namespace espalier {
namespace {

constexpr size_t kBuffers = 5, kCurve = 10;
constexpr double kLine = 64;

double slog(double x) { return x < 0 ? -std::log2(1 - x) : std::log2(1 + x); }

// The sixteen counts of operations.
enum Count : size_t { Mad, AddSub, Mul, DivMod, Cmp, Math, Other, kKinds };
struct Counts {
  std::array<double, kKinds> floats{}, ints{};
  double bools = 0, selects = 0;
  double float_operations() const {
    double sum = 0;
    for (double n : floats) sum += n;
    return sum;
  }
  void add(const Counts& o) {
    for (size_t k = 0; k < kKinds; ++k) {
      floats[k] += o.floats[k];
      ints[k] += o.ints[k];
    }
    bools += o.bools;
    selects += o.selects;
  }
};

void count_binary(BinaryOp op, DType type, Counts& counts) {
  auto& of = is_float(type) ? counts.floats : counts.ints;
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Sub: of[AddSub] += 1; return;
    case BinaryOp::Mul: of[Mul] += 1; return;
    case BinaryOp::Div:
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod:
    case BinaryOp::TruncDiv:
    case BinaryOp::TruncMod: of[DivMod] += 1; return;
    case BinaryOp::Min:
    case BinaryOp::Max:
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge:
    case BinaryOp::Eq:
    case BinaryOp::Ne: of[Cmp] += 1; return;
    case BinaryOp::Pow: of[Math] += 1; return;
    case BinaryOp::And:
    case BinaryOp::Or: (type == DType::Bool ? counts.bools : counts.ints[Other]) += 1; return;
    case BinaryOp::Xor:
    case BinaryOp::Shl:
    case BinaryOp::Shr: of[Other] += 1; return;
  }
}

void count_expr(const Expr& e, Counts& counts) {
  if (const auto* binary = e.as<BinaryNode>()) {
    count_binary(binary->op, binary->a.type().dtype, counts);
  } else if (const auto* unary = e.as<UnaryNode>()) {
    if (unary->op == UnaryOp::Not) {
      counts.bools += 1;
    } else {
      auto& of = is_float(e.type().dtype) ? counts.floats : counts.ints;
      of[unary->op >= UnaryOp::Sqrt ? Math : AddSub] += 1;
    }
  } else if (e.kind() == ExprKind::Select) {
    counts.selects += 1;
  } else if (const auto* reduce = e.as<ReduceNode>()) {
    if (const auto op = reduce->combiner.binary()) count_binary(*op, e.type().dtype, counts);
  }
  for_each_child(*e, [&](const Expr& child) { count_expr(child, counts); });
}

Counts count_definition(const State& state, int op) {
  const StageInfo& info = state.dag().stage(op);
  Counts counts;
  if (!info.is_compute()) return counts;
  count_expr(info.tensor->body, counts);
  for (const Access& access : info.accesses) {
    if (state.stage(static_cast<StageId>(access.producer)).attach == AttachKind::Inlined) {
      counts.add(count_definition(state, access.producer));
    }
  }
  return counts;
}

Counts count_statement(const State& state, StageId s) {
  const Stage& stage = state.stage(s);
  if (!stage.layout.empty()) return {};
  const ReduceNode* reduce = state.dag().stage(stage.op).reduce();
  Counts counts;
  const bool combines = stage.role == StageRole::Final ||
                        (stage.role == StageRole::WriteBack && stage.has_own_reduce());
  if (stage.role == StageRole::WriteBack || stage.role == StageRole::Final) {
    if (const auto op = combines ? reduce->combiner.binary() : std::nullopt) {
      count_binary(*op, state.dag().stage(stage.op).tensor->dtype, counts);
    }
    return counts;
  }
  return count_definition(state, stage.op);
}

class RowMaker {
 public:
  RowMaker(const State& state, const std::vector<StageNest>& nests, const StageNest& nest)
      : state_(state), nests_(nests), nest_(nest), counts_(count_statement(state, nest.stage)) {
    for (const PathLoop& l : nest.path) product_ *= std::max(0.0, l.extent.number());
  }

  AnsorRow make() {
    computation();
    buffers();
    curve();
    allocation();
    push_log(product_);
    push_log(static_cast<double>(nest_.path.size()));
    push(0);  // there is no automatic unrolling here
    ESP_CHECK(at_ == kAnsorColumns, at_, " columns");
    return row_;
  }

 private:
  void push(double v) { row_[at_++] = static_cast<float>(v); }
  void push_log(double v) { push(slog(v)); }
  const Loop& loop(size_t p) const {
    const PathLoop& l = nest_.path[p];
    return state_.stage(l.stage).loops[static_cast<size_t>(l.loop)];
  }

  void computation() {
    for (const auto* of : {&counts_.floats, &counts_.ints}) {
      for (double n : *of) push_log(n * product_);
    }
    push_log(counts_.bools * product_);
    push_log(counts_.selects * product_);
    annotation([](const Loop& l) { return l.vectorize; });
    annotation([](const Loop& l) { return l.unroll; });
    annotation([](const Loop& l) { return l.parallel; });
    for (int i = 0; i < 8; ++i) push(0);  // of GPUs
  }

  template <class F>
  void annotation(F&& has) {
    double number = 0, product = 1, innermost = 0;
    for (size_t p = 0; p < nest_.path.size(); ++p) {
      if (!has(loop(p))) continue;
      number += 1;
      product *= nest_.path[p].extent.number();
      innermost = nest_.path[p].extent.number();
    }
    push_log(number);
    push_log(number > 0 ? product : 0);
    push_log(innermost);
    for (int position = 0; position < 8; ++position) {
      push(position == (number > 0 ? 7 : 0) ? 1 : 0);  // "none" or "mixed": no more is known
    }
  }

  // Bytes of all buffers that one run of the loops from `p` on touches.
  double bytes_inside(size_t p) const {
    double bytes = 0;
    for (const Stream& s : nest_.streams) bytes += s.elements[p].number() * s.element_bytes;
    return bytes;
  }

  // Whether an earlier statement inside path loop `p` touches the buffer too.
  bool touched_before(StageId buffer, size_t p) const {
    for (const StageNest& other : nests_) {
      if (&other == &nest_) return false;
      if (other.path.size() <= p || !(other.path[p] == nest_.path[p])) continue;
      for (const Stream& s : other.streams) {
        if (s.buffer == buffer) return true;
      }
    }
    return false;
  }

  struct Reuse {
    enum Kind { LoopMultipleRead, SerialMultipleReadWrite, NoReuse } kind = NoReuse;
    double iterations = 0, bytes = 0, count = 0;
  };
  Reuse reuse_of(const Stream& s) const {
    Reuse reuse;
    double iterations = 1;
    double bytes = bytes_inside(nest_.path.size());
    for (size_t p = nest_.path.size(); p-- > 0;) {
      const double extent = nest_.path[p].extent.number();
      if (!s.depends[p]) {
        if (extent <= 1) continue;
        return {Reuse::LoopMultipleRead, iterations, bytes, extent};
      }
      iterations *= extent;
      bytes = bytes_inside(p);
      if (touched_before(s.buffer, p)) {
        return {Reuse::SerialMultipleReadWrite, iterations / std::max(1.0, extent),
                bytes / std::max(1.0, extent), 1};
      }
    }
    return reuse;
  }

  void buffers() {
    struct Columns {
      double bytes = 0, unique_bytes = 0, lines = 0, unique_lines = 0, stride = 0;
      Reuse reuse;
      bool read = false, written = false;
      size_t number = 0;  // of the stream
    };
    std::vector<Columns> all;
    for (const Stream& s : nest_.streams) {
      Columns c;
      c.number = all.size();
      c.read = s.read;
      c.written = s.written;
      c.bytes = product_ * s.element_bytes;
      c.unique_bytes = s.elements[0].number() * s.element_bytes;
      c.unique_lines = std::max(1.0, s.lines[0].number());
      double skipped = 1;
      for (size_t p = nest_.path.size(); p-- > 0;) {
        const double extent = std::max(1.0, nest_.path[p].extent.number());
        if (!s.depends[p] || extent <= 1) {
          skipped *= extent;
          continue;
        }
        const double stride = s.strides[p].number();
        c.lines =
            std::max(1.0, product_ / skipped * std::min(1.0, stride * s.element_bytes / kLine));
        c.stride = skipped == 1 ? stride : 0;
        break;
      }
      c.lines = std::max(1.0, c.lines);
      c.reuse = reuse_of(s);
      all.push_back(c);
    }
    std::sort(all.begin(), all.end(), [](const Columns& a, const Columns& b) {
      if (a.lines != b.lines) return a.lines > b.lines;
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.number < b.number;
    });
    all.resize(kBuffers);
    for (const Columns& c : all) {
      const bool used = c.read || c.written;
      push(c.read && !c.written ? 1 : 0);
      push(c.written && !c.read ? 1 : 0);
      push(c.read && c.written ? 1 : 0);
      const double sizes[] = {c.bytes, c.unique_bytes, c.lines, c.unique_lines};
      for (double v : sizes) push_log(v);
      for (int kind = 0; kind < 3; ++kind) push(used && c.reuse.kind == kind ? 1 : 0);
      push_log(c.reuse.iterations);
      push_log(c.reuse.bytes);
      push_log(c.reuse.count);
      for (double v : sizes) push_log(c.reuse.count > 0.5 ? v / c.reuse.count : v * 2);
      push_log(c.stride);
    }
  }

  // Operations a byte against operations, at ten points of the latter's logarithm.
  void curve() {
    std::vector<std::pair<double, double>> points;
    double operations = counts_.float_operations();
    for (size_t p = nest_.path.size() + 1; p-- > 0;) {
      if (p < nest_.path.size()) operations *= std::max(0.0, nest_.path[p].extent.number());
      points.emplace_back(std::log2(std::max(1.0, operations)),
                          slog(operations / std::max(1.0, bytes_inside(p))));
    }
    for (size_t i = 1; i <= kCurve; ++i) {
      const double x = points.back().first * static_cast<double>(i) / kCurve;
      size_t k = 0;
      while (k + 1 < points.size() && points[k].first < x) ++k;
      if (k == 0) {
        push(points[0].second);
        continue;
      }
      const auto [x0, y0] = points[k - 1];
      const auto [x1, y1] = points[k];
      push(x1 > x0 ? y0 + (y1 - y0) * (x - x0) / (x1 - x0) : y1);
    }
  }

  void allocation() {
    const Stage& stage = state_.stage(nest_.stage);
    if (state_.dag().stage(stage.op).is_output && stage.stored_at_root && stage.layout.empty()) {
      for (int i = 0; i < 4; ++i) push(0);
      return;
    }
    double elements = 1, outer = 1;
    for (int64_t e : stage.storage_extent) elements *= static_cast<double>(e);
    for (size_t p = 0; p < nest_.own_from; ++p) outer *= nest_.path[p].extent.number();
    push_log(elements * bytes_of(buffer_type(state_, nest_.stage)));
    push_log(elements * outer);
    push_log(outer);
    push_log(outer > 0 ? product_ / outer : 0);
  }

  const State& state_;
  const std::vector<StageNest>& nests_;
  const StageNest& nest_;
  const Counts counts_;
  double product_ = 1;
  AnsorRow row_{};
  size_t at_ = 0;
};

std::vector<AnsorColumn> make_columns() {
  std::vector<AnsorColumn> columns;
  auto add = [&](std::string name, bool dead = false) {
    columns.push_back({std::move(name), dead});
  };
  for (const char* type : {"float_", "int_"}) {
    for (const char* kind : {"mad", "addsub", "mul", "divmod", "cmp", "math_func", "other_func"}) {
      add(std::string(type) + kind, std::string_view(kind) == "mad");
    }
  }
  add("bool_op");
  add("select_op");
  for (const std::string what : {"vec_", "unroll_", "parallel_"}) {
    add(what + "num");
    add(what + "prod");
    add(what + "len");
    for (const char* position : {"none", "inner_spatial", "middle_spatial", "outer_spatial",
                                 "inner_reduce", "middle_reduce", "outer_reduce", "mixed"}) {
      const std::string_view p = position;
      add(what + "type_" + position, p != "none" && p != "mixed");
    }
  }
  for (const char* gpu :
       {"is_gpu", "block_x", "block_y", "block_z", "thread_x", "thread_y", "thread_z", "vthread"}) {
    add(gpu, true);
  }
  for (size_t b = 0; b < kBuffers; ++b) {
    const std::string of = "b" + std::to_string(b) + "_";
    for (const char* name :
         {"read", "write", "read_write", "bytes", "unique_bytes", "lines", "unique_lines",
          "reuse_loop", "reuse_serial", "reuse_none", "reuse_dis_iter", "reuse_dis_bytes",
          "reuse_ct", "bytes_by_reuse", "unique_bytes_by_reuse", "lines_by_reuse",
          "unique_lines_by_reuse", "stride"}) {
      add(of + name);
    }
  }
  for (size_t i = 0; i < kCurve; ++i) add("intensity_" + std::to_string(i));
  for (const char* name : {"alloc_size", "alloc_prod", "alloc_outer_prod", "alloc_inner_prod"}) {
    add(name);
  }
  add("outer_prod");
  add("num_loops");
  add("auto_unroll_max_step", true);
  ESP_CHECK(columns.size() == kAnsorColumns, columns.size(), " columns");
  return columns;
}

class AnsorFeatures final : public FeatureSource {
 public:
  AnsorFeatures() {
    for (const char* which : {"hot_", "rest_"}) {
      for (const AnsorColumn& c : ansor_columns()) names_.push_back(which + c.name);
    }
  }
  std::span<const std::string> names() const override { return names_; }

  void extract(const Task& task, std::span<const Candidate> candidates, int threads,
               std::span<float> values, std::span<float> margins) const override {
    parallel_for(threads, candidates.size(), [&](size_t i) {
      const std::span<float> row = values.subspan(i * names_.size(), names_.size());
      std::fill(row.begin(), row.end(), std::numeric_limits<float>::quiet_NaN());
      margins[i] = std::numeric_limits<float>::quiet_NaN();
      const Candidate& c = candidates[i];
      if (c.sketch == nullptr || c.decisions.size() != c.sketch->slots.size()) return;
      const Replayed replayed = replay(task, c);
      if (!replayed.ok()) return;
      fill(replayed.state(), row);
      margins[i] = 0;
    });
  }

 private:
  static void fill(const State& state, std::span<float> row) {
    std::fill(row.begin(), row.end(), 0.0F);
    const std::vector<AnsorRow> rows = ansor_rows(state);
    if (rows.empty()) return;
    auto operations = [](const AnsorRow& r) {
      return std::accumulate(r.begin(), r.begin() + kKinds, 0.0F);
    };
    const auto hot = std::max_element(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
      return operations(a) < operations(b);
    });
    std::copy(hot->begin(), hot->end(), row.begin());
    for (auto r = rows.begin(); r != rows.end(); ++r) {
      for (size_t k = 0; r != hot && k < kAnsorColumns; ++k) row[kAnsorColumns + k] += (*r)[k];
    }
  }

  std::vector<std::string> names_;
};

}  // namespace

const std::vector<AnsorColumn>& ansor_columns() {
  static const std::vector<AnsorColumn> kColumns = make_columns();
  return kColumns;
}

std::vector<AnsorRow> ansor_rows(const State& state) {
  const std::vector<StageNest> nests = find_streams(state, shape_of(state));
  std::vector<AnsorRow> rows;
  for (const StageNest& nest : nests) rows.push_back(RowMaker(state, nests, nest).make());
  return rows;
}

std::unique_ptr<FeatureSource> make_ansor_features() { return std::make_unique<AnsorFeatures>(); }

}  // namespace espalier
