// What a benchmark says in the end.
#pragma once

#include <string>
#include <vector>

#include "conductor/race.h"

namespace espalier::bench {

struct Report {
  std::string suite;  // empty: single workloads
  RaceOptions options;
  bool interrupted = false;
  std::vector<Row> rows;
};

/// Google Benchmark's JSON of all contestants and rounds, with a `summary` beside it.
Json as_json(const Report& report);
/// The object under `summary`.
Json summary_of(const Report& report);
/// A table, and what goes with it, for people.
std::string as_text(const Report& report);
/// "2402.1 us, 1.04 (1.00 to 1.07) of onednn", or why there is nothing.
std::string as_line(const Row& row);

}  // namespace espalier::bench
