// Checks of schedules that are written down as text.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string_view>

#include "differential.h"
#include "espalier/schedule/text.h"
#include "espalier/support/target.h"

namespace espalier {

inline Task task_of(std::string_view dag) { return {parse_dag(dag).value(), host_target(), 2, ""}; }

// All evaluations agree, for this machine and for AVX2, with and without NaNs and infinities where
// nothing is absent. `exact`: the DAG combines small integers exactly.
inline void expect_agreement(std::string_view dag, std::string_view trace, bool exact = true) {
  const bool absent_terms = dag.find("where") != std::string_view::npos;
  for (const bool specials : {false, true}) {
    if (specials && absent_terms) continue;
    for (const Target& target : {host_target(), restrict_to_avx2(host_target())}) {
      FuzzCase c;
      c.task = task_of(dag);
      c.task.target = target;
      c.trace = parse_trace(trace, c.task).value();
      c.data_seed = 7;
      c.exact = exact;
      c.specials = specials;
      const Verdict v = compare_evaluations(c);
      EXPECT_EQ(v.kind, Verdict::Kind::Passed) << name_of(v.activity) << ": " << v.text << "\n"
                                               << to_string(c);
    }
  }
}

// Why the step is rejected after the others, if it is.
inline std::optional<RejectionCode> rejection_of(std::string_view dag, std::string_view step,
                                                 std::string_view before = "") {
  const Task task = task_of(dag);
  State state = replay(task, parse_trace(before, task).value()).take();
  const std::optional<Rejection> r = state.apply(parse_step(step, state).value());
  return r ? std::optional(r->code) : std::nullopt;
}

}  // namespace espalier
