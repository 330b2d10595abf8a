// Programs and helpers shared by the tests of schedules.
#pragma once

#include <string_view>

#include "espalier/schedule/state.h"

namespace espalier {

inline constexpr std::string_view kMatmul = R"(
A = placeholder f32[100, 64]
B = constant f32[64, 48]
P[i: 100, k: 64] = A[i, k] * 2.0f32
C[i: 100, j: 48] = sum[k: 64](P[i, k] * B[k, j])
R[i: 100, j: 48] = max(C[i, j], 0.0f32)
return R
)";

inline constexpr std::string_view kConvolution = R"(
X = placeholder f32[1, 58, 58, 64]
W = constant f32[3, 3, 64, 64]
B = placeholder f32[64]
C[n: 1, h: 56, w: 56, co: 64] = sum[kh: 3, kw: 3, ci: 64](X[n, h + kh, w + kw, ci] * W[kh, kw, ci, co])
R[n: 1, h: 56, w: 56, co: 64] = max(C[n, h, w, co] + B[co], 0.0f32)
return R
)";

inline Task task_of(std::string_view dag) {
  Task task;
  task.dag = parse_dag(dag).value();
  task.target = parse_target("x86_64 features=+avx2,+fma cores=2").value();
  task.threads = 2;
  return task;
}

// The state of a trace that must apply.
inline State state_of(const Task& task, std::string_view trace) {
  return replay(task, parse_trace(trace, task).value()).take();
}

}  // namespace espalier
