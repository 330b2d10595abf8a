// What a caller of tune() asks for.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "espalier/search/policy.h"

namespace espalier {

// After each candidate.
struct TuneProgress {
  int trial = 0;   // candidates so far, the default schedule included
  int trials = 0;  // asked for; 0: no limit
  double seconds = 0;
  double best_us = 0;     // 0: none ran right yet
  double default_us = 0;  // 0: it did not run right
  int failed = 0;
  bool from_records = false;  // the answer was already in the file
  const Observation* last = nullptr;
};

struct TuneOptions {
  int trials = 200;    // candidates to measure, the default schedule among them; 0: that alone
  double seconds = 0;  // of wall time, all included; 0: no limit
  double seconds_before = 0;  // of those, spent by the caller on preparations
  uint64_t seed = 0;
  std::string policy = "auto";  // as make_policy reads it
  PolicyParts parts;            // models and mutations of one's own, in place of the built-in ones
  SearchPolicy* custom_policy = nullptr;  // in place of the named one
  SketchRules custom_rules;
  std::vector<Seed> seeds;  // measured right after the default schedule
  std::string records;      // file to append to, and to resume from; empty: none
  int search_threads = 1;   // changes nothing but the time that the search takes
  int batch = 8;            // candidates handed to the measurer at once
  int finalists = 8;        // that are compared with the default schedule in the end, at most
  int final_rounds = 15;
  bool measure_naive = true;

  // What records and their reuse should know of the measurements.
  bool flush_cache = false;
  std::string device;          // fingerprint of the machine
  std::string compiler, llvm;  // versions

  std::function<void(const TuneProgress&)> progress;
  std::function<void(const std::string&)> log;   // warnings, a sentence each
  const std::atomic<bool>* interrupt = nullptr;  // set: stop, keeping what there is
  std::function<double()> clock;                 // seconds since some moment; empty: the system's
};

}  // namespace espalier
