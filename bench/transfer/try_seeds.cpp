// try_seeds: whether schedules that are carried over from one program to another compile, run and
// are right.
//
//   try_seeds [--sample N] [--seed S] [--only SUBSTRING] --out FILE records.jsonl
//
// The best schedule of each program is carried over to each other program that it stands for, in
// every way that transfer() knows. Of the ordered pairs of a kind (target's operator, level of the
// match) N are drawn, or all with --sample 0. Appends a line for each target to FILE; targets that
// have one are passed over, so that an interrupted run goes on.
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "command_line/console.h"
#include "command_line/exit_code.h"
#include "command_line/options.h"
#include "espalier/runtime/worker_client.h"
#include "espalier/runtime/worker_server.h"
#include "espalier/search/default_schedule.h"
#include "espalier/support/fd.h"
#include "espalier/support/json.h"
#include "transfer/donations/donations.h"

namespace espalier::bench {
namespace {

struct Settings {
  int64_t sample = 40, seed = 1;
  std::string out, only;
  std::vector<std::string> files;
};

// A donor for a target.
struct Pair {
  size_t donor = 0;
  char level = '.';
};

// "0" to "4", or "." where the programs do not stand for one another.
char level_of(const Donation& donor, const Donation& target) {
  const Match m = match(donor.task->dag, target.task->dag);
  return m ? static_cast<char>('0' + static_cast<int>(m.map().level)) : '.';
}

// The pairs to try, by target.
std::vector<std::vector<Pair>> draw_pairs(const Donations& donations, const Settings& settings) {
  const std::vector<Donation>& all = donations.all();
  std::map<std::pair<std::string, char>, std::vector<std::pair<size_t, Pair>>> kinds;
  for (size_t t = 0; t < all.size(); ++t) {
    for (size_t d = 0; d < all.size(); ++d) {
      if (d == t) continue;
      const char level = level_of(all[d], all[t]);
      if (level != '.') kinds[{all[t].family(), level}].push_back({t, {d, level}});
    }
  }
  std::vector<std::vector<Pair>> chosen(all.size());
  const Rng rng(static_cast<uint64_t>(settings.seed));
  uint64_t stream = 0;
  for (auto& [kind, pairs] : kinds) {
    rng.fork(stream++).shuffle(pairs);
    const size_t most = settings.sample == 0
                            ? pairs.size()
                            : std::min(pairs.size(), static_cast<size_t>(settings.sample));
    for (size_t i = 0; i < most; ++i) chosen[pairs[i].first].push_back(pairs[i].second);
  }
  return chosen;
}

// A seed of a pair.
struct Case {
  Pair pair;
  SeedRoad road = SeedRoad::Retargeted;
  Candidate candidate;
};

class Trial {
 public:
  Trial(const Donations& donations, const Donation& target)
      : donations_(donations), target_(target) {}

  void add(const Pair& pair) {
    ++pairs_[pair.level];
    const Donation& donor = donations_.all()[pair.donor];
    const Seeds seeds = seeds_of(donations_, donor, *target_.task);
    for (const TransferSeed& s : seeds.ranked) cases_.push_back({pair, s.road, s.candidate});
    for (const Declined& d : seeds.declined) {
      failures_.push(Json::object({{"donor", donor.task->workload},
                                   {"level", std::string(1, pair.level)},
                                   {"status", "none"},
                                   {"error", d.text}}));
    }
    if (seeds.ranked.empty()) ++pairs_without_[pair.level];
  }

  Result<Json> run() {
    std::vector<Candidate> distinct;
    std::map<uint64_t, size_t> place;
    for (const Case& c : cases_) {
      if (place.try_emplace(c.candidate.hash(), distinct.size()).second) {
        distinct.push_back(c.candidate);
      }
    }
    std::vector<MeasureResult> results;
    if (!distinct.empty()) {
      MeasureOptions measuring;
      measuring.worker = std::filesystem::read_symlink("/proc/self/exe").string();
      measuring.repeats = measuring.leader_repeats = 1;
      measuring.min_batch_ms = 0.01;
      measuring.timeout_s = 60;
      ESP_TRY(const auto measurer,
              WorkerMeasurer::make(*target_.task, measuring, default_candidate));
      results = measurer->measure(distinct, 0);
    }
    std::map<std::pair<char, SeedRoad>, std::pair<int64_t, int64_t>> counts;  // all, good
    for (const Case& c : cases_) {
      const MeasureResult& r = results[place[c.candidate.hash()]];
      auto& [seeds, good] = counts[{c.pair.level, c.road}];
      ++seeds;
      good += r.ok() ? 1 : 0;
      if (r.ok()) continue;
      failures_.push(Json::object({{"donor", donations_.all()[c.pair.donor].task->workload},
                                   {"level", std::string(1, c.pair.level)},
                                   {"road", name_of(c.road)},
                                   {"status", name_of(r.status)},
                                   {"error", r.error},
                                   {"trace", to_string(c.candidate.trace(), *target_.task)}}));
    }
    Json seeds = Json::array();
    for (const auto& [key, count] : counts) {
      seeds.push(Json::object({{"level", std::string(1, key.first)},
                               {"road", name_of(key.second)},
                               {"seeds", count.first},
                               {"good", count.second}}));
    }
    return Json::object({{"workload", target_.task->workload},
                         {"pairs", by_level(pairs_)},
                         {"pairs_without", by_level(pairs_without_)},
                         {"distinct", distinct.size()},
                         {"seeds", std::move(seeds)},
                         {"failures", std::move(failures_)}});
  }

 private:
  static Json by_level(const std::map<char, int64_t>& counts) {
    Json json = Json::object();
    for (const auto& [level, n] : counts) json.set(std::string(1, level), n);
    return json;
  }

  const Donations& donations_;
  const Donation& target_;
  std::vector<Case> cases_;
  std::map<char, int64_t> pairs_, pairs_without_;
  Json failures_ = Json::array();
};

Result<std::set<std::string>> finished(const std::string& path) {
  std::set<std::string> workloads;
  if (!std::filesystem::exists(path)) return workloads;
  ESP_TRY(const std::string text, read_file(path));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const Result<Json> line = parse_json(std::string_view(text).substr(begin, end - begin));
    if (line.ok()) workloads.insert(line->string_or("workload", ""));
    begin = end + 1;
  }
  return workloads;
}

Result<void> run(const Settings& settings, cli::Console& console) {
  ESP_TRY(const Donations donations, Donations::open(settings.files[0]));
  ESP_TRY(const std::set<std::string> done, finished(settings.out));
  const std::vector<std::vector<Pair>> chosen = draw_pairs(donations, settings);
  for (size_t t = 0; t < chosen.size(); ++t) {
    const Donation& target = donations.all()[t];
    const std::string& workload = target.task->workload;
    if (chosen[t].empty() || done.contains(workload) ||
        workload.find(settings.only) == std::string::npos) {
      continue;
    }
    Trial trial(donations, target);
    for (const Pair& pair : chosen[t]) trial.add(pair);
    Result<Json> line = trial.run();
    if (!line.ok()) return with_note(line.error(), "for ", workload);
    ESP_TRY_VOID(append_line(settings.out, line->dump()));
    console.note(workload + ": " + std::to_string(chosen[t].size()) + " donors");
  }
  return {};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  // The measurer starts this program again.
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return run_worker(0, 1);
  cli::prepare_standard_streams();
  cli::Console console;
  bench::Settings settings;
  cli::Options options("try_seeds", "whether schedules that are carried over run and are right");
  options.integer("--sample", settings.sample, 0, INT64_MAX,
                  "pairs of each kind to try; 0: all (40)");
  options.integer("--seed", settings.seed, 0, INT64_MAX, "of the sample (1)");
  options.text("--only", settings.only, "TEXT", "targets whose workloads contain it");
  options.text("--out", settings.out, "FILE", "a line a target is appended");
  options.positionals("records.jsonl", settings.files, "a file of tuning records");
  const auto parsed = options.parse({argv + 1, static_cast<size_t>(argc - 1)});
  if (parsed.ok() && !*parsed) {
    console.print(options.help());
    return cli::kGood;
  }
  Result<void> done = parsed.ok() ? Result<void>() : Result<void>(parsed.error());
  if (parsed.ok()) {
    done = settings.files.size() != 1 || settings.out.empty()
               ? cli::usage_error("expected --out FILE and one file of records")
               : bench::run(settings, console);
  }
  if (done.ok()) return cli::kGood;
  console.error(done.error());
  return cli::exit_code(done.error());
}
