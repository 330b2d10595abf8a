// match_pairs: which programs of a file of records stand for which others, and how long it takes
// to find out and to carry a schedule over.
//
//   match_pairs records.jsonl
//
// Prints {"workloads": [...], "levels": [...], "carry_us": {...}}. levels[t][d] is a character: the
// level at which program d stands for t, 0 to 4, "." if it does not, "-" for t itself. carry_us are
// quantiles, over the pairs that match, of the time for match, retarget and refit of one seed.
#include <algorithm>
#include <chrono>
#include <iostream>

#include "command_line/console.h"
#include "command_line/exit_code.h"
#include "command_line/options.h"
#include "espalier/support/json.h"
#include "transfer/donations/donations.h"

namespace espalier::bench {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Json quantiles(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  Json result = Json::object({{"pairs", times.size()}});
  if (times.empty()) return result;
  auto at = [&](double q) {
    return times[static_cast<size_t>(q * static_cast<double>(times.size() - 1))];
  };
  return result.set("median", at(0.5)).set("p90", at(0.9)).set("p99", at(0.99)).set("most", at(1));
}

Result<void> run(const std::string& path, cli::Console& console) {
  ESP_TRY(const Donations donations, Donations::open(path));
  Json workloads = Json::array(), levels = Json::array();
  std::vector<double> carry;
  const std::vector<TuningRecord>& records = donations.database().records();
  std::vector<Trace> traces;
  for (const Donation& d : donations.all()) {
    ESP_TRY(Trace trace, parse_trace(records[d.record].trace, *d.task));
    traces.push_back(std::move(trace));
  }
  for (const Donation& target : donations.all()) {
    std::string row;
    for (size_t i = 0; i < donations.all().size(); ++i) {
      const Donation& donor = donations.all()[i];
      if (&donor == &target) {
        row += '-';
        continue;
      }
      const double start = now_us();
      const Match m = match(donor.task->dag, target.task->dag);
      row += m ? static_cast<char>('0' + static_cast<int>(m.map().level)) : '.';
      if (!m) continue;
      const RetargetResult moved = retarget(m.map(), *donor.task, traces[i], *target.task);
      if (moved) carry.push_back(now_us() - start);
    }
    workloads.push(target.task->workload);
    levels.push(std::move(row));
  }
  console.print(Json::object({{"workloads", std::move(workloads)},
                              {"levels", std::move(levels)},
                              {"carry_us", quantiles(std::move(carry))}})
                    .dump() +
                "\n");
  return {};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  cli::prepare_standard_streams();
  cli::Console console;
  std::vector<std::string> files;
  cli::Options options("match_pairs", "which programs of a file of records stand for which others");
  options.positionals("records.jsonl", files, "a file of tuning records");
  const auto parsed = options.parse({argv + 1, static_cast<size_t>(argc - 1)});
  if (parsed.ok() && !*parsed) {
    console.print(options.help());
    return cli::kGood;
  }
  Result<void> done = parsed.ok() ? Result<void>() : Result<void>(parsed.error());
  if (parsed.ok()) {
    done = files.size() != 1 ? cli::usage_error("expected one file of records")
                             : bench::run(files[0], console);
  }
  if (done.ok()) return cli::kGood;
  console.error(done.error());
  return cli::exit_code(done.error());
}
