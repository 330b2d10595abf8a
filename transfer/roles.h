// Roles: what the iterators of a stage do to its operands, whatever the operator is called.
//
// In a matrix product one iterator moves the first operand and the result, one the second operand
// and the result, and one both operands: M, N and K. A convolution has the same three, and pairs of
// a spatial and a reduction iterator that slide a window. Two stages whose iterators have the same
// roles are scheduled alike.
#pragma once

#include <optional>

#include "espalier/transfer/dag_map.h"
#include "espalier/transfer/mismatch.h"

namespace espalier {

struct AxisRole {
  int64_t extent = 1;
  bool reduce = false;
  bool window = false;      // shares an index of some read with an axis of the other kind
  bool contiguous = false;  // moves to the neighbouring element of the result
  uint32_t reads = 0;       // bit r: read r moves with it
  uint32_t adjacent = 0;    // bit r: to the neighbouring element of what it reads
};

// One a axis. Reads beyond the 32nd do not count.
std::vector<AxisRole> roles_of(const ComputeDag& dag, int stage);

// Axes a and b (neighbours but for axes of one element, both spatial or both reduction) act as one
// loop: every read and the write move along it by one stride, and no condition tells them apart.
bool acts_as_one(const ComputeDag& dag, int stage, int a, int b);

// Pairs the iterators of two stages by role: the pairing of reads for which most of memory's order
// agrees. Each role that one side has the other must have, except for iterators that move all
// operands (batches) and windows beside another reduction. Stages without a reduction must in
// addition walk memory in the same order.
std::optional<StageMap> match_roles(const ComputeDag& donor, int donor_stage,
                                    const ComputeDag& target, int target_stage, Mismatch* reason);

}  // namespace espalier
