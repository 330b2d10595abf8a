// Chooser: takes the decisions that shape a sketch, and remembers them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/support/rng.h"

namespace espalier {

// One decision between variants of a sketch, as it was taken.
struct StructureChoice {
  std::string what;
  int options = 1;
  int preferred = 0;  // what a rule thinks is best
  int taken = 0;
};

// Each decision is taken by the script while that lasts, then as a hint of the same name says, then
// at random if there is an Rng, else as preferred. The decisions taken are themselves a script that
// leads to the same sketch.
class Chooser {
 public:
  Chooser() = default;
  explicit Chooser(std::span<const int> script, std::span<const StructureChoice> hints = {})
      : script_(script), hints_(hints) {}
  // With this probability a decision is as preferred, else uniform over all options.
  Chooser(Rng& rng, double preference) : rng_(&rng), preference_(preference) {}

  // One of [0, options).
  int choose(std::string_view what, int options, int preferred = 0);
  bool flag(std::string_view what, bool preferred) { return choose(what, 2, preferred) == 1; }

  const std::vector<StructureChoice>& taken() const { return taken_; }

 private:
  std::span<const int> script_;
  std::span<const StructureChoice> hints_;
  Rng* rng_ = nullptr;
  double preference_ = 0;
  std::vector<StructureChoice> taken_;
};

std::vector<int> script_of(const std::vector<StructureChoice>& choices);

}  // namespace espalier
