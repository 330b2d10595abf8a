#include "espalier/transfer/explanation.h"

#include <algorithm>

#include "espalier/support/check.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string title_of(const Task& task) {
  return (task.workload.empty() ? to_string(task.dag) : task.workload + "\n") + "for " +
         to_string(task.target) + ", " + std::to_string(task.threads) +
         (task.threads == 1 ? " thread" : " threads");
}

std::string of_extent(int64_t value, int64_t extent) {
  return std::to_string(value) + " of " + std::to_string(extent);
}

std::string use_of(const RefitFactor& factor) {
  switch (factor.use) {
    case FactorUse::Vector: return "lanes";
    case FactorUse::Register: return "rows in registers";
    case FactorUse::Straight: return "straight code";
    case FactorUse::Tile: return "tile";
  }
  ESP_UNREACHABLE();
}

// Two columns, each line of the left one padded to its width.
std::string side_by_side(const std::string& left, const std::string& right) {
  const std::vector<std::string> a = lines_of(left), b = lines_of(right);
  size_t width = 20;
  for (const std::string& line : a) width = std::max(width, std::min<size_t>(line.size(), 64));
  std::string text;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    std::string line = i < a.size() ? a[i] : "";
    if (i < b.size() && !b[i].empty()) {
      if (line.size() < width) line.resize(width, ' ');
      line += "  | " + b[i];
    }
    text += "  " + line + "\n";
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

}  // namespace

std::string_view describe(FateReason reason) {
  switch (reason) {
    case FateReason::None: return "";
    case FateReason::NoStage: return "its stage has no counterpart";
    case FateReason::NoLoop: return "its loops have no counterpart";
    case FateReason::NoRead: return "the read has no counterpart";
    case FateReason::AlreadyOneLoop: return "one loop stands for them already";
    case FateReason::AlreadyInlined: return "inlined already";
    case FateReason::LoopsPlaced: return "loops that only the target has were put in their places";
    case FateReason::InnerOfGroup: return "the innermost of several loops stands for it";
    case FateReason::FusedFirst: return "the loops that stand for it were fused first";
    case FateReason::FurtherOut: return "attached further out, where it applies";
    case FateReason::AsAccumulator:
      return "the stage that it ran inside of is missing: accumulators take its part";
    case FateReason::PackedEachCall: return "no constant here: packed in each call";
    case FateReason::PackedOnce: return "a constant here: packed once";
    case FateReason::SplitFirst: return "too long to be lanes in one piece: split first";
    case FateReason::OneThread: return "there is one thread";
    case FateReason::Threads: return "shared between threads, of which the donor had one";
    case FateReason::FusedWider: return "fused with further loops, so that all threads work";
    case FateReason::TooLong: return "too many iterations for straight code";
    case FateReason::TooMuchCode: return "it would be too much code";
    case FateReason::Rejected: return "does not apply";
    case FateReason::NotInDonor: return "only the target has this stage: scheduled by rule";
  }
  ESP_UNREACHABLE("fate reason ", static_cast<int>(reason));
}

Explanation explain(const TransferSeed& seed, const Task& task, const Database& database) {
  const TuningRecord& record = database.records()[seed.record];
  Explanation e;
  e.donor_title = title_of(*seed.donor);
  e.target_title = title_of(task);
  e.summary = std::string(name_of(seed.map.level)) + ", " + std::string(name_of(seed.road)) +
              ", extents " + format_fixed(seed.distance, 2) + " powers of two apart; there " +
              format_fixed(record.result.time_us, 1) + " us" +
              (seed.gain != 1 ? ", " + format_fixed(seed.gain, 2) + " times as fast as the default"
                              : std::string());
  e.map = to_string(seed.map, seed.donor->dag, task.dag);
  const Trace target_trace = seed.candidate.trace();
  e.donor_trace = record.trace;
  e.target_trace = to_string(target_trace, task);
  const Result<Trace> donor_trace = parse_trace(record.trace, *seed.donor);
  if (donor_trace.ok()) {
    const Replayed replayed = replay(*seed.donor, *donor_trace);
    if (replayed.ok()) e.donor_nest = print_nest(replayed.state());
  }
  const Replayed replayed = replay(task, target_trace);
  if (replayed.ok()) e.target_nest = print_nest(replayed.state());

  const std::vector<std::string> donor_lines = lines_of(e.donor_trace);
  const std::vector<std::string> target_lines = lines_of(e.target_trace);
  for (const StepReport& s : seed.steps) {
    Explanation::StepLine line;
    line.fate = s.fate;
    const size_t n = static_cast<size_t>(s.donor_step);
    if (s.donor_step >= 0 && n < donor_lines.size()) line.donor = donor_lines[n];
    line.reason = describe(s.reason);
    if (s.reason == FateReason::Rejected) {
      line.reason += ": " + std::string(name_of(s.rejection.code));
    }
    for (int k = s.first; k < s.first + s.count; ++k) {
      if (static_cast<size_t>(k) < target_lines.size()) {
        line.target.push_back(target_lines[static_cast<size_t>(k)]);
      }
    }
    e.steps.push_back(std::move(line));
  }
  for (const FactorReport& f : seed.factors) {
    const size_t n = static_cast<size_t>(f.donor_step);
    std::string what = use_of(f.factor);
    if (f.donor_step >= 0 && n < donor_lines.size()) what += " in '" + donor_lines[n] + "'";
    // Numbers may have been made smaller afterwards.
    const int64_t now =
        f.slot >= 0 ? seed.candidate.decisions[static_cast<size_t>(f.slot)] : f.factor.target;
    e.factors.push_back({std::move(what), of_extent(f.factor.donor, f.donor_extent),
                         of_extent(now, f.target_extent), std::string(name_of(f.factor.rule))});
  }
  return e;
}

std::string to_text(const Explanation& e) {
  std::string text =
      e.summary + "\n\ndonor | target\n" + side_by_side(e.donor_title, e.target_title);
  text += "\nmap\n" + side_by_side(e.map, "");
  text += "\nloop nests\n" + side_by_side(e.donor_nest, e.target_nest);
  text += "\nsteps\n";
  if (e.steps.empty()) text += side_by_side(e.donor_trace, e.target_trace);
  for (const Explanation::StepLine& s : e.steps) {
    std::string fate(name_of(s.fate));
    fate.resize(9, ' ');
    text += "  " + fate + (s.donor.empty() ? "(none)" : s.donor) + "\n";
    for (const std::string& line : s.target) {
      if (line != s.donor) text += "        => " + line + "\n";
    }
    if (!s.reason.empty()) text += "           " + s.reason + "\n";
  }
  text += "\nnumbers\n";
  for (const Explanation::FactorLine& f : e.factors) {
    text += "  " + f.donor + " -> " + f.target + ": " + f.what + ", " + f.rule + "\n";
  }
  return text;
}

std::string to_html(const std::vector<Explanation>& all, std::string_view title) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(title) +
      "</title>\n<style>\n"
      "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:78em;padding:0 1em;"
      "color:#222;background:#fff}\n"
      "pre,td,code{font:13px/1.45 ui-monospace,monospace}\n"
      "pre{background:#f6f6f3;padding:.7em;overflow-x:auto;margin:0}\n"
      "table{border-collapse:collapse;width:100%;margin:.5em 0 1.5em}\n"
      "td,th{vertical-align:top;text-align:left;padding:.25em .6em;border-top:1px solid #ddd}\n"
      ".pair{display:grid;grid-template-columns:1fr 1fr;gap:1em;margin:.5em 0 1.5em}\n"
      ".kept{color:#1a7f37}.mended{color:#9a6700}.dropped{color:#cf222e}.added{color:#0969da}\n"
      ".why{font:13px/1.45 system-ui,sans-serif;color:#555}\n"
      "@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}"
      "pre{background:#222}td,th{border-color:#444}.why{color:#aaa}}\n"
      "</style></head><body>\n<h1>" +
      escaped(title) + "</h1>\n";
  auto pair = [&](std::string_view left, std::string_view right) {
    page += "<div class=\"pair\"><pre>" + escaped(left) + "</pre><pre>" + escaped(right) +
            "</pre></div>\n";
  };
  int number = 0;
  for (const Explanation& e : all) {
    page += "<h2>Seed " + std::to_string(++number) + ": " + escaped(e.summary) + "</h2>\n";
    page += "<h3>Donor and target</h3>\n";
    pair(e.donor_title, e.target_title);
    page += "<h3>Map</h3>\n<pre>" + escaped(e.map) + "</pre>\n<h3>Loop nests</h3>\n";
    pair(e.donor_nest, e.target_nest);
    page += "<h3>Steps</h3>\n";
    if (e.steps.empty()) pair(e.donor_trace, e.target_trace);
    if (!e.steps.empty()) {
      page += "<table><tr><th>fate</th><th>donor</th><th>target</th><th>why</th></tr>\n";
      for (const Explanation::StepLine& s : e.steps) {
        const std::string fate(name_of(s.fate));
        std::string target;
        for (const std::string& line : s.target) {
          target += (target.empty() ? "" : "<br>") + escaped(line);
        }
        page += "<tr><td class=\"" + fate + "\">" + fate + "</td><td>" + escaped(s.donor) +
                "</td><td>" + target + "</td><td class=\"why\">" + escaped(s.reason) +
                "</td></tr>\n";
      }
      page += "</table>\n";
    }
    if (e.factors.empty()) continue;
    page +=
        "<h3>Numbers</h3>\n<table><tr><th>what</th><th>donor</th><th>target</th><th>rule</th></"
        "tr>\n";
    for (const Explanation::FactorLine& f : e.factors) {
      page += "<tr><td>" + escaped(f.what) + "</td><td>" + escaped(f.donor) + "</td><td>" +
              escaped(f.target) + "</td><td class=\"why\">" + escaped(f.rule) + "</td></tr>\n";
    }
    page += "</table>\n";
  }
  return page + "</body></html>\n";
}

}  // namespace espalier
