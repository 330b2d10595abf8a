#include "espalier/cost_model/stage_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "espalier/ir/mutate.h"

namespace espalier {
namespace {

// Typical of x86-64 and AArch64 cores of the last ten years; what differs much between machines is
// in the DeviceModel.
constexpr double kIssueWidth = 5;       // instructions a cycle
constexpr double kWindow = 200;         // instructions in flight
constexpr double kFunctionCost = 18;    // plain operations of exp, log, ...
constexpr double kDivisionCycles = 5;   // of 256 bits
constexpr double kIntegerDivision = 8;  // cycles a lane
constexpr double kLoopEntry = 8;        // cycles: the exit is mispredicted, pipelines fill
constexpr double kBranch = 0.5;         // cycles of a sum at a condition
constexpr double kStreams = 16;         // rows that are fetched ahead side by side
constexpr double kSpill = 8;            // cycles from the store of a register to its reload
constexpr double kLoopStep = 2;         // cycles of an iteration of an outer loop
constexpr double kPageLines = 64;       // of 4 KiB
constexpr double kWays = 8;             // of L1 and L2
// A loop whose data take less than the first share of a cache finds them there again; with the
// second share it does not.
constexpr double kFits = 0.7, kMisses = 1.4;
// A line that is written comes and goes, and stores wait for it in order.
constexpr double kWrite = 3;
// Of the shorter of two times that can overlap, the share that does not.
constexpr double kSerial = 0.25;

Quantity abs_difference(const Quantity& a, const Quantity& b) { return max(a - b, b - a); }
Quantity clamp01(const Quantity& x) { return min(1, max(0, x)); }

class Coster {
 public:
  Coster(const State& state, const Shape& shape, const DeviceModel& device)
      : state_(state),
        shape_(shape),
        device_(device),
        target_(state.task().target),
        nests_(find_streams(state, shape)) {
    const double hz = device.frequency_hz;
    const double bandwidth[] = {device.l2_bandwidth, device.l3_bandwidth, device.dram_bandwidth};
    const int64_t bytes[] = {target_.l1_bytes, target_.l2_bytes, target_.l3_bytes};
    double all = 0;  // lines that a call touches; the next call finds them where they fit
    for (StageId s = 0; s < state.size(); ++s) {
      const Stage& stage = state.stage(s);
      if (!stage.stored_at_root || stage.attach == AttachKind::Inlined) continue;
      const int op = stage.layout.empty() ? stage.op : stage.reads[0].producer;
      const TensorNode& tensor = *state.dag().stage(op).tensor.get();
      double bytes_of_all = bytes_of(tensor.dtype);
      for (int64_t extent : tensor.shape) bytes_of_all *= static_cast<double>(extent);
      all += bytes_of_all / target_.line_bytes;
    }
    for (size_t level = 0; level < kCacheLevels; ++level) {
      Cache& cache = caches_[level];
      cache.lines = static_cast<double>(bytes[level]) / target_.line_bytes;
      cache.sets = std::max(1.0, cache.lines / kWays);
      cache.cycles_per_line = target_.line_bytes * hz / bandwidth[level];
      cache.used = bytes[level] > 0 && all > kFits * cache.lines;
      cache.stays =
          clamp01((kMisses * cache.lines - all) / ((kMisses - kFits) * cache.lines)).number();
    }
  }

  ScheduleCost run() {
    ScheduleCost cost;
    for (const StageNest& nest : nests_) {
      cost.stages.push_back(stage(nest));
      cost.cycles += cost.stages.back().time;
    }
    const double cores = std::max(1, std::min(state_.task().threads, target_.cores));
    cost.ideal_cycles =
        std::max(1.0, state_.dag().flops() / device_.peak_flops * device_.frequency_hz / cores);
    cost.code = code_;
    return cost;
  }

 private:
  struct Cache {
    double lines = 0, sets = 1, cycles_per_line = 0;
    double stays = 0;  // share of its data that is there at the next call
    bool used = true;  // whether anything crosses the boundary
  };
  struct OwnLoop {
    Quantity extent, effective, units;
    bool reduce = false, vector = false;
    // 1 or 0: part of the body; the innermost serial loop; outside of that.
    Quantity straight = 0, inner = 0, outside = 0;
    Quantity in_body() const { return 1 + straight * (extent - 1); }
  };

  bool attached_at(StageId s, LoopId l) const {
    for (StageId t = 0; t < state_.size(); ++t) {
      const Stage& st = state_.stage(t);
      const bool attached = st.attach == AttachKind::At || st.attach == AttachKind::After;
      if (attached && st.attach_stage == s && st.attach_loop == l) return true;
    }
    return false;
  }

  // Whether a loop is straight code, or the innermost one that is not, may depend on numbers: one
  // iteration needs no loop.
  std::vector<OwnLoop> own_loops(StageId s) const {
    const Stage& stage = state_.stage(s);
    const StageShape& shape = shape_[static_cast<size_t>(s)];
    std::vector<OwnLoop> loops(stage.order.size());
    Quantity found = 0;  // 1: the innermost serial loop lies further inside
    for (size_t i = loops.size(); i-- > 0;) {
      const size_t l = static_cast<size_t>(stage.order[i]);
      const Loop& loop = stage.loops[l];
      OwnLoop& own = loops[i];
      own.extent = max(1, shape.extent[l]);
      own.effective = shape.effective[l];
      own.units = shape.units[l];
      own.reduce = loop.reduce;
      own.vector = loop.vectorize;
      own.outside = found;
      if (loop.vectorize) {
        own.straight = 1;
        own.outside = 0;
        continue;
      }
      Quantity serial = (1 - shape.unrolled[l]) * if_le(own.extent, 1, 0, 1);
      if (attached_at(s, stage.order[i])) serial = 1;
      own.inner = serial * (1 - found);
      found = max(found, serial);
      own.straight = 1 - found;
    }
    return loops;
  }

  StageCost stage(const StageNest& nest) {
    StageCost c;
    c.stage = nest.stage;
    const std::vector<OwnLoop> loops = own_loops(nest.stage);
    body(nest, loops, c);
    nest_cycles(nest, loops, c);
    traffic(nest, loops, c);
    whole(nest, c);
    return c;
  }

  // How many of the vectors that lie in rows of odd lengths straddle two lines.
  Quantity split_lines(const StageAccess& a) const {
    const std::vector<Quantity>& extents = shape_[static_cast<size_t>(a.buffer)].storage_extent;
    if (extents.size() < 2) return 0;
    const double vector_bytes = target_.vector_bits / 8.0;
    const Quantity row = max(1, extents.back()) * static_cast<double>(a.element_bytes);
    return if_le(remainder(row, vector_bytes), 0, 0, vector_bytes / target_.line_bytes);
  }

  static void split_condition(const Expr& e, std::vector<Expr>& parts) {
    const auto* both = e.as<BinaryNode>();
    if (both != nullptr && both->op == BinaryOp::And) {
      split_condition(both->a, parts);
      split_condition(both->b, parts);
    } else {
      parts.push_back(e);
    }
  }

  // Copies of the body's terms that a condition tells apart while it runs. Conditions are settled
  // beforehand where the axis that decides beside the terms' own stands still or lies in the body,
  // and in the interior of a partitioned loop.
  Quantity choices(const StageNest& nest, const std::vector<OwnLoop>& loops) const {
    const Stage& stage = state_.stage(nest.stage);
    const StageInfo& info = state_.dag().stage(stage.op);
    const ReduceNode* reduce = info.reduce();
    Quantity result = 1;
    if (reduce == nullptr || !reduce->where) return result;
    std::vector<Expr> parts;
    split_condition(reduce->where, parts);
    std::vector<bool> seen(loops.size(), false);
    for (const Expr& part : parts) {
      Quantity outer = 1;
      bool partitioned = false;
      for (size_t x = 0; x < info.axes.size(); ++x) {
        if (!uses_var(part, info.axes[x].var)) continue;
        for (size_t p = 0; p < nest.path.size(); ++p) {
          const Stage& of = state_.stage(nest.path[p].stage);
          if (!comes_from(of, nest.path[p].loop, static_cast<LoopId>(x))) continue;
          partitioned = partitioned || of.loops[static_cast<size_t>(nest.path[p].loop)].partition;
          const Quantity& extent = nest.path[p].extent;
          outer *= p < nest.own_from ? extent : extent / loops[p - nest.own_from].in_body();
        }
      }
      if (partitioned) continue;
      for (size_t a = 0; a < info.reduce_axes.size(); ++a) {
        if (!uses_var(part, info.reduce_axes[a].var)) continue;
        const LoopId axis = static_cast<LoopId>(info.axes.size() + a);
        for (size_t i = 0; i < loops.size(); ++i) {
          if (seen[i] || !comes_from(stage, stage.order[i], axis)) continue;
          seen[i] = true;
          result *= if_le(outer, 1, 1, loops[i].in_body());
        }
      }
    }
    return result;
  }
  static bool comes_from(const Stage& stage, LoopId l, LoopId axis) {
    if (l == axis) return true;
    const int16_t origin = stage.loops[static_cast<size_t>(l)].origin;
    if (origin < 0) return false;
    const Relation& r = stage.relations[static_cast<size_t>(origin)];
    if (!r.is_fuse) return comes_from(stage, r.whole, axis);
    return std::any_of(r.parts.begin(), r.parts.end(),
                       [&](LoopId part) { return comes_from(stage, part, axis); });
  }

  void body(const StageNest& nest, const std::vector<OwnLoop>& loops, StageCost& c) {
    const Stage& stage = state_.stage(nest.stage);
    const DType dtype = buffer_type(state_, nest.stage);
    const double lanes = std::max(1, target_.lanes(bytes_of(dtype)));
    const OwnLoop* vector = nullptr;
    Quantity has_inner = 0, inner_reduces = 0;
    c.inner_trip = 0;
    for (const OwnLoop& l : loops) {
      if (l.vector) {
        vector = &l;
        continue;
      }
      (l.reduce ? c.terms : c.rows) *= l.in_body();
      has_inner += l.inner;
      c.inner_trip += l.inner * max(1, l.effective);
      if (l.reduce) inner_reduces += l.inner;
    }
    c.inner_trip += 1 - has_inner;
    c.lanes_used = 1 / lanes;
    const Quantity width = vector ? vector->extent : Quantity(1);
    if (vector) {
      c.vectors = ceil_div(width, lanes);
      c.lanes_used = width / (c.vectors * lanes);
    }
    c.results = c.vectors * c.rows;
    const Quantity points = c.results * c.terms;

    // What is read.
    const bool reduces = accumulates(state_, nest.stage) && stage.role != StageRole::WriteBack;
    Quantity operands = 0, hoisted = 0;
    bool first = true;
    const size_t own = nest.own_from;
    Quantity store_stride = 0;
    for (const StageAccess& a : nest.accesses) {
      if (a.read < 0) {
        for (size_t i = 0; i < loops.size(); ++i) {
          if (loops[i].vector) store_stride = a.strides[own + i];
        }
        continue;
      }
      Quantity count = 1;
      bool along_lanes = false;
      Quantity apart = 0, columns = 0;
      Quantity moves = 1 - has_inner;  // 1 if each run of the body needs it anew
      for (size_t i = 0; i < loops.size(); ++i) {
        if (!a.depends[own + i]) continue;
        const Quantity& stride = a.strides[own + i];
        if (loops[i].vector) {
          along_lanes = true;
          apart = if_le(1, a.gathers, 2, stride);
          continue;
        }
        count *= loops[i].in_body();
        moves += loops[i].inner;
        columns = max(columns, if_le(abs_difference(stride, 1), 0, loops[i].in_body(), 0));
      }
      if (a.in_registers) continue;
      Quantity single = 0;  // lanes that are loaded one by one
      Quantity loads = count;
      if (along_lanes) {
        // Straight code that reads columns reads rows, and transposes them in registers.
        const Quantity tiles = (1 - a.gathers) * floor(columns / lanes) * lanes / max(1, columns);
        const Quantity gathers = tiles * c.vectors + (1 - tiles) * width;
        const Quantity shuffles = tiles * c.vectors * std::log2(lanes) + (1 - tiles) * width;
        loads = count * if_le(apart, 0.5, 1, if_le(apart, 1, c.vectors, gathers));
        single = count * if_le(apart, 1, 0, shuffles);
      }
      const Quantity share = if_le(1, moves, 1, 1 / c.inner_trip);
      c.loaded += loads * share;
      if (along_lanes) c.loaded += loads * share * split_lines(a) * if_le(apart, 1, 1, 0);
      c.gathered += single * share;
      hoisted += loads * (1 - moves);
      operands = first ? loads / c.terms * moves : min(operands, loads / c.terms * moves);
      first = false;
    }

    // What is written.
    // 1 if sums stay in registers while the innermost serial loop runs.
    const Quantity kept = !reduces          ? Quantity(0)
                          : stage.registers ? Quantity(1)
                                            : 1 - has_inner + inner_reduces;
    const Quantity scattered =
        vector ? if_le(store_stride, 1, c.vectors, width) * c.rows : c.results;
    if (!reduces) {
      c.stored = scattered;
      c.gathered += scattered - c.results;
      if (stage.role == StageRole::WriteBack && stage.has_own_reduce()) c.loaded += scattered;
      if (stage.registers) c.stored = 0;
    } else if (!stage.registers) {
      const Quantity share = if_le(1, kept, 1 / c.inner_trip, 1);
      c.stored = scattered * share;
      c.loaded += scattered * share;
    }
    c.registers = operands + 1 + hoisted + kept * c.results;
    c.spilled = max(0, c.registers - target_.vector_registers);
    c.spilled = if_le(1, kept, c.spilled, min(c.spilled, hoisted));
    c.loaded += c.spilled * c.terms;
    c.stored += kept * c.spilled * c.terms;

    // Cycles.
    const OperationCount ops = count_operations(state_, nest.stage);
    const double vector_ops = ops.plain + ops.functions * kFunctionCost;
    const double division = ops.divisions * kDivisionCycles *
                            std::max(1.0, target_.vector_bits / 256.0) *
                            (bytes_of(dtype) > 4 ? 1.5 : 1);
    const double fp = vector_ops / device_.fma_ports + (vector ? division : ops.divisions * 4);
    c.compute = points * fp;
    if (ops.integer_divisions > 0) {
      c.compute += c.rows * c.terms * width * (ops.integer_divisions * kIntegerDivision);
    }
    c.loads = c.loaded / device_.load_ports;
    c.stores = c.stored / device_.store_ports;
    const Quantity instructions =
        points * (vector_ops + ops.divisions) + c.loaded + c.stored + c.gathered;
    c.issue = (instructions + has_inner * 3) / kIssueWidth;
    code_ += instructions;
    if (reduces) {
      const double latency = device_.fma_latency * (ops.plain > 2 ? 1.5 : 1);
      c.chain = c.terms * latency;
      // Results that follow hide the chain, as far as they are in flight beside it: a sum that is
      // done after few instructions, or sums side by side.
      Quantity sum = instructions;
      for (const OwnLoop& l : loops) {
        if (l.reduce) sum *= if_le(1, l.straight, 1, max(1, l.effective));
      }
      sum = if_le(1, has_inner - inner_reduces, instructions, sum);
      c.chain *= min(1, sum / kWindow);
    }
    const Quantity ports = max(max(c.compute, c.loads), max(c.stores, c.issue));
    // Terms that may be absent are told apart inside the body: the sums pass through branches.
    const Quantity waits = if_le(choices(nest, loops), 1, 0, c.results * c.terms * kBranch) +
                           c.spilled * c.terms * kSpill;
    // (what is spilled waits for its own store, time and again)
    c.body = max(ports, c.chain) + waits;

    // Bodies at the ends of axes are smaller, but not always faster.
    for (const OwnLoop& l : loops) {
      if (l.straight.is_number() && l.straight.number() == 0) continue;
      const Quantity full = floor(l.units / l.extent);
      const Quantity rest = l.units - full * l.extent;
      Quantity part = l.vector ? ceil_div(rest, lanes) / c.vectors : rest / l.extent;
      part = if_le(rest, 0, 0, max(ports * part, c.chain) + waits * part);
      const Quantity longer = (full * c.body + part) / max(1e-9, l.units / l.extent * c.body);
      c.tail *= 1 + l.straight * (longer - 1);
    }
  }

  void nest_cycles(const StageNest& nest, const std::vector<OwnLoop>& loops, StageCost& c) {
    Quantity times = 1;        // runs of the loop at hand
    Quantity outer_steps = 0;  // iterations of the loops outside the innermost serial one
    for (size_t p = 0; p < nest.own_from; ++p) times *= nest.path[p].effective;
    Quantity results = times;  // elements of all regions
    Quantity has_inner = 0;
    c.entries = times;
    for (const OwnLoop& l : loops) {
      if (!l.reduce) results *= l.effective;
      c.entries *= if_le(1, l.outside, l.effective, 1);
      times *= if_le(1, l.straight, l.effective / l.extent, l.effective);
      outer_steps += times * l.outside;
      has_inner += l.inner;
    }
    c.bodies = times;
    c.overhead = outer_steps * kLoopStep + c.entries * has_inner * kLoopEntry;
    const Stage& stage = state_.stage(nest.stage);
    if (accumulates(state_, nest.stage) && stage.role != StageRole::WriteBack) {
      // The identity, element by element.
      const DType dtype = buffer_type(state_, nest.stage);
      const Quantity width = c.lanes_used * std::max(1, target_.lanes(bytes_of(dtype)));
      c.overhead += results / max(1, width) * (stage.registers ? 0.25 : 1 / device_.store_ports);
    }
    c.core = c.bodies * c.body * c.tail + c.overhead;
  }

  // Lines of everything that runs inside the first `p` loops of the path.
  Quantity working_set(const StageNest& nest, size_t p) {
    if (p > nest.own_from) {
      bool alone = true;
      for (const StageNest& other : nests_) {
        alone = alone && (&other == &nest || !inside(other, nest, p));
      }
      if (alone) return sum_of_streams({&nest, 1}, nest, p);
    }
    return sum_of_streams(nests_, nest, p);
  }
  static bool inside(const StageNest& other, const StageNest& nest, size_t p) {
    return other.path.size() >= p &&
           std::equal(nest.path.begin(), nest.path.begin() + static_cast<ptrdiff_t>(p),
                      other.path.begin());
  }
  Quantity sum_of_streams(std::span<const StageNest> nests, const StageNest& nest, size_t p) {
    std::vector<std::pair<StageId, Quantity>> buffers;
    for (const StageNest& other : nests) {
      if (!inside(other, nest, p)) continue;
      for (const Stream& s : other.streams) {
        auto it = std::find_if(buffers.begin(), buffers.end(),
                               [&](const auto& b) { return b.first == s.buffer; });
        if (it == buffers.end()) {
          buffers.emplace_back(s.buffer, s.lines[p]);
        } else {
          it->second = max(it->second, s.lines[p]);
        }
      }
    }
    Quantity sum = 0;
    for (const auto& [buffer, lines] : buffers) sum += lines;
    return sum;
  }

  // Of the ways of the fullest set, the share that the rows need.
  Quantity set_pressure(const Stream& s, size_t p, const Cache& cache) const {
    Quantity pressure = 0;
    for (const Stream::Rows& r : s.rows[p]) {
      // Addresses within a page choose among so many sets; which page it is spreads the lines
      // evenly over the groups of sets that a larger cache has.
      const double in_page = std::min(cache.sets, kPageLines);
      const double common =
          std::gcd(static_cast<int64_t>(r.pitch_lines), static_cast<int64_t>(in_page));
      if (common < 2) continue;
      const double starts = in_page / common;
      const Quantity covered =
          min(in_page, max(r.lines, min(r.count, starts) * min(r.lines, common))) *
          (cache.sets / in_page);
      pressure = max(pressure, if_le(r.count, 1, 0, r.count * r.lines / (covered * kWays)));
    }
    return pressure;
  }

  void traffic(const StageNest& nest, const std::vector<OwnLoop>& loops, StageCost& c) {
    const size_t n = nest.path.size();
    std::vector<Quantity> sets(n + 1);
    for (size_t p = 0; p <= n; ++p) sets[p] = working_set(nest, p);
    for (size_t level = 0; level < kCacheLevels; ++level) {
      const Cache& cache = caches_[level];
      for (size_t i = 0; i < loops.size() && cache.lines > 0; ++i) {
        c.inner_set[level] += loops[i].inner * sets[nest.own_from + i] / cache.lines;
      }
      if (!cache.used) continue;
      for (const Stream& s : nest.streams) {
        Quantity lines = s.lines[n];
        for (size_t p = n; p-- > 0;) {
          Quantity pressure = sets[p + 1] / cache.lines;
          const Quantity conflicts = set_pressure(s, p + 1, cache);
          pressure = max(pressure, conflicts * kFits);  // a set may be full
          if (level == 0) c.fullest = max(c.fullest, conflicts);
          const Quantity fits = clamp01((kMisses - pressure) / (kMisses - kFits));
          const Quantity again = nest.path[p].effective * lines;
          lines = again + fits * (min(again, s.lines[p]) - again);
        }
        Quantity streams = 0;  // of one run of the body
        for (size_t i = 0; i < loops.size(); ++i) {
          for (const Stream::Rows& r : s.rows[nest.own_from + i + 1]) {
            streams = max(streams, loops[i].inner * r.count);
          }
        }
        const Quantity late = 1 + clamp01((streams - kStreams) / (0.5 * kStreams));
        const Quantity sweep = late * (s.written ? Quantity(kWrite) : Quantity(1));
        c.needed[level] += s.lines[0] * sweep;
        // Lines that a former call left behind need not come again.
        c.lines[level] += max(0, lines - s.lines[0] * cache.stays) * sweep;
      }
      c.cycles[level] = c.lines[level] * cache.cycles_per_line;
    }
  }

  void whole(const StageNest& nest, StageCost& c) {
    Quantity longest = c.core, sum = c.core;
    for (const Quantity& q : c.cycles) {
      longest = max(longest, q);
      sum += q;
    }
    c.time = longest + (sum - longest) * kSerial;
    const double threads = std::max(1, state_.task().threads);
    Quantity times = 1;
    for (size_t p = 0; p < nest.path.size(); ++p) {
      const PathLoop& l = nest.path[p];
      if (l.parallel) {
        c.tasks = max(1, l.extent);
        const Quantity rounds = ceil_div(c.tasks, threads);
        c.balance = c.tasks / (rounds * threads);
        if (threads > 1) {
          c.time = c.time / (c.balance * threads);
          if (p >= nest.own_from) {
            c.launch = times * (device_.launch_us * 1e-6 * device_.frequency_hz);
            c.time += c.launch;
          }
        }
        break;
      }
      times *= l.effective;
    }
  }

  const State& state_;
  const Shape& shape_;
  const DeviceModel& device_;
  const Target& target_;
  const std::vector<StageNest> nests_;
  std::array<Cache, kCacheLevels> caches_;
  Quantity code_;
};

}  // namespace

ScheduleCost cost_of(const State& state, const Shape& shape, const DeviceModel& device) {
  return Coster(state, shape, device).run();
}

}  // namespace espalier
