#include "command_line/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "espalier/support/number.h"

namespace espalier::cli {
namespace {

// The number of characters to add, take away or change to get from one to the other.
size_t distance_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string shown(std::string_view text) {
  constexpr size_t kLongest = 60;
  if (text.size() <= kLongest) return "'" + std::string(text) + "'";
  return "'" + std::string(text.substr(0, kLongest)) + "...'";
}

// What CLI11's parser unwinds with when a value is not what it should be.
[[noreturn]] void refuse(const std::string& name, const std::string& expected,
                         const std::string& got) {
  throw CLI::ValidationError(name, "expected " + expected + ", got " + shown(got));
}

int64_t integer_in(const std::string& name, int64_t min, int64_t max, const std::string& text) {
  const Result<int64_t> value = parse_int64(text);
  if (value.ok() && *value >= min && *value <= max) return *value;
  std::string expected = "an integer";
  if (max == INT64_MAX) {
    expected += " of at least " + std::to_string(min);
  } else {
    expected += " from " + std::to_string(min) + " to " + std::to_string(max);
  }
  refuse(name, expected, text);
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view text,
                                        const std::vector<std::string>& names) {
  if (text.size() > 40) return {};
  std::optional<std::string> best;
  size_t least = 3;  // more changes than two are another word
  for (const std::string& name : names) {
    const size_t distance = distance_between(text, name);
    if (distance < least && distance < name.size() / 2 + 1) {
      least = distance;
      best = name;
    }
  }
  return best;
}

struct Options::Impl {
  explicit Impl(const std::string& description) : app(description) {}

  // An option with one value. `take` throws when it does not like it.
  void add(const std::string& name, const std::string& type, const std::string& help,
           const std::function<void(const std::string&)>& take) {
    app.add_option_function<std::string>(name, take, help)
        ->type_name(type)
        ->expected(1)
        ->take_last();
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) all.push_back("--" + name);
    }
    return all;
  }

  Error unknown() const {
    const std::vector<std::string> extras = app.remaining();
    const std::string word = extras.empty() ? "" : extras.front();
    const bool is_option = word.size() > 1 && word[0] == '-';
    std::string message = (is_option ? "unknown option " : "unexpected argument ") + shown(word);
    const auto meant = nearest_name(word.substr(0, word.find('=')), names());
    if (is_option && meant) message += "; did you mean " + *meant + "?";
    return make_error(ErrorCode::InvalidArgument, message, meant ? " (" : "; ", "see '",
                      app.get_name(), " --help'", meant ? ")" : "");
  }

  CLI::App app;
};

Options::Options(const std::string& program, const std::string& description)
    : impl_(std::make_unique<Impl>(description)) {
  impl_->app.name(program);
  impl_->app.get_formatter()->column_width(28);
}
Options::~Options() = default;

void Options::flag(const std::string& name, bool& to, const std::string& help) {
  impl_->app.add_flag(name, to, help);
}

void Options::text(const std::string& name, std::string& to, const std::string& type,
                   const std::string& help) {
  impl_->add(name, type, help, [&to](const std::string& value) { to = value; });
}

void Options::text(const std::string& name, std::optional<std::string>& to, const std::string& type,
                   const std::string& help) {
  impl_->add(name, type, help, [&to](const std::string& value) { to = value; });
}

void Options::optional_text(const std::string& name, std::string& to,
                            const std::string& without_value, const std::string& type,
                            const std::string& help) {
  impl_->app
      .add_option_function<std::string>(
          name, [=, &to](const std::string& value) { to = value.empty() ? without_value : value; },
          help)
      ->type_name(type)
      ->expected(0, 1)
      ->take_last();
}

void Options::texts(const std::string& name, std::vector<std::string>& to, const std::string& type,
                    const std::string& help) {
  impl_->app
      .add_option_function<std::vector<std::string>>(
          name, [&to](const std::vector<std::string>& values) { to = values; }, help)
      ->type_name(type)
      ->expected(1)
      ->take_all();
}

void Options::integer(const std::string& name, int64_t& to, int64_t min, int64_t max,
                      const std::string& help) {
  impl_->add(name, "N", help + " (" + std::to_string(to) + ")",
             [=, &to](const std::string& value) { to = integer_in(name, min, max, value); });
}

void Options::integer(const std::string& name, std::optional<int64_t>& to, int64_t min, int64_t max,
                      const std::string& help) {
  impl_->add(name, "N", help,
             [=, &to](const std::string& value) { to = integer_in(name, min, max, value); });
}

void Options::positive(const std::string& name, std::optional<double>& to, const std::string& type,
                       const std::string& help, double most) {
  impl_->add(name, type, help, [=, &to](const std::string& text) {
    const Result<double> value = parse_double(text);
    if (!value.ok() || !std::isfinite(*value) || *value <= 0 || *value > most) {
      const std::string limit = std::isfinite(most) ? ", at most " + format_double(most) : "";
      refuse(name, "a number above 0" + limit, text);
    }
    to = *value;
  });
}

void Options::choice(const std::string& name, std::string& to,
                     const std::vector<std::string>& values, const std::string& help) {
  std::string all;
  for (const std::string& value : values) all += (all.empty() ? "" : "|") + value;
  impl_->add(name, all, to.empty() ? help : help + " (" + to + ")",
             [=, &to](const std::string& value) {
               if (std::find(values.begin(), values.end(), value) == values.end()) {
                 refuse(name, "one of " + all, value);
               }
               to = value;
             });
}

void Options::positionals(const std::string& name, std::vector<std::string>& to,
                          const std::string& help) {
  impl_->app.add_option(name, to, help)->type_name("");
}

void Options::accept_anything() { impl_->app.allow_extras(); }

void Options::footer(const std::string& text) { impl_->app.footer(text); }

Result<bool> Options::parse(std::span<const char* const> arguments) {
  // CLI11 takes the words last one first.
  std::vector<std::string> words(arguments.rbegin(), arguments.rend());
  try {
    impl_->app.parse(std::move(words));
    return true;
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ExtrasError&) {
    return impl_->unknown();
  } catch (const CLI::Error& error) {
    return make_error(ErrorCode::InvalidArgument, error.what(), "; see '", impl_->app.get_name(),
                      " --help'");
  } catch (const std::exception& error) {
    return make_error(ErrorCode::InvalidArgument, "cannot read the command line: ", error.what());
  }
}

std::string Options::help() const { return impl_->app.help(); }

}  // namespace espalier::cli
