#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace espalier {

/// Where an internal check failed. Strings live as long as the program (file, condition) or the
/// call (message).
struct CheckFailure {
  const char* file;
  int line;
  const char* condition;
  const char* message;
};

/// Called once with the failure before the process aborts, for instance to flush a log. It may also
/// leave the call (longjmp, exit, or throw where exceptions are on); when it returns, the process
/// aborts.
using CheckHook = void (*)(const CheckFailure&);

/// Replaces the hook and returns the previous one; nullptr restores the default, which prints to
/// stderr. Safe to call from any thread. This pointer is the one piece of process-wide state: a
/// check can fail anywhere, where no context object is at hand.
CheckHook set_check_hook(CheckHook hook);

namespace detail {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

template <class... Parts>
std::string concat(const Parts&... parts) {
  if constexpr (sizeof...(parts) == 0) {
    return {};
  } else {
    std::ostringstream out;
    out.imbue(std::locale::classic());  // a host's global locale would group digits
    (out << ... << parts);
    return out.str();
  }
}

}  // namespace detail
}  // namespace espalier

/// ESP_CHECK(cond) or ESP_CHECK(cond, "message ", values...): what must hold unless the library
/// itself is wrong. On in every build. The values are evaluated and streamed on failure only. Wrong
/// use by a caller is an Error, not a check.
#define ESP_CHECK(cond, ...)                                                     \
  do {                                                                           \
    if (!(cond)) [[unlikely]]                                                    \
      ::espalier::detail::check_failed(__FILE__, __LINE__, #cond,                \
                                       ::espalier::detail::concat(__VA_ARGS__)); \
  } while (false)

/// Marks a place that control cannot reach, such as the end of a switch over every kind. Fails like
/// a check.
#define ESP_UNREACHABLE(...)                                          \
  ::espalier::detail::check_failed(__FILE__, __LINE__, "unreachable", \
                                   ::espalier::detail::concat(__VA_ARGS__))
