#include "shrink.h"

#include <cctype>
#include <chrono>
#include <vector>

#include "isolated.h"

namespace espalier {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& l : lines) text += l + '\n';
  return text;
}

// The whole numbers of at least 2 that stand in the text as words of their own.
std::vector<std::string> numbers_in(const std::string& text) {
  std::vector<std::string> numbers;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) continue;
    size_t end = i;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) ||
                                 text[end] == '.' || text[end] == '_')) {
      ++end;
    }
    const bool word = i == 0 || (!std::isalnum(static_cast<unsigned char>(text[i - 1])) &&
                                 text[i - 1] != '_' && text[i - 1] != '.');
    const std::string n = text.substr(i, end - i);
    if (word && n.find_first_not_of("0123456789") == std::string::npos && n != "0" && n != "1") {
      numbers.push_back(n);
    }
    i = end;
  }
  return numbers;
}

std::string replace_number(const std::string& text, const std::string& from,
                           const std::string& to) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto is_word = [&](size_t k) {
      return k < text.size() && (std::isalnum(static_cast<unsigned char>(text[k])) ||
                                 text[k] == '_' || text[k] == '.');
    };
    if (text.compare(i, from.size(), from) == 0 && !is_word(i + from.size()) &&
        (i == 0 || !is_word(i - 1))) {
      out += to;
      i += from.size();
    } else {
      out += text[i++];
    }
  }
  return out;
}

class Shrinker {
 public:
  Shrinker(std::string text, Activity activity, Depth depth, double seconds)
      : lines_(lines_of(text)),
        activity_(activity),
        depth_(depth),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(seconds))) {}

  std::string run() {
    for (bool changed = true; changed && Clock::now() < deadline_;) {
      changed = drop_steps() || simplify_head() || lower_numbers();
    }
    return join(lines_);
  }

 private:
  bool fails(const std::vector<std::string>& lines) {
    if (Clock::now() > deadline_) return false;
    const Result<FuzzCase> c = parse_case(join(lines));
    if (!c) return false;
    const Verdict v = compare_isolated(*c, depth_);
    return v.failed() && v.activity == activity_;
  }
  bool keep(std::vector<std::string> lines) {
    if (lines == lines_ || !fails(lines)) return false;
    lines_ = std::move(lines);
    return true;
  }
  size_t line_of(std::string_view word) const {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i] == word) return i;
    }
    return lines_.size();
  }

  bool drop_steps() {
    bool changed = false;
    for (size_t i = lines_.size(); i-- > line_of("trace") + 1;) {
      std::vector<std::string> fewer = lines_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      changed = keep(std::move(fewer)) || changed;
    }
    return changed;
  }

  bool simplify_head() {
    bool changed = false;
    for (size_t i = 0; i < line_of("dag"); ++i) {
      std::vector<std::string> simpler = lines_;
      if (const size_t at = simpler[i].find(" specials"); at != std::string::npos) {
        simpler[i].erase(at);
      } else if (simpler[i].starts_with("threads ")) {
        simpler[i] = "threads 1";
      }
      changed = keep(std::move(simpler)) || changed;
    }
    return changed;
  }

  bool lower_numbers() {
    bool changed = false;
    const size_t dag = line_of("dag"), trace = line_of("trace");
    for (size_t i = trace + 1; i < lines_.size(); ++i) {
      for (const std::string& n : numbers_in(lines_[i])) {
        for (const char* smaller : {"1", "2", "3", "4"}) {
          std::vector<std::string> lower = lines_;
          lower[i] = replace_number(lower[i], n, smaller);
          if (std::stoll(n) > std::stoll(smaller) && keep(std::move(lower))) {
            changed = true;
            break;
          }
        }
      }
    }
    // An extent stands in several places of a DAG.
    std::string definition;
    for (size_t i = dag + 1; i < trace; ++i) definition += lines_[i] + '\n';
    for (const std::string& n : numbers_in(definition)) {
      const int64_t value = std::stoll(n);
      for (int64_t smaller :
           {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{5}, value / 2, value - 1}) {
        if (smaller < 1 || smaller >= value) continue;
        std::vector<std::string> lower = lines_;
        for (size_t i = dag + 1; i < trace; ++i) {
          lower[i] = replace_number(lower[i], n, std::to_string(smaller));
        }
        if (keep(std::move(lower))) {
          changed = true;
          break;
        }
      }
    }
    return changed;
  }

  std::vector<std::string> lines_;
  const Activity activity_;
  const Depth depth_;
  const Clock::time_point deadline_;
};

}  // namespace

std::string shrink(std::string text, Activity activity, Depth depth, double seconds) {
  return Shrinker(std::move(text), activity, depth, seconds).run();
}

}  // namespace espalier
