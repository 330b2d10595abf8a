#include "espalier/support/result.h"

namespace espalier {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return "invalid argument";
    case ErrorCode::OutOfRange: return "out of range";
    case ErrorCode::NotFound: return "not found";
    case ErrorCode::Io: return "input or output failed";
    case ErrorCode::Parse: return "malformed text";
    case ErrorCode::Unsupported: return "unsupported";
    case ErrorCode::Resource: return "out of resources";
    case ErrorCode::Internal: return "internal error";
    case ErrorCode::Interrupted: return "interrupted";
  }
  ESP_UNREACHABLE("error code ", static_cast<int>(code));
}

std::string to_string(const Error& error) {
  std::string text = error.message;
  for (const std::string& note : error.notes) text += "\n  note: " + note;
  return text;
}

}  // namespace espalier
