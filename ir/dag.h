// ComputeDag: a tensor program, checked, in topological order, with its accesses analysed.
#pragma once

#include <memory>

#include "espalier/ir/tensor.h"
#include "espalier/support/result.h"

namespace espalier {

// One index of a read as a linear form over the reading stage's axes (spatial ones first, then the
// reduction's): offset + sum of coef[a] * axis a. `affine` is false for anything else (a division,
// a modulo, an index read from data): then coef tells only which axes occur (non-zero), or all
// ones when data decide.
struct LinearIndex {
  bool affine = true;
  int64_t offset = 0;
  std::vector<int64_t> coef;
};

// One Read in a stage's body. Reads are numbered in the order of a depth-first, left-to-right walk
// of the body, a `where` condition before the value; equal reads (same tensor, same indices) are
// one access.
struct Access {
  int producer = -1;                // index of the stage read
  std::vector<Expr> indices;        // as written, over the stage's axis variables
  std::vector<LinearIndex> linear;  // one a dimension of the producer
};

struct StageInfo {
  Tensor tensor;
  std::string name;               // unique in the DAG: a repeated name gets a numeric suffix
  std::vector<Axis> axes;         // spatial
  std::vector<Axis> reduce_axes;  // empty unless the body is a Reduce
  std::vector<Access> accesses;
  std::vector<int> consumers;  // stages that read this one, ascending
  bool is_output = false;

  bool is_compute() const { return tensor->kind == TensorKind::Compute; }
  const ReduceNode* reduce() const { return tensor->body.as<ReduceNode>(); }
  // No reduction, and every access with a producer of equal shape is at the stage's own index
  // (others may broadcast).
  bool elementwise = false;
  // Strictly inlineable: a compute without a reduction and not an output.
  bool inlineable = false;
  // Has data reuse worth tiling: a reduction in which some access leaves out a spatial axis.
  bool anchor = false;
  // Floating-point operations for the whole stage: adds, muls, divs, min/max, each 1; math
  // functions 1. A fused multiply-add counts 2.
  double flops = 0;
};

class ComputeDag {
 public:
  ComputeDag() = default;

  // Checks the definitions reachable from `outputs` and orders them: every tensor once, producers
  // before consumers, in the order of a depth-first walk. Errors name the tensor: poisoned
  // expressions, reads with the wrong rank or a non-integer index, reductions not at the top of a
  // body, expressions too deep or too large (ir/definition.h), extents negative or with more than
  // 2^62 bytes in all, reads that may leave their tensor outside of any select or `where`
  // (ir/access.h), duplicate outputs, an output that is a placeholder.
  static Result<ComputeDag> make(std::vector<Tensor> outputs);

  const std::vector<StageInfo>& stages() const { return impl_->stages; }
  const StageInfo& stage(int i) const { return impl_->stages[static_cast<size_t>(i)]; }
  int size() const { return static_cast<int>(impl_->stages.size()); }
  // Stage indices. Inputs and constants in stage order, outputs as given to make().
  const std::vector<int>& inputs() const { return impl_->inputs; }
  const std::vector<int>& constants() const { return impl_->constants; }
  const std::vector<int>& outputs() const { return impl_->outputs; }
  int find(std::string_view name) const;  // stage by name, -1 when there is none
  double flops() const;                   // of all stages
  // Structural: names do not matter; shapes, types, bodies and the order of outputs do.
  uint64_t hash() const { return impl_->hash; }
  bool valid() const { return impl_ != nullptr; }

 private:
  struct Impl {
    std::vector<StageInfo> stages;
    std::vector<int> inputs, constants, outputs;
    uint64_t hash = 0;
  };
  std::shared_ptr<const Impl> impl_;
};

// Text that parses back to an equal DAG (same hash), one tensor a line:
//   A = placeholder f32[512, 512]
//   W = constant f32[512, 512]
//   X = placeholder i64[8] in [0, 100)                           the range of its values
//   C[i: 512, j: 512] = sum[k: 512](A[i, k] * W[k, j])
//   P[i: 512] = max[k: 3](A[i + k - 1, 0], where=i + k >= 1 && i + k < 513)
//   R[i: 512, j: 512] = max(C[i, j], 0.0f32)
//   return R
// Expressions are those of ir/print.cpp and ir/expr_parse.h. Reductions that must keep their order
// are `ordered sum[...](...)`; custom combiners stand before the tensors:
//   combiner minus(a: f32, b: f32) = a - b, identity=0.0f32
// Names that are no identifiers or not unique are changed.
std::string to_string(const ComputeDag& dag);
Result<ComputeDag> parse_dag(std::string_view text);

}  // namespace espalier
