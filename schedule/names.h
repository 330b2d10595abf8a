// Names of stages and loops, derived from where they came from: the state stores none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "espalier/schedule/state.h"

namespace espalier {

// All names are identifiers of support/lexer.h, unique in their list, none of them a word of the
// trace grammar that stands where a name may stand. They depend on the creation of what they name
// only, so later steps never change a name.

// One a stage: the DAG's own names; "C.acc" for the accumulator of C, "C.part" for its partial
// results, "A.pack" for a packed copy of A.
std::vector<std::string> stage_names(const State& state);

// One a loop of the stage: the axis' name; "j.0", "j.1" for the parts of a split of j, "h_w" for h
// fused with w; "j.1.w" for the write-back loop that stands for j.1 and "k.1.r" for the loop that
// reduces partial results of k.1; "dim0" (or "dim0.0" and "dim0.1" for blocks and what is in them)
// for a packed copy's loop over a dimension of its source.
std::vector<std::string> loop_names(const State& state, StageId stage);

// Makes an identifier of any text: other characters become '_'.
std::string identifier_from(std::string_view text);

// The words that are never names, since they stand where a name may stand.
bool is_reserved_word(std::string_view word);

// "i, j, k", or `none` for an empty list.
std::string join_names(const std::vector<std::string>& names, std::string_view none = "none");

}  // namespace espalier
