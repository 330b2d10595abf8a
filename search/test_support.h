// What several tests of this layer need.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "espalier/ir/ops/workload.h"
#include "espalier/runtime/measure.h"
#include "espalier/schedule/state.h"

namespace espalier::testing {

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string name = ::testing::TempDir() + "espalier-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TempFolder() {
    for (const char* file : {"a", "b", "c", "out"}) unlink(file_path(file).c_str());
    rmdir(path_.c_str());
  }
  std::string file_path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The same on every machine.
inline Target wide_target() {
  return parse_target(
             "x86_64 features=+avx2,+fma,+avx512f bits=512 regs=32 l1=32768 l2=1048576 "
             "l3=33554432 line=64 cores=2")
      .value();
}
inline Target narrow_target() {
  return parse_target(
             "x86_64 features=+avx2,+fma bits=256 regs=16 l1=32768 l2=524288 l3=33554432 "
             "line=64 cores=2")
      .value();
}

inline Task task_of(const std::string& workload, int threads = 1, Target target = wide_target()) {
  return {load_workload(workload).value(), std::move(target), threads, workload};
}

// Answers from a function, and remembers what it was asked.
class FakeMeasurer final : public Measurer {
 public:
  explicit FakeMeasurer(std::function<MeasureResult(const Candidate&)> answer)
      : answer_(std::move(answer)) {}

  static MeasureResult ok(double time_us) {
    MeasureResult r;
    r.status = MeasureStatus::Ok;
    r.time_us = time_us;
    r.times_us = {time_us};
    return r;
  }
  static MeasureResult failed(MeasureStatus status, std::string error = "planted") {
    MeasureResult r;
    r.status = status;
    r.error = std::move(error);
    return r;
  }

  std::vector<MeasureResult> measure(std::span<const Candidate> batch, double) override {
    std::vector<MeasureResult> results;
    for (const Candidate& c : batch) {
      ++measured[c.hash()];
      results.push_back(answer_(c));
      if (after_each) after_each();
    }
    return results;
  }

  Result<std::vector<std::vector<double>>> interleave(std::span<const Candidate> candidates,
                                                      int rounds) override {
    std::vector<std::vector<double>> times;
    for (const Candidate& c : candidates) {
      const double time = final_time ? final_time(c) : answer_(c).time_us;
      times.emplace_back(static_cast<size_t>(rounds), time);
      finalists.push_back(c.hash());
    }
    return times;
  }

  std::map<uint64_t, int> measured;  // how often
  std::vector<uint64_t> finalists;
  std::function<void()> after_each;
  std::function<double(const Candidate&)> final_time;  // empty: as measured

 private:
  std::function<MeasureResult(const Candidate&)> answer_;
};

// A landscape without noise: best where every number is near the square root of 60, with a penalty
// that depends on the sketch.
inline double smooth_time(const Candidate& c) {
  double time = 100 + static_cast<double>(c.sketch->hash() % 32);
  for (int32_t d : c.decisions) {
    const double off = static_cast<double>(d) / 8 > 1 ? static_cast<double>(d) / 8
                                                      : 8 / static_cast<double>(std::max(d, 1));
    time += 10 * (off - 1);
  }
  return time;
}

}  // namespace espalier::testing
