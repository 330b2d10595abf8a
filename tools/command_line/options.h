// The options of one verb: declared with the variables that they fill, then read.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/support/result.h"

namespace espalier::cli {

class Options {
 public:
  /// `program` is what --help calls it: "espalier tune".
  Options(const std::string& program, const std::string& description);
  ~Options();
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  // Names are as people type them ("--trials"; several with commas: "-o,--out"), `type` stands for
  // the value in --help. Variables keep what they have unless the option is given, and must outlive
  // this object.
  void flag(const std::string& name, bool& to, const std::string& help);
  void text(const std::string& name, std::string& to, const std::string& type,
            const std::string& help);
  void text(const std::string& name, std::optional<std::string>& to, const std::string& type,
            const std::string& help);
  /// The value may be left out, and is then `without_value`.
  void optional_text(const std::string& name, std::string& to, const std::string& without_value,
                     const std::string& type, const std::string& help);
  /// May be given several times.
  void texts(const std::string& name, std::vector<std::string>& to, const std::string& type,
             const std::string& help);
  void integer(const std::string& name, int64_t& to, int64_t min, int64_t max,
               const std::string& help);
  void integer(const std::string& name, std::optional<int64_t>& to, int64_t min, int64_t max,
               const std::string& help);
  /// A finite number above zero.
  void positive(const std::string& name, std::optional<double>& to, const std::string& type,
                const std::string& help, double most = std::numeric_limits<double>::infinity());
  void choice(const std::string& name, std::string& to, const std::vector<std::string>& values,
              const std::string& help);
  /// What stands on the line without an option in front of it.
  void positionals(const std::string& name, std::vector<std::string>& to, const std::string& help);
  /// Whatever else stands on the line is passed over.
  void accept_anything();
  /// Lines at the end of --help.
  void footer(const std::string& text);

  /// Fills the variables. True: go on; false: --help was asked for, see help(). Errors name the
  /// option, what was expected and what was there.
  Result<bool> parse(std::span<const char* const> arguments);
  std::string help() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The one of `names` that someone who typed `text` probably meant, or nothing.
std::optional<std::string> nearest_name(std::string_view text,
                                        const std::vector<std::string>& names);

}  // namespace espalier::cli
