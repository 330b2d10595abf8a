// The standard streams: data to one, remarks to the other, whatever state they are in.
#pragma once

#include <optional>
#include <string_view>

#include "espalier/support/result.h"

namespace espalier::cli {

/// Opens what is closed of descriptors 0, 1 and 2, so that no file opened later takes their place,
/// and lets writes to a pipe without reader fail rather than end the process. Call first.
void prepare_standard_streams();

class Console {
 public:
  bool quiet = false;

  /// Data, to standard output. A reader that has gone away is no error: it had what it wanted. Any
  /// other failure is kept for output_error().
  void print(std::string_view text);
  /// A remark, to standard error unless quiet; a line end is added.
  void note(std::string_view text);
  /// A warning, to standard error always.
  void warn(std::string_view text);
  void error(const Error& error);

  /// Why some of the data did not arrive, if so.
  const std::optional<Error>& output_error() const { return output_error_; }

 private:
  std::optional<Error> output_error_;
};

/// Raw text to standard error; failures are of no consequence.
void write_to_stderr(std::string_view text);

}  // namespace espalier::cli
