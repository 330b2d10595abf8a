#include "fuzz_case.h"

#include <cmath>
#include <limits>

#include "espalier/schedule/text.h"
#include "espalier/search/slots.h"
#include "random_dag.h"
#include "random_schedule.h"
#include "tally.h"

namespace espalier {
namespace {

constexpr int64_t kWork = 12000;  // iterations of all stages, about

// Takes the text up to the next line that is `end`, or to the last.
std::string_view take_until(std::string_view& text, std::string_view end) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t newline = std::min(text.find('\n', at), text.size());
    if (text.substr(at, newline - at) == end) break;
    at = newline + 1;
  }
  const std::string_view taken = text.substr(0, std::min(at, text.size()));
  text.remove_prefix(std::min(text.size(), at + end.size() + 1));
  return taken;
}

bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

Array make_argument(const TensorNode& tensor, Rng rng, bool exact, bool specials) {
  Array a(tensor.dtype, tensor.shape);
  const DType t = tensor.dtype;
  const int64_t small = t == DType::F16 || t == DType::BF16 ? 2 : 4;
  // Either end of the type and what is near zero, or everything.
  const double edge = rng.uniform();
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (is_float(t)) {
      a.set(i, exact ? static_cast<double>(rng.range(-small, small)) : rng.uniform(-2, 2));
    } else if (tensor.value_range) {
      a.set_int(i, rng.range(tensor.value_range->first, tensor.value_range->second - 1));
    } else if (t == DType::Bool) {
      a.set_int(i, rng.chance(0.5) ? 1 : 0);
    } else if (rng.chance(edge)) {
      const int64_t ends[] = {int_min(t), int_max(t), 0, 1, -1, 2};
      a.set_int(i, ends[rng.below(std::size(ends))]);
    } else {
      a.set_int(i, static_cast<int64_t>(rng.next() >> rng.below(64)));
    }
  }
  if (specials && is_float(t) && a.elements() > 0) {
    const double values[] = {NAN, INFINITY, -INFINITY, -0.0};
    for (int64_t n = rng.range(1, 4); n > 0; --n) {
      a.set(rng.range(0, a.elements() - 1), values[rng.below(std::size(values))]);
    }
  }
  return a;
}

Target draw_target(Rng& rng) {
  const Target host = host_target();
  if (host.arch != "x86_64" || rng.chance(0.6)) return host;
  return restrict_to_avx2(host);
}

// A case without a schedule.
FuzzCase draw_program(Rng& rng, const DagHints& hints) {
  const int64_t work = rng.chance(0.15) ? 4 * kWork : rng.range(8, kWork);
  const RandomDag random = random_dag(rng, work, hints);
  FuzzCase c;
  c.task = {random.dag, draw_target(rng), static_cast<int>(rng.range(1, 3)), ""};
  c.data_seed = rng.next() >> 16;
  c.exact = random.exact;
  c.specials = !random.has_absent_terms && rng.chance(0.25);
  return c;
}

}  // namespace

std::string to_string(const FuzzCase& c) {
  std::string out = "data " + std::to_string(c.data_seed) + (c.exact ? " exact" : "") +
                    (c.specials ? " specials" : "") + "\nthreads " +
                    std::to_string(c.task.threads) + "\ntarget " + to_string(c.task.target) +
                    "\ndag\n" + to_string(c.task.dag);
  if (out.back() != '\n') out += '\n';
  return out + "trace\n" + to_string(c.trace, c.task);
}

Result<FuzzCase> parse_case(std::string_view text) {
  FuzzCase c;
  std::string_view head = take_until(text, "dag");
  const std::string_view dag = take_until(text, "trace");
  while (!head.empty()) {
    const size_t end = std::min(head.find('\n'), head.size());
    const std::string line(head.substr(0, end));
    head.remove_prefix(std::min(head.size(), end + 1));
    if (line.starts_with("data ")) {
      c.data_seed = std::strtoull(line.c_str() + 5, nullptr, 10);
      c.exact = contains(line, " exact");
      c.specials = contains(line, " specials");
    } else if (line.starts_with("threads ")) {
      c.task.threads = std::atoi(line.c_str() + 8);
    } else if (line.starts_with("target ")) {
      ESP_TRY(c.task.target, parse_target(line.substr(7)));
    }
  }
  ESP_TRY(c.task.dag, parse_dag(dag));
  ESP_TRY(c.trace, parse_trace(take_until(text, "end"), c.task));
  return c;
}

std::vector<Array> make_arguments(const FuzzCase& c) {
  const ComputeDag& dag = c.task.dag;
  std::vector<int> stages = dag.inputs();
  stages.insert(stages.end(), dag.constants().begin(), dag.constants().end());
  const Rng rng(c.data_seed);
  std::vector<Array> arguments;
  for (int s : stages) {
    arguments.push_back(
        make_argument(*dag.stage(s).tensor, rng.fork(arguments.size()), c.exact, c.specials));
  }
  return arguments;
}

FuzzCase draw_random_steps(uint64_t seed, uint64_t number, Tally& tally,
                           const std::function<void(const std::string&)>& announce) {
  Rng rng = Rng(seed).fork(number);
  const auto tail = static_cast<TailKind>(number / kStepKinds % kTailKinds);
  const int focus = static_cast<int>(number % kStepKinds);
  const bool pair = focus == kind_of(ShareStep{}) || focus == kind_of(ComputeAfterStep{});
  FuzzCase c = draw_program(rng, {tail == TailKind::Where, pair});
  DrawOptions options;
  options.focus = focus;
  options.tail = tail;
  options.even = tail == TailKind::None || (tail == TailKind::Where && rng.chance(0.5));
  options.pad = !c.specials;  // a padded reduction multiplies what is not there by zero
  if (announce) {
    options.before_step = [&](const State& state, const Step& step) {
      c.trace = state.trace();
      announce(to_string(c) + to_string(step, state) + "\n");
    };
  }
  c.trace = random_schedule(rng, c.task, options, tally).trace();
  return c;
}

FuzzCase draw_sketch(uint64_t seed, uint64_t number, Tally& tally,
                     const std::function<void(const std::string&)>& announce) {
  Rng rng = Rng(seed).fork(number);
  FuzzCase c = draw_program(rng, {rng.chance(0.3), rng.chance(0.3)});
  if (announce) announce(to_string(c));
  const SketchSpace space(c.task);
  StructurePtr structure = space.preferred();
  if (number % 4 != 0) {
    if (StructurePtr drawn = space.draw(rng, rng.uniform())) {
      structure = drawn;
    } else {
      ++tally.undrawn;
    }
  }
  std::optional<Candidate> candidate = structure->candidate();
  if (number % 8 != 0) {
    candidate = draw_numbers(c.task, *structure, rng, rng.uniform());
    if (!candidate) {
      ++tally.undrawn;
      candidate = structure->candidate();
    }
  }
  c.trace = candidate->trace();
  for (const Step& step : c.trace) ++tally.applied[static_cast<size_t>(kind_of(step))];
  return c;
}

}  // namespace espalier
