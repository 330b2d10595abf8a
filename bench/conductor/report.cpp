#include "conductor/report.h"

#include <algorithm>
#include <set>

#include "command_line/table.h"
#include "conductor/statistics.h"
#include "espalier/support/number.h"

namespace espalier::bench {
namespace {

const char* const kVariants[] = {kDefault, kTrace, kNaive};

const std::vector<double>* times_of(const Row& row, const std::string& name) {
  const auto times = row.us.find(name);
  return times == row.us.end() || times->second.empty() ? nullptr : &times->second;
}

bool is_done(const Row& row) { return row.failure.empty(); }

// The median over the rounds of what two series make of each other within a round.
double median_of(const std::vector<double>& a, const std::vector<double>& b,
                 double (*combine)(double a, double b)) {
  std::vector<double> each;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) each.push_back(combine(a[i], b[i]));
  return median(each);
}

double of_peak(const Row& row) {
  return row.flops / 1e3 *
         median_of(row.us.at(kOurs), row.peak_gflops,
                   [](double us, double gflops) { return 1 / (us * gflops); });
}

double of_copy(const Row& row) {
  return median_of(row.copy_us, row.us.at(kOurs), [](double copy, double us) { return copy / us; });
}

// Moving its data takes longer than computing with them could.
bool is_memory_bound(const Row& row) {
  return row.bytes > 0 && row.flops / 1e3 / median(row.peak_gflops) < median(row.copy_us);
}

std::vector<std::string> peers_of(const Row& row) {
  std::vector<std::string> names;
  for (const std::string& peer : known_peers()) {
    if (times_of(row, peer) != nullptr) names.push_back(peer);
  }
  return names;
}

std::string best_peer(const Row& row) {
  std::string best;
  for (const std::string& peer : peers_of(row)) {
    if (best.empty() || median(row.us.at(peer)) < median(row.us.at(best))) best = peer;
  }
  return best;
}

Json texts(const std::map<std::string, std::string>& from) {
  Json all = Json::object();
  for (const auto& [name, text] : from) all.set(name, text);
  return all;
}

Json row_json(const Row& row) {
  Json json = Json::object({{"workload", row.workload}});
  if (row.count > 1) json.set("count", row.count);
  if (!is_done(row)) {
    for (const char* key : {"us", "gflops", "of_peak", "lookup"}) json.set(key, Json());
    return json.set("peers", Json::object()).set("ratio", Json()).set("error", row.failure);
  }
  const double us = median(row.us.at(kOurs));
  json.set("us", us).set("gflops", row.flops / us / 1e3).set("of_peak", of_peak(row));
  json.set("gbps", row.bytes / us / 1e3);
  if (is_memory_bound(row)) json.set("of_copy", of_copy(row));
  json.set("lookup", row.lookup);
  for (const char* variant : kVariants) {
    if (const auto* times = times_of(row, variant)) {
      json.set(std::string(variant) + "_us", median(*times));
    }
  }
  Json peers = Json::object();
  for (const std::string& peer : peers_of(row)) peers.set(peer, median(row.us.at(peer)));
  json.set("peers", peers);
  const bool rated = !row.ratios.empty();
  const Estimate ratio = estimate_median(row.ratios);
  json.set("ratio", rated ? Json(ratio.value) : Json());
  json.set("ratio_low", rated ? Json(ratio.low) : Json());
  json.set("ratio_high", rated ? Json(ratio.high) : Json());
  if (rated) json.set("best_peer", best_peer(row));
  return json.set("details", texts(row.details)).set("absent", texts(row.absent));
}

struct Totals {
  std::vector<double> peaks, streams;
  std::vector<std::vector<double>> ratios;
  int64_t not_done = 0, without_peer = 0;
  Estimate mean;
  double least = 0;
};

Totals totals_of(const std::vector<Row>& rows) {
  Totals totals;
  for (const Row& row : rows) {
    if (row.ratios.empty()) ++totals.without_peer;  // for whatever reason
    if (!is_done(row)) {
      ++totals.not_done;
      continue;
    }
    totals.peaks.insert(totals.peaks.end(), row.peak_gflops.begin(), row.peak_gflops.end());
    totals.streams.insert(totals.streams.end(), row.stream_gbps.begin(), row.stream_gbps.end());
    if (!row.ratios.empty()) {
      const double ratio = median(row.ratios);
      totals.least = totals.ratios.empty() ? ratio : std::min(totals.least, ratio);
      totals.ratios.push_back(row.ratios);
    }
  }
  totals.mean = estimate_geomean(totals.ratios);
  return totals;
}

std::string interval(const Estimate& e) {
  return format_fixed(e.low, 2) + " to " + format_fixed(e.high, 2);
}

std::string us_cell(const std::vector<double>* times) {
  return times == nullptr ? "-" : format_fixed(median(*times), 1);
}

std::string table_of(const Report& report) {
  std::vector<std::string> heading = {"workload", "us", "GFLOP/s", "of peak", "of copy", "look-up"};
  std::vector<std::string> columns;  // contestants other than ours
  for (const char* variant : kVariants) columns.push_back(variant);
  columns.insert(columns.end(), report.options.peers.begin(), report.options.peers.end());
  std::erase_if(columns, [&](const std::string& name) {
    return std::none_of(report.rows.begin(), report.rows.end(),
                        [&](const Row& row) { return times_of(row, name) != nullptr; });
  });
  for (const std::string& name : columns) heading.push_back(name + " us");
  heading.insert(heading.end(), {"ratio", "90% interval"});
  std::vector<size_t> right;
  for (size_t c = 1; c < heading.size(); ++c) right.push_back(c);
  cli::Table table(heading, right);
  for (const Row& row : report.rows) {
    if (!is_done(row)) continue;
    const double us = median(row.us.at(kOurs));
    std::vector<std::string> cells = {row.workload,
                                      format_fixed(us, 1),
                                      format_fixed(row.flops / us / 1e3, 1),
                                      format_fixed(of_peak(row), 2),
                                      is_memory_bound(row) ? format_fixed(of_copy(row), 2) : "-",
                                      row.lookup};
    for (const std::string& name : columns) cells.push_back(us_cell(times_of(row, name)));
    const Estimate ratio = estimate_median(row.ratios);
    cells.push_back(row.ratios.empty() ? "-" : format_fixed(ratio.value, 2));
    cells.push_back(row.ratios.empty() ? "-" : interval(ratio));
    table.add(cells);
  }
  return table.text();
}

}  // namespace

Json summary_of(const Report& report) {
  const Totals totals = totals_of(report.rows);
  Json rows = Json::array();
  double total_us = 0;
  for (const Row& row : report.rows) {
    rows.push(row_json(row));
    if (is_done(row)) total_us += static_cast<double>(row.count) * median(row.us.at(kOurs));
  }
  const bool rated = !totals.ratios.empty();
  auto known = [](const std::vector<double>& values) {
    return values.empty() ? Json() : Json(median(values));
  };
  Json json = Json::object({{"suite", report.suite.empty() ? Json() : Json(report.suite)},
                            {"threads", report.options.threads},
                            {"target", to_string(report.options.target)},
                            {"cpu", host_cpu_fingerprint()},
                            {"rounds", report.options.rounds},
                            {"seed", report.options.seed},
                            {"asked_peers", Json(report.options.peers)},
                            {"peak_gflops", known(totals.peaks)},
                            {"stream_gbps", known(totals.streams)},
                            {"rows", rows},
                            {"total_us", total_us},
                            {"geomean_ratio", rated ? Json(totals.mean.value) : Json()},
                            {"geomean_ratio_low", rated ? Json(totals.mean.low) : Json()},
                            {"geomean_ratio_high", rated ? Json(totals.mean.high) : Json()},
                            {"min_ratio", rated ? Json(totals.least) : Json()},
                            {"rows_without_peer", totals.without_peer},
                            {"rows_not_done", totals.not_done}});
  if (report.interrupted) json.set("stopped", "interrupted");
  return json;
}

Json as_json(const Report& report) {
  Json context = Json::object(), entries = Json::array();
  for (const Row& row : report.rows) {
    if (context.size() == 0 && row.context.is_object()) context = row.context;
    for (const Json& entry : row.entries) entries.push(entry);
  }
  return Json::object(
      {{"context", context}, {"benchmarks", entries}, {"summary", summary_of(report)}});
}

std::string as_text(const Report& report) {
  const Totals totals = totals_of(report.rows);
  std::string text = table_of(report);
  if (totals.ratios.size() > 1) {
    text += "geometric mean of " + std::to_string(totals.ratios.size()) +
            " ratios: " + format_fixed(totals.mean.value, 2) + " (" + interval(totals.mean) +
            "); the least: " + format_fixed(totals.least, 2) + "\n";
  }
  const int threads = report.options.threads;
  if (!totals.peaks.empty()) {
    text += "ratio: best peer / ours, median over " + std::to_string(report.options.rounds) +
            " rounds; peak: " + format_fixed(median(totals.peaks), 1) +
            " GFLOP/s, copy beyond the caches: " + format_fixed(median(totals.streams), 1) +
            " GB/s, on " + std::to_string(threads) + (threads == 1 ? " thread\n" : " threads\n");
  }
  if (std::any_of(report.rows.begin(), report.rows.end(),
                  [](const Row& row) { return times_of(row, kTrace) != nullptr; })) {
    text += "trace: a schedule written by hand, of share/espalier/traces\n";
  }
  std::map<std::string, std::set<std::string>> details;
  std::map<std::string, std::map<std::string, int>> absent;
  for (const Row& row : report.rows) {
    if (!is_done(row)) {
      text += "not done: " + row.workload + ": " + row.failure + "\n";
      continue;
    }
    for (const std::string& peer : peers_of(row)) details[peer].insert(row.details.at(peer));
    for (const auto& [name, why] : row.absent) ++absent[name][why];
  }
  for (const auto& [name, all] : details) {
    text += name + ":";
    for (const std::string& detail : all) text += " " + detail;
    text += "\n";
  }
  for (const auto& [name, reasons] : absent) {
    for (const auto& [why, rows] : reasons) {
      text += name + " absent from " + std::to_string(rows) + (rows == 1 ? " row: " : " rows: ") +
              why + "\n";
    }
  }
  if (totals.without_peer > 0) {
    text += "rows without a peer: " + std::to_string(totals.without_peer) + "\n";
  }
  return text;
}

std::string as_line(const Row& row) {
  if (!is_done(row)) return "not done: " + row.failure;
  std::string text = format_fixed(median(row.us.at(kOurs)), 1) + " us (" + row.lookup + ")";
  if (row.ratios.empty()) return text + ", no peer";
  const Estimate ratio = estimate_median(row.ratios);
  return text + ", " + best_peer(row) + " / ours " + format_fixed(ratio.value, 2) + " (" +
         interval(ratio) + ")";
}

}  // namespace espalier::bench
