#include "espalier/ir/internal/eval_program.h"

#include <algorithm>
#include <bit>

#include "espalier/ir/buffer.h"

namespace espalier {

void round_lanes(DType t, ScalarBits* values, int lanes) {
  if (!is_float(t) || t == DType::F64) return;
  cast_lanes(DType::F64, t)(values, values, lanes);
  cast_lanes(t, DType::F64)(values, values, lanes);
}

Result<void> EvalProgram::run(const std::vector<const ScalarBits*>& values, ScalarBits* out) {
  values_ = &values;
  out_ = out;
  error_.reset();
  for (size_t a = 0; a < stage_.axes.size(); ++a) {
    if (axes_[a].extent == 0) return {};
  }
  execute(-1);
  run_loop(0);
  if (error_) return *error_;
  return {};
}

void EvalProgram::run_loop(int level) {
  if (level == spatial_loops_) {
    if (total_ >= 0) {
      std::fill_n(lanes_of(total_), kLanes, identity_);
      if (level < static_cast<int>(loops_.size())) {
        iterate(level);
      }
    }
    if (!error_) store();
    return;
  }
  if (level == static_cast<int>(loops_.size())) {
    combine();
    return;
  }
  iterate(level);
}

void EvalProgram::iterate(int level) {
  const auto loop = static_cast<size_t>(level);
  const int64_t extent = axes_[loops_[loop]].extent;
  ScalarBits* var = lanes_of(var_slots_[loop]);
  const bool is_lanes = level == lane_loop_;
  const int step = is_lanes ? kLanes : 1;
  const bool fill = slots_[static_cast<size_t>(var_slots_[loop])].fill;
  for (int64_t i = 0; i < extent && !error_; i += step) {
    position_[loop] = i;
    if (is_lanes) {
      lane_count_ = static_cast<int>(std::min<int64_t>(kLanes, extent - i));
      for (int l = 0; l < lane_count_; ++l) var[l] = static_cast<ScalarBits>(i + l);
    } else if (fill) {
      std::fill_n(var, kLanes, static_cast<ScalarBits>(i));
    } else {
      var[0] = static_cast<ScalarBits>(i);
    }
    execute(level);
    if (!error_) run_loop(level + 1);
  }
}

void EvalProgram::execute(int level) {
  for (const Instruction& in : code_[static_cast<size_t>(level + 1)]) {
    const Slot& slot = slots_[static_cast<size_t>(in.out)];
    const int lanes = slot.lanes ? lane_count_ : 1;
    ScalarBits* out = lanes_of(in.out);
    switch (in.op) {
      case Op::Unary: in.unary(lanes_of(in.in[0]), out, lanes); break;
      case Op::Binary: in.binary(lanes_of(in.in[0]), lanes_of(in.in[1]), out, lanes); break;
      case Op::Fma:
        in.fma(lanes_of(in.in[0]), lanes_of(in.in[1]), lanes_of(in.in[2]), out, lanes);
        break;
      case Op::Select: {
        const ScalarBits *c = lanes_of(in.in[0]), *a = lanes_of(in.in[1]), *b = lanes_of(in.in[2]);
        for (int l = 0; l < lanes; ++l) out[l] = c[l] != 0 ? a[l] : b[l];
        break;
      }
      case Op::Reinterpret: {
        const ScalarBits* a = lanes_of(in.in[0]);
        for (int l = 0; l < lanes; ++l) {
          const ScalarBits bits = apply_cast(evaluation_type(in.from), in.from, a[l]);
          out[l] =
              apply_cast(in.to, evaluation_type(in.to), apply_reinterpret(in.from, in.to, bits));
        }
        break;
      }
      case Op::ReadLinear:
      case Op::ReadChecked: execute_read(in, lanes); break;
    }
    if (slot.fill && !slot.lanes) std::fill_n(out + 1, kLanes - 1, out[0]);
  }
}

void EvalProgram::execute_read(const Instruction& in, int lanes) {
  const Read& read = reads_[static_cast<size_t>(in.read)];
  const ScalarBits* data = (*values_)[static_cast<size_t>(read.producer)];
  ScalarBits* out = lanes_of(in.out);
  if (in.op == Op::ReadLinear) {
    int64_t offset = read.offset;
    for (size_t loop = 0; loop < loops_.size(); ++loop) {
      offset += read.coef[loop] * position_[loop];
    }
    const int64_t stride = lane_loop_ < 0 ? 0 : read.coef[static_cast<size_t>(lane_loop_)];
    for (int l = 0; l < lanes; ++l) out[l] = data[offset + l * stride];
    return;
  }
  const StageInfo& producer = dag_.stage(read.producer);
  const std::vector<int64_t> strides = dense_strides(producer.tensor->shape);
  auto lane_of = [&](int slot, int l) {
    return lanes_of(slot)[slots_[static_cast<size_t>(slot)].lanes ? l : 0];
  };
  for (int l = 0; l < lanes; ++l) {
    out[l] = 0;
    if (read.guard >= 0 && lane_of(read.guard, l) == 0) continue;
    int64_t offset = 0;
    for (size_t d = 0; d < read.index_slots.size(); ++d) {
      const auto index = static_cast<int64_t>(lane_of(read.index_slots[d], l));
      if (index < 0 || index >= producer.tensor->shape[d]) {
        error_ = make_error(ErrorCode::OutOfRange, "'", stage_.name, "' reads '", producer.name,
                            "' at ", index, " in dimension ", d, ", where its extent is ",
                            producer.tensor->shape[d]);
        return;
      }
      offset += index * strides[d];
    }
    out[l] = data[offset];
  }
}

// Combines the lanes' terms into their totals, or one after the other into the only total.
void EvalProgram::combine() {
  ScalarBits *total = lanes_of(total_), *value = lanes_of(value_);
  const ScalarBits* where = where_ >= 0 ? lanes_of(where_) : nullptr;
  const int depth = static_cast<int>(loops_.size());
  auto apply = [&](ScalarBits* term, int lanes) -> const ScalarBits* {
    if (combiner_ != nullptr) {
      combiner_(total, term, lanes_of(combined_), lanes);
    } else {
      std::copy_n(total, lanes, lanes_of(lhs_));
      std::copy_n(term, lanes, lanes_of(rhs_));
      const int saved = std::exchange(lane_count_, lanes);
      execute(depth);
      lane_count_ = saved;
    }
    return lanes_of(combined_);
  };
  if (lane_is_spatial()) {
    const ScalarBits* result = apply(value, lane_count_);
    for (int l = 0; l < lane_count_; ++l) {
      if (where == nullptr || where[l] != 0) total[l] = result[l];
    }
    return;
  }
  if (sums_floats_ && where == nullptr) {
    double so_far = std::bit_cast<double>(total[0]);
    for (int l = 0; l < lane_count_; ++l) so_far += std::bit_cast<double>(value[l]);
    total[0] = std::bit_cast<ScalarBits>(so_far);
    return;
  }
  for (int l = 0; l < lane_count_; ++l) {
    if (where == nullptr || where[l] != 0) total[0] = apply(value + l, 1)[0];
  }
}

void EvalProgram::store() {
  ScalarBits* value = lanes_of(total_ >= 0 ? total_ : value_);
  const int lanes = lane_is_spatial() ? lane_count_ : 1;
  int64_t offset = 0;
  for (int loop = 0; loop < spatial_loops_; ++loop) {
    offset += out_strides_[static_cast<size_t>(loop)] * position_[static_cast<size_t>(loop)];
  }
  const int64_t stride = lanes == 1 ? 0 : out_strides_[static_cast<size_t>(lane_loop_)];
  ScalarBits rounded[kLanes];
  std::copy_n(value, lanes, rounded);
  round_lanes(stage_.tensor->dtype, rounded, lanes);
  for (int l = 0; l < lanes; ++l) out_[offset + l * stride] = rounded[l];
}

}  // namespace espalier
