#include "espalier/codegen/asm_report.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <unordered_map>

namespace espalier {
namespace {

constexpr int kNoLoop = -1;

// The text behind `key` up to a blank.
std::string_view word_after(std::string_view s, std::string_view key) {
  const size_t at = s.find(key);
  if (at == std::string_view::npos) return {};
  s.remove_prefix(at + key.size());
  return s.substr(0, s.find_first_of(" \t"));
}

// The loop and the extent that loop_block_name wrote into a block's name; LLVM may have put a
// number behind.
struct BlockName {
  std::string_view loop;
  double trips;
};
std::optional<BlockName> parse_block_name(std::string_view name) {
  const size_t end = name.rfind('.');
  if (end == std::string_view::npos || end == 0) return {};
  const size_t start = name.rfind(".x", end - 1);
  if (start == std::string_view::npos) return {};
  int64_t extent = 0;
  const auto [at, error] = std::from_chars(name.data() + start + 2, name.data() + end, extent);
  if (error != std::errc() || at != name.data() + end) return {};
  return BlockName{name.substr(0, start), static_cast<double>(extent)};
}

class Reader {
 public:
  Reader(std::string_view text, AsmSyntax syntax)
      : text_(text), syntax_(syntax), marker_(syntax == AsmSyntax::X86 ? "#" : "//") {}

  AsmReport read() {
    int line = 0;
    for (size_t at = 0; at < text_.size(); ++line) {
      const size_t end = std::min(text_.find('\n', at), text_.size());
      read_line(text_.substr(at, end - at), line);
      at = end + 1;
    }
    weigh();
    return std::move(report_);
  }

 private:
  void read_line(std::string_view line, int number) {
    const size_t comment_at = line.find(marker_);
    const std::string_view comment =
        comment_at == std::string_view::npos ? "" : line.substr(comment_at + marker_.size());
    std::string_view code = line.substr(0, comment_at);
    if (const size_t first = code.find_first_not_of(" \t"); first != std::string_view::npos) {
      code.remove_prefix(first);
      code = code.substr(0, code.find_last_not_of(" \t") + 1);
    } else {
      code = {};
    }
    if (code.empty()) {
      // "# %bb.3:   # %exit" begins a block that nothing jumps to.
      if (comment.starts_with(" %bb.")) {
        const size_t colon = comment.find(':');
        begin_block("", colon == std::string_view::npos ? "" : comment.substr(colon), number);
      } else if (in_header_) {
        read_header(comment);
      }
      return;
    }
    if (code.ends_with(':')) return read_label(code.substr(0, code.size() - 1), comment, number);
    if (code[0] == '.') return;  // a directive
    in_header_ = false;
    if (loop_ != kNoLoop) count(code, number);
    if (code.starts_with("movq") && code.ends_with("%rsp, %rbp")) frame_pointer_ = true;
  }

  void read_label(std::string_view label, std::string_view comment, int number) {
    if (label.starts_with(".LBB")) {
      begin_block(label, comment, number);
    } else if (label[0] != '.') {
      function_ = std::string(label);
      frame_pointer_ = false;
      function_trips_ = 1;
      loop_ = kNoLoop;
    }
  }

  void begin_block(std::string_view label, std::string_view comment, int number) {
    label_ = std::string(label);
    label_line_ = number;
    name_ = std::string(word_after(comment, "%"));
    loop_ = parent_ = kNoLoop;
    in_header_ = true;
    if (name_.empty() || !label.empty()) return;
    // The entry of a parallel loop's body: the first block of its function.
    if (const auto name = parse_block_name(name_); name && before_its_loops()) {
      function_trips_ = name->trips;
    }
  }

  // Whether no loop of the function has begun yet.
  bool before_its_loops() const {
    return report_.loops.empty() || report_.loops.back().function != function_;
  }

  // Comments below a block's label say which loops it is in.
  void read_header(std::string_view comment) {
    if (const std::string_view parent = word_after(comment, "Parent Loop "); !parent.empty()) {
      parent_ = find(parent);
    } else if (const std::string_view of = word_after(comment, "in Loop: Header="); !of.empty()) {
      loop_ = find(of);
      if (loop_ != kNoLoop) report_.loops[static_cast<size_t>(loop_)].lines.push_back(label_line_);
    } else if (comment.find("Loop Header: Depth=") != std::string_view::npos) {
      begin_loop(word_after(comment, "Depth="));
    }
  }

  void begin_loop(std::string_view depth) {
    MachineLoop loop;
    loop.function = function_;
    loop.label = label_;
    std::from_chars(depth.data(), depth.data() + depth.size(), loop.depth);
    loop.trips =
        parent_ == kNoLoop ? function_trips_ : report_.loops[static_cast<size_t>(parent_)].trips;
    if (const auto name = parse_block_name(name_)) {
      loop.name = std::string(name->loop);
      loop.trips *= name->trips;
    }
    loop.lines.push_back(label_line_);
    loop_ = static_cast<int>(report_.loops.size());
    by_header_[label_.substr(std::min<size_t>(2, label_.size()))] = loop_;  // ".LBB0_1": "BB0_1"
    report_.loops.push_back(std::move(loop));
  }

  int find(std::string_view header) const {
    const auto it = by_header_.find(std::string(header));
    return it == by_header_.end() ? kNoLoop : it->second;
  }

  void count(std::string_view code, int number) {
    MachineLoop& loop = report_.loops[static_cast<size_t>(loop_)];
    loop.lines.push_back(number);
    InstructionCounts& c = loop.counts;
    const AsmKind kind = classify(parse_instruction(code), syntax_, frame_pointer_);
    ++c.total;
    c.fma += kind.fma;
    c.loads += kind.load;
    c.broadcasts += kind.broadcast;
    c.stores += kind.store;
    c.shuffles += kind.shuffle;
    c.spill_stores += kind.spill_store;
    c.spill_reloads += kind.spill_reload;
    c.loaded_bytes += kind.loaded_bytes;
    c.other += !(kind.fma || kind.load || kind.broadcast || kind.store || kind.shuffle ||
                 kind.spill_store || kind.spill_reload);
  }

  void weigh() {
    const auto work = [&](size_t i) {
      return report_.loops[i].trips * report_.loops[i].counts.total;
    };
    double most = 0;
    for (size_t i = 0; i < report_.loops.size(); ++i) most = std::max(most, work(i));
    for (size_t i = 0; i < report_.loops.size(); ++i) {
      if (most > 0 && work(i) >= most / 2) report_.hot.push_back(i);
    }
    std::sort(report_.hot.begin(), report_.hot.end(),
              [&](size_t a, size_t b) { return work(a) != work(b) ? work(a) > work(b) : a < b; });
  }

  std::string_view text_;
  AsmSyntax syntax_;
  std::string_view marker_;
  AsmReport report_;
  std::unordered_map<std::string, int> by_header_;

  std::string function_;
  bool frame_pointer_ = false;
  double function_trips_ = 1;
  // The block being read.
  std::string label_, name_;
  int label_line_ = 0;
  bool in_header_ = false;
  int parent_ = kNoLoop, loop_ = kNoLoop;
};

std::string summary_row(const MachineLoop& loop) {
  const InstructionCounts& c = loop.counts;
  char numbers[200];
  std::snprintf(numbers, sizeof numbers, "%12.0f %6d %5d %5d %6d %6d %8d %6d %7d %6d %9.2f %10.2f",
                loop.trips, c.total, c.fma, c.loads, c.broadcasts, c.stores, c.shuffles,
                c.spill_stores, c.spill_reloads, c.other, c.fma_share(), c.bytes_per_fma());
  return numbers;
}

}  // namespace

std::string loop_block_name(std::string_view loop, int64_t extent) {
  std::string name(loop);
  if (extent >= 0) name += ".x" + std::to_string(extent) + ".";
  return name;
}

AsmReport analyze_assembly(std::string_view text, AsmSyntax syntax) {
  return Reader(text, syntax).read();
}

std::string annotate_assembly(std::string_view text, const AsmReport& report) {
  std::vector<bool> hot(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  for (size_t i : report.hot) {
    for (int line : report.loops[i].lines) hot[static_cast<size_t>(line)] = true;
  }
  std::string result;
  size_t number = 0;
  for (size_t at = 0; at < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    result += hot[number] ? "> " : "  ";
    result += text.substr(at, end - at);
    result += '\n';
    at = end + 1;
  }
  result += "\nhot loops (marked >)\n";
  if (report.hot.empty()) return result + "  none: the code has no loop\n";
  result +=
      "  label     loop              trips  total   fma  load  bcast  store  shuffle  spill  reload"
      "  other  fma share  bytes/fma\n";
  for (size_t i : report.hot) {
    const MachineLoop& loop = report.loops[i];
    char head[80];
    std::snprintf(head, sizeof head, "  %-9s %-10.30s ", loop.label.c_str(), loop.name.c_str());
    result += head + summary_row(loop) + "\n";
  }
  return result;
}

}  // namespace espalier
