#include "espalier/cost_model/features.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "espalier/cost_model/sketch_formulas.h"
#include "espalier/cost_model/stage_cost.h"
#include "espalier/support/check.h"

namespace espalier {
namespace {

struct StageColumn {
  const char* name;
  Quantity (*value)(const StageCost& c, const Target& target);
};

Quantity ratio(const Quantity& a, const Quantity& b) { return a / max(1e-9, b); }

template <size_t kLevel>
Quantity transfer(const StageCost& c, const Target&) {
  return log2_1p(ratio(c.cycles[kLevel], c.core));
}
template <size_t kLevel>
Quantity repeats(const StageCost& c, const Target&) {
  return log2_1p(ratio(c.lines[kLevel], c.needed[kLevel]));
}

// Of one stage. The body's ports are shares of its cycles.
constexpr StageColumn kStageColumns[] = {
    {"lanes_used", [](const StageCost& c, const Target&) { return c.lanes_used; }},
    {"vectors", [](const StageCost& c, const Target&) { return log2_1p(c.vectors); }},
    {"rows", [](const StageCost& c, const Target&) { return log2_1p(c.rows); }},
    {"terms", [](const StageCost& c, const Target&) { return log2_1p(c.terms); }},
    {"compute", [](const StageCost& c, const Target&) { return ratio(c.compute, c.body); }},
    {"loads", [](const StageCost& c, const Target&) { return ratio(c.loads, c.body); }},
    {"stores", [](const StageCost& c, const Target&) { return ratio(c.stores, c.body); }},
    {"issue", [](const StageCost& c, const Target&) { return ratio(c.issue, c.body); }},
    {"chain", [](const StageCost& c, const Target&) { return ratio(c.chain, c.body); }},
    {"registers",
     [](const StageCost& c, const Target& t) {
       return log2_1p(c.registers / static_cast<double>(t.vector_registers));
     }},
    {"spilled",
     [](const StageCost& c, const Target& t) {
       return log2_1p(c.spilled / static_cast<double>(t.vector_registers));
     }},
    {"gathered", [](const StageCost& c, const Target&) { return log2_1p(c.gathered); }},
    {"body_cycles", [](const StageCost& c, const Target&) { return log2_1p(c.body); }},
    {"tail", [](const StageCost& c, const Target&) { return log2_1p(c.tail); }},
    {"busy", [](const StageCost& c, const Target&) { return ratio(c.bodies * c.compute, c.core); }},
    {"l2_transfer", transfer<0>},
    {"l3_transfer", transfer<1>},
    {"memory_transfer", transfer<2>},
    {"l2_repeats", repeats<0>},
    {"l3_repeats", repeats<1>},
    {"memory_repeats", repeats<2>},
    {"fullest_set", [](const StageCost& c, const Target&) { return log2_1p(c.fullest); }},
    {"balance", [](const StageCost& c, const Target&) { return c.balance; }},
    {"tasks", [](const StageCost& c, const Target&) { return log2_1p(c.tasks); }},
    {"launch", [](const StageCost& c, const Target&) { return ratio(c.launch, c.time); }},
    {"core_cycles", [](const StageCost& c, const Target&) { return log2_1p(c.core); }},
};
constexpr size_t kStage = std::size(kStageColumns);

constexpr const char* kTotals[] = {
    "hot_share",    "next_share",       "peak_share",       "cycles",       "code",
    "stages",       "copies_share",     "write_back_share", "l2_share",     "l3_share",
    "memory_share", "busy_share",       "lanes_mean",       "tail_mean",    "registers_max",
    "spilled_max",  "fullest_max",      "balance_min",      "launch_share", "intensity",
    "lanes",        "vector_registers", "threads",          "load_ports",   "store_ports",
    "fma_latency",
};

std::vector<std::string> column_names() {
  std::vector<std::string> names;
  for (const char* which : {"hot_", "next_"}) {
    for (const StageColumn& c : kStageColumns) names.push_back(std::string(which) + c.name);
  }
  for (const char* name : kTotals) names.emplace_back(name);
  return names;
}
constexpr size_t kColumns = 2 * kStage + std::size(kTotals);

class Row {
 public:
  Row(const State& state, const ScheduleCost& cost, const DeviceModel& device)
      : state_(state), cost_(cost), device_(device), target_(state.task().target) {}

  // Appends the columns.
  void fill(std::vector<Quantity>& out) const {
    // The two stages with the most time, the first of equal ones.
    Quantity times[2] = {-1, -1};
    std::vector<Quantity> columns[2];
    columns[0].assign(kStage, 0);
    columns[1].assign(kStage, 0);
    for (const StageCost& c : cost_.stages) {
      for (size_t k = 0; k < kStage; ++k) {
        const Quantity value = kStageColumns[k].value(c, target_);
        const Quantity second = if_le(c.time, times[1], columns[1][k], value);
        columns[1][k] = if_le(c.time, times[0], second, columns[0][k]);
        columns[0][k] = if_le(c.time, times[0], columns[0][k], value);
      }
      times[1] = max(times[1], min(c.time, times[0]));
      times[0] = max(times[0], c.time);
    }
    for (const std::vector<Quantity>& of_stage : columns) {
      out.insert(out.end(), of_stage.begin(), of_stage.end());
    }
    totals(max(0, times[0]), max(0, times[1]), out);
  }

 private:
  template <class F>
  Quantity sum(F&& f) const {
    Quantity total = 0;
    for (const StageCost& c : cost_.stages) total += f(c);
    return total;
  }
  template <class F>
  Quantity largest(F&& f) const {
    Quantity most = 0;
    for (const StageCost& c : cost_.stages) most = max(most, f(c));
    return most;
  }
  StageRole role(const StageCost& c) const { return state_.stage(c.stage).role; }

  void totals(const Quantity& hot, const Quantity& next, std::vector<Quantity>& out) const {
    const Quantity cycles = max(1, cost_.cycles);
    const Quantity core = max(1, sum([](const StageCost& c) { return c.core; }));
    const double registers = target_.vector_registers;
    const auto share_of = [&](StageRole r) {
      return sum([&](const StageCost& c) { return role(c) == r ? c.time : Quantity(0); }) / cycles;
    };
    const auto transfer_share = [&](size_t level) {
      return log2_1p(sum([&](const StageCost& c) { return c.cycles[level]; }) / core);
    };
    Quantity balance = 1;
    for (const StageCost& c : cost_.stages) balance = min(balance, c.balance);
    const Quantity values[] = {
        hot / cycles,
        next / cycles,
        cost_.ideal_cycles / cycles,
        log2_1p(cycles),
        log2_1p(cost_.code),
        static_cast<double>(cost_.stages.size()),
        share_of(StageRole::Copy),
        share_of(StageRole::WriteBack),
        transfer_share(0),
        transfer_share(1),
        transfer_share(2),
        sum([](const StageCost& c) { return c.bodies * c.compute; }) / core,
        sum([](const StageCost& c) { return c.lanes_used * c.core; }) / core,
        log2_1p(sum([](const StageCost& c) { return c.tail * c.core; }) / core),
        log2_1p(largest([&](const StageCost& c) { return c.registers / registers; })),
        log2_1p(largest([&](const StageCost& c) { return c.spilled / registers; })),
        log2_1p(largest([](const StageCost& c) { return c.fullest; })),
        balance,
        sum([](const StageCost& c) { return c.launch; }) / cycles,
        log2_1p(state_.dag().flops() / core),
        target_.vector_bits / 32.0,
        registers,
        static_cast<double>(state_.task().threads),
        device_.load_ports,
        device_.store_ports,
        device_.fma_latency,
    };
    static_assert(std::size(values) == std::size(kTotals));
    out.insert(out.end(), std::begin(values), std::end(values));
  }

  const State& state_;
  const ScheduleCost& cost_;
  const DeviceModel& device_;
  const Target& target_;
};

// The columns and the predicted cycles.
SketchFormulas make_formulas(const DeviceModel& device) {
  return SketchFormulas(
      kColumns + 1, [device](const State& state, const Shape& shape, std::vector<Quantity>& out) {
        const ScheduleCost cost = cost_of(state, shape, device);
        Row(state, cost, device).fill(out);
        out.push_back(cost.cycles);
      });
}

class Features final : public FeatureSource {
 public:
  explicit Features(const DeviceModel& device)
      : names_(column_names()), formulas_(make_formulas(device)) {}

  std::span<const std::string> names() const override { return names_; }

  void extract(const Task& task, std::span<const Candidate> candidates, int threads,
               std::span<float> values, std::span<float> margins) const override {
    constexpr size_t kRow = kColumns + 1;
    std::vector<double> rows(candidates.size() * kRow);
    formulas_.evaluate(task, candidates, threads, rows);
    for (size_t i = 0; i < candidates.size(); ++i) {
      const double* row = rows.data() + i * kRow;
      std::transform(row, row + kColumns, values.begin() + static_cast<ptrdiff_t>(i * kColumns),
                     [](double v) { return static_cast<float>(v); });
      const double cycles = row[kColumns];
      margins[i] =
          static_cast<float>(std::isnan(cycles) ? cycles : -std::log(std::max(cycles, 1.0)));
    }
  }

 private:
  const std::vector<std::string> names_;
  const SketchFormulas formulas_;
};

}  // namespace

std::unique_ptr<FeatureSource> make_features(const DeviceModel& device) {
  return std::make_unique<Features>(device);
}

std::vector<float> features_of(const State& state, const DeviceModel& device) {
  const std::vector<double> row = make_formulas(device).evaluate(state);
  return {row.begin(), row.end() - 1};
}

}  // namespace espalier
