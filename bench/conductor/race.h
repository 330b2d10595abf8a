// One workload, done by all contestants, round by round in random order.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "conductor/contestant_process.h"
#include "conductor/folders.h"
#include "espalier/support/json.h"
#include "espalier/support/rng.h"
#include "espalier/support/target.h"

namespace espalier::bench {

/// Other libraries that there are contestants for.
const std::vector<std::string>& known_peers();

struct RaceOptions {
  Target target;
  int threads = 1;
  int64_t rounds = 15;
  double batch_ms = 20;
  uint64_t seed = 0;  // of the order
  std::vector<std::string> peers;
  std::string records;  // empty: none
  bool naive = false;   // the definition's loops, compiled from C, take part
  Folders folders;
};

// Contestants of ours, beside peers under their own names.
inline constexpr const char* kOurs = "espalier";  // the best of the records, or the default
inline constexpr const char* kDefault = "default";
inline constexpr const char* kTrace = "trace";
inline constexpr const char* kNaive = "naive";

struct Row {
  std::string workload;
  int64_t count = 1;    // how often a network runs it
  std::string failure;  // why there is nothing but the workload, if so
  double flops = 0, bytes = 0;
  std::string lookup;                             // how the records fit: "exact", ..., "default"
  std::map<std::string, std::vector<double>> us;  // by contestant, a round each
  std::map<std::string, std::string> details;     // by contestant: which implementation
  std::map<std::string, std::string> absent;      // by contestant: why it has no times
  std::vector<double> peak_gflops, copy_us, stream_gbps;  // a round each
  std::vector<double> ratios;  // best peer / ours, a round each; empty without peers
  Json context;                // Google Benchmark's, of our contestant
  std::vector<Json> entries;   // its entries, in the order in which they were measured
};

/// What is the same for all rows of a benchmark.
class Race {
 public:
  Race(const RaceOptions& options, const std::atomic<bool>& interrupt)
      : options_(options), interrupt_(interrupt), rng_(options.seed) {}

  /// A workload that cannot be done (no such operator, no code for it) is a row that says so, and
  /// a peer that cannot do it, is wrong or breaks down is absent from the row. Errors: Interrupted,
  /// NotFound where our own contestant is not installed.
  Result<Row> run(const std::string& workload);

 private:
  struct Runner {
    std::string name;
    ContestantProcess process;
  };
  Result<void> start(const std::string& name, const std::string& program, Row& row,
                     std::vector<Runner>& runners, std::vector<std::string> further = {});
  Result<void> start_all(Row& row, std::vector<Runner>& runners);
  Result<void> run_rounds(Row& row, std::vector<Runner>& runners);
  std::string program(const std::string& name, bool by_width) const;

  RaceOptions options_;
  const std::atomic<bool>& interrupt_;
  Rng rng_;  // of the order
};

/// What libraries read from the environment: as many threads as we have, the widest vectors of the
/// target, and kernels that were written for it. What the user set for them is left out.
Environment environment_for(const Target& target, int threads);

}  // namespace espalier::bench
