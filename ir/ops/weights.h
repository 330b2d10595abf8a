// Weights: bound once, or with weights=variable an input like any other.
#pragma once

#include "espalier/ir/ops/op_def.h"

namespace espalier::ops {

inline KeyDef weights_key(bool constant_by_default = true) {
  return constant_by_default ? word("weights", {"constant", "variable"})
                             : word("weights", {"variable", "constant"});
}

inline Tensor make_weights(const Args& args, std::string name, std::vector<int64_t> shape) {
  return args.word("weights") == "constant"
             ? constant(std::move(name), std::move(shape), args.dtype())
             : placeholder(std::move(name), std::move(shape), args.dtype());
}

}  // namespace espalier::ops
