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
  const ComputeDag dag = ComputeDag::make({y}).value();

  // The 6x16 tile divides neither extent; what is left over is computed all the same.
  Schedule s(dag);
  const auto [io, ii] = s.split(s.loop(c, "i"), 6);
  const auto [jo, ji] = s.split(s.loop(c, "j"), 16);
  const LoopHandle k0 = s.loop(c, "r");
  s.reorder({jo, io, k0, ii, ji});
  s.pack_constant(c, 1, {jo, k0, ji});
  const StageHandle acc = s.cache_write(io);  // the loops below io move there
  s.unroll(s.loop(acc, ii));
  s.vectorize(s.loop(acc, ji));
  s.registers(acc);
  s.vectorize({c, "j.1.w"});
  s.compute_after(y, io);
  s.vectorize({y, "j.1.w"});
  s.share(c, y);
  const Result<State> state = s.finish();
  if (!state.ok()) {
    std::cerr << to_string(state.error()) << "\n";
    return 1;
  }
  // The same steps as text are what records and `espalier --trace` hold.
  std::cout << *state << "\n" << to_string(state->trace(), state->task());

  const Result<Kernel> unbound = compile(*state);
  if (!unbound.ok()) {
    std::cerr << to_string(unbound.error()) << "\n";
    return 1;
  }
  const std::vector<Array> arguments = make_inputs(dag, /*seed=*/1);
  const Kernel kernel = unbound->bind({arguments[1]}).value();
  const std::vector<Array> outputs = kernel.make_outputs();
  if (const auto done = kernel.run({arguments[0]}, {outputs[0]}); !done.ok()) {
    std::cerr << to_string(done.error()) << "\n";
    return 1;
  }

  const std::vector<Array> expected = evaluate(dag, arguments).value();
  double worst = 0;
  for (int64_t i = 0; i < outputs[0].elements(); ++i) {
    worst = std::max(worst, std::abs(outputs[0].get(i) - expected[0].get(i)));
  }
  std::printf("largest difference from the definition: %g\n", worst);
  return worst < 1e-3 ? 0 : 1;
}
