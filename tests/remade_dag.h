// The same program written down otherwise.
#pragma once

#include "espalier/ir/dag.h"
#include "espalier/support/rng.h"

namespace espalier {

struct RemakeOptions {
  bool reorder = true;  // operands of commutative operations, and reduction axes that may
  bool units = false;   // dimensions of one element are put in, and reduction axes of one element
};

// With other names in any case. Every tensor gets its unit dimensions at random places.
ComputeDag remade(const ComputeDag& dag, Rng& rng, const RemakeOptions& options);

}  // namespace espalier
