// A schedule written by hand: a matrix product with relu, cut into register tiles, packed, run and
// compared with the definition. docs/steps.md explains the steps.
#include <cmath>
#include <cstdio>
#include <iostream>

#include "espalier/espalier.h"

using namespace espalier;

int main() {
  const int64_t m = 250, n = 190, k = 120;
  const Tensor a = placeholder("A", {m, k});
  const Tensor b = constant("B", {k, n});  // a weight: bound once, packed then
  const Axis r = reduce_axis("r", k);
  const Tensor c = compute("C", {m, n}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), r); });
  const Tensor y = compute("Y", {m, n}, [&](Var i, Var j) { return max(c(i, j), 0.0f); });
  const Task task{ComputeDag::make({y}).value(), host_target(), 1, ""};

  // The 6x16 tile divides neither extent; what is left over is computed all the same.
  const Result<Trace> trace = parse_trace(R"(
      C: split i -> i.0 i.1 by 6
      C: split j -> j.0 j.1 by 16
      C: reorder j.0 i.0 r i.1 j.1
      C: pack_constant 1 layout [j.0, r, j.1] -> B.pack
      C: cache_write at i.0 -> C.acc
      C.acc: unroll i.1
      C.acc: vectorize j.1
      C.acc: registers
      C: vectorize j.1.w
      Y: compute_after C i.0
      Y: vectorize j.1.w
      C: share Y
  )",
                                          task);
  if (!trace.ok()) {
    std::cerr << to_string(trace.error()) << "\n";
    return 1;
  }
  const Replayed replayed = replay(task, *trace);
  if (!replayed.ok()) {
    std::cerr << explain(replayed.rejection(), task, *trace) << "\n";
    return 1;
  }
  std::cout << print_nest(replayed.state());

  const Result<Kernel> unbound = compile(replayed.state());
  if (!unbound.ok()) {
    std::cerr << to_string(unbound.error()) << "\n";
    return 1;
  }
  const std::vector<Array> arguments = make_inputs(task.dag, /*seed=*/1);
  const Kernel kernel = unbound->bind({arguments[1]}).value();
  const std::vector<Array> outputs = kernel.make_outputs();
  if (const auto done = kernel.run({arguments[0]}, {outputs[0]}); !done.ok()) {
    std::cerr << to_string(done.error()) << "\n";
    return 1;
  }

  const std::vector<Array> expected = evaluate(task.dag, arguments).value();
  double worst = 0;
  for (int64_t i = 0; i < outputs[0].elements(); ++i) {
    worst = std::max(worst, std::abs(outputs[0].get(i) - expected[0].get(i)));
  }
  std::printf("largest difference from the definition: %g\n", worst);
  return worst < 1e-3 ? 0 : 1;
}
