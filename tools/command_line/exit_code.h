// What a program of ours ends with.
#pragma once

#include "espalier/support/result.h"

namespace espalier::cli {

enum ExitCode { kGood = 0, kFailed = 1, kWrongUsage = 2, kInterrupted = 130 };

/// An error that the caller of the program made, and could have known from --help.
inline Error usage_error(Error error) {
  error.code = ErrorCode::InvalidArgument;
  return error;
}
template <class... Parts>
Error usage_error(const Parts&... parts) {
  return make_error(ErrorCode::InvalidArgument, parts...);
}

inline ExitCode exit_code(const Error& error) {
  if (error.code == ErrorCode::Interrupted) return kInterrupted;
  return error.code == ErrorCode::InvalidArgument ? kWrongUsage : kFailed;
}

}  // namespace espalier::cli
