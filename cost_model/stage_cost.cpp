#include "espalier/cost_model/stage_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace espalier {
namespace {

// Typical of x86-64 and AArch64 cores of the last ten years; what differs much between machines is
// in the DeviceModel.
constexpr double kIssueWidth = 5;       // instructions a cycle
constexpr double kWindow = 200;         // instructions in flight
constexpr double kFunctionCost = 14;    // plain operations of exp, log, ...
constexpr double kDivisionCycles = 5;   // of 256 bits
constexpr double kIntegerDivision = 8;  // cycles a lane
constexpr double kLoopEntry = 12;       // cycles: the exit is mispredicted, pipelines fill
constexpr double kLoopStep = 2;         // cycles of an iteration of an outer loop
constexpr double kWays = 8;             // of L1 and L2
// A loop whose data take less than the first share of a cache finds them there again; with the
// second share it does not.
constexpr double kFits = 0.6, kMisses = 1.1;
// Of the shorter of two times that can overlap, the share that does not.
constexpr double kSerial = 0.25;

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
      const bool used =
          state.stage(s).stored_at_root && state.stage(s).attach != AttachKind::Inlined;
      const Quantity lines = used ? buffer_lines(state, shape, s) : Quantity(0);
      if (lines.is_number()) all += lines.number();
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
    bool reduce = false, vector = false, straight = false;
  };

  bool attached_at(StageId s, LoopId l) const {
    for (StageId t = 0; t < state_.size(); ++t) {
      const Stage& st = state_.stage(t);
      const bool attached = st.attach == AttachKind::At || st.attach == AttachKind::After;
      if (attached && st.attach_stage == s && st.attach_loop == l) return true;
    }
    return false;
  }

  std::vector<OwnLoop> own_loops(StageId s) const {
    const Stage& stage = state_.stage(s);
    const StageShape& shape = shape_[static_cast<size_t>(s)];
    std::vector<OwnLoop> loops;
    for (LoopId id : stage.order) {
      const size_t l = static_cast<size_t>(id);
      const Loop& loop = stage.loops[l];
      loops.push_back({shape.extent[l], shape.effective[l], shape.units[l], loop.reduce,
                       loop.vectorize, loop.vectorize});
    }
    for (size_t i = loops.size(); i-- > 0;) {
      if (attached_at(s, stage.order[i])) break;
      if (loops[i].vector) continue;
      const Quantity& unrolled = shape.unrolled[static_cast<size_t>(stage.order[i])];
      const Quantity& extent = loops[i].extent;
      const bool single = extent.is_number() && extent.number() <= 1;
      if (!single && !(unrolled.is_number() && unrolled.number() == 1)) break;
      loops[i].straight = true;
    }
    return loops;
  }

  StageCost stage(const StageNest& nest) {
    StageCost c;
    c.stage = nest.stage;
    const std::vector<OwnLoop> loops = own_loops(nest.stage);
    body(nest, loops, c);
    nest_cycles(nest, loops, c);
    traffic(nest, c);
    whole(nest, c);
    return c;
  }

  void body(const StageNest& nest, const std::vector<OwnLoop>& loops, StageCost& c) {
    const Stage& stage = state_.stage(nest.stage);
    const DType dtype = state_.dag().stage(stage.op).tensor->dtype;
    const double lanes = std::max(1, target_.lanes(bytes_of(dtype)));
    const OwnLoop* vector = nullptr;
    size_t inner = loops.size();  // the innermost serial loop
    for (size_t i = 0; i < loops.size(); ++i) {
      const OwnLoop& l = loops[i];
      if (l.vector) {
        vector = &l;
      } else if (!l.straight) {
        inner = i;
      } else if (l.reduce) {
        c.terms *= max(1, l.extent);
      } else {
        c.rows *= max(1, l.extent);
      }
    }
    c.lanes_used = 1 / lanes;
    const Quantity width = vector ? max(1, vector->extent) : Quantity(1);
    if (vector) {
      c.vectors = ceil_div(width, lanes);
      c.lanes_used = width / (c.vectors * lanes);
    }
    c.results = c.vectors * c.rows;
    const Quantity points = c.results * c.terms;
    if (inner < loops.size()) c.inner_trip = max(1, loops[inner].effective);

    // What is read.
    const bool reduces = state_.dag().stage(stage.op).reduce() != nullptr &&
                         (stage.role == StageRole::Compute || stage.role == StageRole::Accumulate ||
                          stage.role == StageRole::Partial || stage.role == StageRole::Final);
    Quantity operands = 0, hoisted = 0;
    bool first = true;
    const Quantity* store_stride = nullptr;
    for (const StageAccess& a : nest.accesses) {
      if (a.read < 0) {
        store_stride = &a.lane_stride;
        continue;
      }
      Quantity count = 1;
      bool along_lanes = false;
      for (size_t i = 0; i < loops.size(); ++i) {
        if (!loops[i].straight || !a.depends[i]) continue;
        if (loops[i].vector) {
          along_lanes = true;
        } else {
          count *= max(1, loops[i].extent);
        }
      }
      if (a.in_registers) continue;
      Quantity single = 0;  // lanes that are loaded one by one
      Quantity loads = count;
      if (along_lanes) {
        const Quantity apart = a.gathers ? Quantity(2) : a.lane_stride;
        loads = count * if_le(apart, 0.5, 1, if_le(apart, 1, c.vectors, width));
        single = count * if_le(apart, 1, 0, width);
      }
      const bool moves = inner >= loops.size() || a.depends[inner];
      const Quantity share = moves ? Quantity(1) : 1 / c.inner_trip;
      c.loaded += loads * share;
      c.gathered += single * share;
      const Quantity live = loads / c.terms;
      if (!moves) {
        hoisted += loads;
      } else {
        operands = first ? live : min(operands, live);
        first = false;
      }
    }

    // What is written.
    const bool kept = reduces && (stage.registers || inner >= loops.size() || loops[inner].reduce);
    const Quantity scattered =
        store_stride && vector ? if_le(*store_stride, 1, c.vectors, width) * c.rows : c.results;
    if (!reduces) {
      c.stored = scattered;
      c.gathered += scattered - c.results;
      if (stage.role == StageRole::WriteBack && stage.has_own_reduce()) c.loaded += scattered;
      if (stage.registers) c.stored = 0;
    } else if (!stage.registers) {
      const Quantity share = kept ? 1 / c.inner_trip : Quantity(1);
      c.stored = scattered * share;
      c.loaded += scattered * share;
    }
    c.registers = operands + 1 + hoisted + (kept ? c.results : Quantity(0));
    c.spilled = max(0, c.registers - target_.vector_registers);
    if (!kept) c.spilled = min(c.spilled, hoisted);
    c.loaded += c.spilled * c.terms;
    c.stored += kept ? c.spilled * c.terms : Quantity(0);

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
    c.issue = (instructions + (inner < loops.size() ? 3 : 0)) / kIssueWidth;
    code_ += instructions;
    if (reduces) {
      const double latency = device_.fma_latency * (ops.plain > 2 ? 1.5 : 1);
      c.chain = c.terms * latency;
      if (inner < loops.size() && !loops[inner].reduce) {
        // Other results follow at once: as many as are in flight hide the chain.
        c.chain *= min(1, instructions / kWindow);
      }
    }
    const Quantity ports = max(max(c.compute, c.loads), max(c.stores, c.issue));
    c.body = max(ports, c.chain);

    // Bodies at the ends of axes are smaller, but not always faster.
    for (const OwnLoop& l : loops) {
      if (!l.straight || l.units.same_as(l.extent)) continue;
      const Quantity full = floor(l.units / l.extent);
      const Quantity rest = l.units - full * l.extent;
      Quantity part = l.vector ? ceil_div(rest, lanes) / c.vectors : rest / l.extent;
      part = if_le(rest, 0, 0, max(ports * part, c.chain));
      c.tail *= (full * c.body + part) / max(1e-9, l.units / l.extent * c.body);
    }
  }

  void nest_cycles(const StageNest& nest, const std::vector<OwnLoop>& loops, StageCost& c) {
    Quantity times = 1;        // runs of the loop at hand
    Quantity outer_steps = 0;  // iterations of all loops but the innermost serial one
    size_t inner = loops.size();
    for (size_t i = 0; i < loops.size(); ++i) {
      if (!loops[i].straight) inner = i;
    }
    for (size_t p = 0; p < nest.own_from; ++p) times *= nest.path[p].effective;
    c.entries = times;
    Quantity results = times;  // elements of all regions
    for (size_t i = 0; i < loops.size(); ++i) {
      const OwnLoop& l = loops[i];
      if (!l.reduce) results *= l.effective;
      if (l.straight) {
        times *= l.effective / max(1, l.extent);
        continue;
      }
      if (i == inner) c.entries = times;
      times *= l.effective;
      if (i != inner) outer_steps += times;
    }
    c.bodies = times;
    c.overhead = outer_steps * kLoopStep;
    if (inner < loops.size()) c.overhead += c.entries * kLoopEntry;
    const Stage& stage = state_.stage(nest.stage);
    if (state_.dag().stage(stage.op).reduce() != nullptr && stage.role != StageRole::WriteBack &&
        stage.layout.empty()) {
      // The identity, element by element.
      const DType dtype = state_.dag().stage(stage.op).tensor->dtype;
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
      const double common =
          std::gcd(static_cast<int64_t>(r.pitch_lines), static_cast<int64_t>(cache.sets));
      if (common < 2) continue;
      const double starts = std::max(1.0, cache.sets / common);
      // Sets that the rows cover, and how many of their lines each gets.
      const Quantity covered = min(cache.sets, min(r.count, starts) * min(r.lines, common));
      pressure = max(pressure, r.count * r.lines / (covered * kWays));
    }
    return pressure;
  }

  void traffic(const StageNest& nest, StageCost& c) {
    const size_t n = nest.path.size();
    std::vector<Quantity> sets(n + 1);
    bool known = false;
    for (size_t level = 0; level < kCacheLevels; ++level) {
      const Cache& cache = caches_[level];
      if (!cache.used) continue;
      if (!known) {
        for (size_t p = 1; p <= n; ++p) sets[p] = working_set(nest, p);
        known = true;
      }
      for (const Stream& s : nest.streams) {
        Quantity lines = s.lines[n];
        for (size_t p = n; p-- > 0;) {
          Quantity pressure = sets[p + 1] / cache.lines;
          const Quantity conflicts = set_pressure(s, p + 1, cache);
          pressure = max(pressure, conflicts);
          if (level == 0) c.fullest = max(c.fullest, conflicts);
          const Quantity fits = clamp01((kMisses - pressure) / (kMisses - kFits));
          const Quantity again = nest.path[p].effective * lines;
          lines = again + fits * (min(again, s.lines[p]) - again);
        }
        const Quantity sweep = s.written ? Quantity(2) : Quantity(1);
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
