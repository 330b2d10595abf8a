#include "differential.h"

#include <cmath>
#include <cstring>
#include <memory>

#include "espalier/codegen/jit.h"
#include "espalier/codegen/pipeline.h"
#include "espalier/ir/error_bound.h"
#include "espalier/runtime/array_view.h"
#include "espalier/runtime/guarded_buffer.h"
#include "espalier/runtime/result_check.h"
#include "espalier/schedule/lower.h"
#include "espalier/support/number.h"
#include "evaluation_run.h"

namespace espalier {
namespace {

std::string element_text(const Array& a, int64_t i) {
  return is_float(a.dtype()) ? format_double(a.get(i)) : std::to_string(a.get_int(i));
}

std::string difference(const ComputeDag& dag, size_t output, int64_t i, std::string_view name_a,
                       const Array& a, std::string_view name_b, const Array& b) {
  const StageInfo& stage = dag.stage(dag.outputs()[output]);
  return "element " + index_to_string(i, a.shape()) + " of '" + stage.name + "' is " +
         element_text(a, i) + " for " + std::string(name_a) + " and " + element_text(b, i) +
         " for " + std::string(name_b);
}

bool same_value(const Array& a, const Array& b, int64_t i) {
  if (!is_float(a.dtype())) return a.get_int(i) == b.get_int(i);
  const double x = a.get(i), y = b.get(i);
  return x == y || (x != x && y != y);
}

bool same_bits(const Array& a, const Array& b, int64_t i) {
  const auto size = static_cast<size_t>(bytes_of(a.dtype()));
  const auto at = static_cast<size_t>(i) * size;
  const bool same = std::memcmp(static_cast<const std::byte*>(a.data()) + at,
                                static_cast<const std::byte*>(b.data()) + at, size) == 0;
  return same || (is_float(a.dtype()) && a.get(i) != a.get(i) && b.get(i) != b.get(i));
}

template <class Same>
std::string first_difference(const ComputeDag& dag, std::string_view name_a,
                             const std::vector<Array>& a, std::string_view name_b,
                             const std::vector<Array>& b, Same same) {
  for (size_t o = 0; o < a.size(); ++o) {
    for (int64_t i = 0; i < a[o].elements(); ++i) {
      if (!same(a[o], b[o], i)) return difference(dag, o, i, name_a, a[o], name_b, b[o]);
    }
  }
  return {};
}

// Texts and slots: other ways to say the same.
std::string check_texts(const FuzzCase& c, const State& state) {
  const Result<ComputeDag> dag = parse_dag(to_string(c.task.dag));
  if (!dag) return "the DAG's text does not read back: " + to_string(dag.error());
  if (dag->hash() != c.task.dag.hash()) return "the DAG's text reads back as another DAG";
  const Result<Trace> trace = parse_trace(to_string(c.trace, c.task), c.task);
  if (!trace) return "the trace's text does not read back: " + to_string(trace.error());
  if (*trace != c.trace) return "the trace's text reads back as another trace";

  Sketch sketch{c.trace, {}};
  Candidate candidate;
  for (Step& step : sketch.steps) {
    for_each_num(step, [&](Num& n) {
      candidate.decisions.push_back(static_cast<int32_t>(n.value));
      n = Num::of_slot(static_cast<int>(sketch.slots.size()));
      sketch.slots.push_back({});
    });
  }
  candidate.sketch = std::make_shared<Sketch>(sketch);
  if (candidate.trace() != c.trace) return "decisions in slots give another trace";
  const Replayed again = replay(c.task, candidate);
  if (!again.ok()) return "with its numbers in slots the schedule is rejected";
  if (print_nest(again.state()) != print_nest(state)) return "numbers in slots give another nest";
  return {};
}

Result<void> run_machine_code(const JitCode& code, const LoweredFunc& f,
                              const std::vector<void*>& params, espalier_context* context) {
  ESP_TRY(const GuardedBuffer workspace, GuardedBuffer::make(code.workspace_bytes(), 64));
  workspace.fill(std::byte{0xff});
  const JitCode::Entry entry = &f == &code.final().main ? code.main() : code.pack();
  const int32_t status = entry(params.data(), workspace.data(), context);
  if (status != ESPALIER_OK) return make_error(ErrorCode::Internal, "status ", status);
  if (const auto at = workspace.stray_write()) {
    return make_error(ErrorCode::Internal, "a write at byte ", *at, " of a workspace of ",
                      workspace.bytes());
  }
  return {};
}

// What the evaluator says, and how far floats may be off.
struct Expected {
  std::vector<Array> values;
  std::vector<Array> wide, bounds;  // unless the case is exact: in f64, one an output
};

Result<Expected> expect(const FuzzCase& c, const std::vector<Array>& arguments) {
  Expected e;
  ESP_TRY(e.values, evaluate(c.task.dag, arguments));
  if (c.exact) return e;
  ESP_TRY(const ComputeDag bounded, with_error_bounds(c.task.dag));
  std::vector<Array> wide_arguments;
  for (const Array& a : arguments) {
    Array wide(is_float(a.dtype()) ? DType::F64 : a.dtype(), a.shape());
    for (int64_t i = 0; i < a.elements(); ++i) {
      is_float(a.dtype()) ? wide.set(i, a.get(i)) : wide.set_int(i, a.get_int(i));
    }
    wide_arguments.push_back(std::move(wide));
  }
  ESP_TRY(e.wide, evaluate(bounded, wide_arguments));
  const auto middle = e.wide.begin() + static_cast<std::ptrdiff_t>(e.values.size());
  e.bounds.assign(middle, e.wide.end());
  e.wide.erase(middle, e.wide.end());
  return e;
}

std::string wrong_output(const FuzzCase& c, const Expected& expected, std::string_view name,
                         const std::vector<Array>& got) {
  const ComputeDag& dag = c.task.dag;
  std::vector<ExpectedOutput> outputs;
  std::vector<ArrayView> views(got.begin(), got.end());
  for (size_t o = 0; o < got.size(); ++o) {
    const bool loose = !c.exact && is_float(got[o].dtype());
    if (!loose) continue;
    outputs.push_back({dag.stage(dag.outputs()[o]).name, got[o].dtype(), got[o].shape(),
                       expected.wide[o].data(),
                       static_cast<const double*>(expected.bounds[o].data())});
  }
  std::erase_if(views, [&](const ArrayView& v) { return c.exact || !is_float(v.dtype); });
  if (const CheckResult r = check_outputs(outputs, views); !r.ok) {
    return r.message + " (" + std::string(name) + ")";
  }
  return first_difference(dag, "the evaluator", expected.values, name, got,
                          [&](const Array& want, const Array& have, int64_t i) {
                            return (is_float(want.dtype()) && !c.exact) ||
                                   same_value(want, have, i);
                          });
}

struct PoolDeleter {
  void operator()(espalier_pool* pool) const { espalier_pool_destroy(pool); }
};

}  // namespace

Verdict compare_evaluations(const FuzzCase& c, Depth depth, Activity* progress) {
  Activity unobserved{};
  Activity& now = progress != nullptr ? *progress : unobserved;
  const auto failed = [&](std::string text) -> Verdict {
    return {Verdict::Kind::Failed, now, std::move(text)};
  };

  now = Activity::Replay;
  const ComputeDag& dag = c.task.dag;
  const Replayed replayed = replay(c.task, c.trace);
  if (!replayed.ok()) return failed(explain(replayed.rejection(), c.task, c.trace));
  now = Activity::Texts;
  if (std::string text = check_texts(c, replayed.state()); !text.empty()) return failed(text);
  if (depth == Depth::Replay) return {};

  now = Activity::Lower;
  const Result<LoweredKernel> lowered = lower(replayed.state());
  if (!lowered) {
    if (lowered.error().code != ErrorCode::Resource) return failed(to_string(lowered.error()));
    return {Verdict::Kind::Refused, now, to_string(lowered.error())};
  }
  now = Activity::Evaluate;
  const std::vector<Array> arguments = make_arguments(c);
  const Result<Expected> expected = expect(c, arguments);
  if (!expected) return failed(to_string(expected.error()));
  const auto compare_with_expected = [&](std::string_view name, const std::vector<Array>& got) {
    return wrong_output(c, *expected, name, got);
  };

  now = Activity::Lowered;
  const auto plain = run_kernel(*lowered, dag, arguments, interpret);
  if (!plain) return failed(to_string(plain.error()));
  std::string text = compare_with_expected("the interpreter of lowered code", *plain);
  if (!text.empty()) return failed(text);
  if (depth == Depth::Lowered) return {};

  now = Activity::Passes;
  const LoweredKernel final_form = {run_passes(lowered->main, c.task.target),
                                    run_passes(lowered->pack, c.task.target)};
  const auto passed = run_kernel(final_form, dag, arguments, interpret);
  if (!passed) return failed(to_string(passed.error()));
  text = compare_with_expected("the interpreter of final code", *passed);
  if (!text.empty()) return failed(text);
  if (depth == Depth::Passes) return {};

  now = Activity::MachineCode;
  const Result<JitCode> code = JitCode::compile(*lowered, c.task.target);
  if (!code) return failed(to_string(code.error()));
  for (const bool parallel : {true, false}) {
    const std::unique_ptr<espalier_pool, PoolDeleter> pool(
        parallel && c.task.threads > 1 ? espalier_pool_create(c.task.threads) : nullptr);
    espalier_context context = espalier_pool_context(pool.get());
    const auto got = run_kernel(
        code->final(), dag, arguments, [&](const LoweredFunc& f, const std::vector<void*>& params) {
          return run_machine_code(*code, f, params, pool ? &context : nullptr);
        });
    if (!got) return failed(to_string(got.error()));
    text = first_difference(dag, "the interpreter of final code", *passed,
                            pool ? "machine code" : "serial machine code", *got, same_bits);
    if (!text.empty()) return failed(text);
  }
  return {};
}

std::string_view name_of(Activity a) {
  switch (a) {
    case Activity::Draw: return "drawing";
    case Activity::Replay: return "replaying";
    case Activity::Texts: return "reading texts back";
    case Activity::Lower: return "lowering";
    case Activity::Evaluate: return "evaluating the definition";
    case Activity::Lowered: return "interpreting lowered code";
    case Activity::Passes: return "interpreting final code";
    case Activity::MachineCode: return "running machine code";
  }
  return "";
}

}  // namespace espalier
