// The numbers of a sketch: walking its slots with their domains.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "espalier/search/sketch_space.h"

namespace espalier {

// Says the value of a slot, given the values worth trying (ascending).
using DecideSlot = std::function<int64_t(int slot, const std::vector<int64_t>& domain)>;

// Replays a sketch, asking for each slot where it is first used. The factors of a split are asked
// for from the inside out, each with the extent that those further inside leave, since the inner
// ones (registers, vectors) matter most. `decisions` holds one value a slot afterwards.
Replayed decide_slots(const Task& task, const Sketch& sketch, std::vector<int32_t>* decisions,
                      const DecideSlot& decide);

// A candidate that replays and whose code is not too large.
bool is_legal(const Replayed& replayed);
bool is_legal(const Task& task, const Candidate& candidate);

// The values worth trying for each slot while the others stay as they are; the present value is
// among them. Nothing if the candidate does not replay.
std::optional<std::vector<std::vector<int64_t>>> slot_domains(const Task& task,
                                                              const Candidate& candidate);

// Numbers drawn at random: each keeps its start with probability `keep`, else is uniform over its
// domain. Nothing if what was drawn is not legal.
std::optional<Candidate> draw_numbers(const Task& task, const Structure& structure, Rng& rng,
                                      double keep);

// The numbers of `from`, which has the given names of slots, where this structure has slots of the
// same names, else where it starts. Nothing if that is not legal.
std::optional<Candidate> carry_numbers(const Task& task, const Structure& structure,
                                       const std::vector<std::string>& names,
                                       const std::vector<int32_t>& from);

// Spaces of so many candidates are counted through when draws bring nothing new.
inline constexpr size_t kCountableSpace = 4096;

// Every legal candidate of a space, unless there are more than `limit`: then nothing.
std::optional<std::vector<Candidate>> enumerate_space(const SketchSpace& space, size_t limit);

}  // namespace espalier
