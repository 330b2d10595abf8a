// Task: what is to be made fast, and for which machine.
#pragma once

#include "espalier/ir/dag.h"
#include "espalier/support/target.h"

namespace espalier {

struct Task {
  ComputeDag dag;
  Target target;
  int threads = 1;       // slots of the thread pool the kernel will run on
  std::string workload;  // the spec it came from, or empty; for people and records
};

}  // namespace espalier
