// Where what belongs to benchmarks lies: the same below build/<preset> and an installation prefix.
#pragma once

#include <string>

namespace espalier::bench {

struct Folders {
  std::string programs;  // PREFIX/libexec/espalier: the contestants
  std::string suites;    // PREFIX/share/espalier/suites
  std::string traces;    // PREFIX/share/espalier/traces: schedules written by hand, by operator
};

/// From the place of this program, PREFIX/bin.
Folders find_folders();

}  // namespace espalier::bench
