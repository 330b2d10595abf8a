#include "espalier/cost_model/stage_body.h"

#include <algorithm>
#include <cmath>

#include "espalier/cost_model/operation_count.h"

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
constexpr double kSpill = 8;            // cycles from the store of a register to its reload
constexpr double kLoopStep = 2;         // cycles of an iteration of an outer loop

Quantity abs_difference(const Quantity& a, const Quantity& b) { return max(a - b, b - a); }

class Core {
 public:
  Core(const State& state, const Shape& shape, const DeviceModel& device, Quantity& code)
      : state_(state), shape_(shape), device_(device), target_(state.task().target), code_(code) {}

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
    const Quantity waits =
        if_le(conditions_in_body(state_, nest, loops), 1, 0, c.results * c.terms * kBranch) +
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

 private:
  // How many of the vectors that lie in rows of odd lengths straddle two lines.
  Quantity split_lines(const StageAccess& a) const {
    const std::vector<Quantity>& extents = shape_[static_cast<size_t>(a.buffer)].storage_extent;
    if (extents.size() < 2) return 0;
    const double vector_bytes = target_.vector_bits / 8.0;
    const Quantity row = max(1, extents.back()) * static_cast<double>(a.element_bytes);
    return if_le(remainder(row, vector_bytes), 0, 0, vector_bytes / target_.line_bytes);
  }

  const State& state_;
  const Shape& shape_;
  const DeviceModel& device_;
  const Target& target_;
  Quantity& code_;
};

}  // namespace

void cost_of_core(const State& state, const Shape& shape, const DeviceModel& device,
                  const StageNest& nest, const std::vector<OwnLoop>& loops, StageCost& cost,
                  Quantity& instructions) {
  Core core(state, shape, device, instructions);
  core.body(nest, loops, cost);
  core.nest_cycles(nest, loops, cost);
}

}  // namespace espalier
