#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "espalier/support/check.h"

namespace espalier {

/// What kind of thing went wrong, for callers that react to it; people read the message.
enum class ErrorCode {
  InvalidArgument,  // the caller asked for something that makes no sense
  OutOfRange,       // a number does not fit where it has to
  NotFound,         // a name, file or record does not exist
  Io,               // the operating system refused
  Parse,            // text or JSON that does not follow its grammar
  Unsupported,      // sensible, but not done here
  Resource,         // memory, time or processes ran out
  Internal,         // our own fault, reported where aborting would be worse
  Interrupted,      // the user or the caller asked to stop
};

/// "invalid argument", "out of range", …
std::string_view to_string(ErrorCode code);

/// Wrong use by the caller, or an outside failure. The message names the object, what was expected,
/// what was there and what to do; notes add context on the way up, innermost first.
struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  std::vector<std::string> notes = {};

  friend bool operator==(const Error&, const Error&) = default;
};

/// "message" followed by "\n  note: …" for each note. The code is left out: it is for programs.
std::string to_string(const Error& error);

/// An error whose message is the concatenation of the streamed parts.
template <class... Parts>
Error make_error(ErrorCode code, const Parts&... parts) {
  return Error{code, detail::concat(parts...), {}};
}

/// The same error with one more note: `return with_note(std::move(error), "while reading ", path);`
template <class... Parts>
Error with_note(Error error, const Parts&... parts) {
  error.notes.push_back(detail::concat(parts...));
  return error;
}

/// A T, or the Error that tells why there is none. Reading the value of a failed result is a failed
/// check that prints the error, so `f().value()` is a fine way to say "this cannot fail here".
template <class T>
class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T> && !std::is_same_v<std::remove_cv_t<T>, Error>);

 public:
  using value_type = T;

  /// From anything that converts to T, so that `return {…}` and `return derived;` work.
  template <class U = T>
    requires(std::is_constructible_v<T, U &&> && std::is_convertible_v<U &&, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    check_ok();
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    check_ok();
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    check_ok();
    return std::move(*std::get_if<0>(&state_));
  }
  template <class U>
  T value_or(U&& otherwise) const& {
    return ok() ? value() : static_cast<T>(std::forward<U>(otherwise));
  }
  template <class U>
  T value_or(U&& otherwise) && {
    return ok() ? std::move(*this).value() : static_cast<T>(std::forward<U>(otherwise));
  }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    ESP_CHECK(!ok(), "error() of a result that holds a value");
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    ESP_CHECK(!ok(), "error() of a result that holds a value");
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  void check_ok() const {
    ESP_CHECK(ok(), "value() of a failed result: ", to_string(*std::get_if<1>(&state_)));
  }

  std::variant<T, Error> state_;
};

/// Success, or the Error that tells why not. `return {};` is success.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const { ESP_CHECK(ok(), "value() of a failed result: ", to_string(*error_)); }

  const Error& error() const& {
    ESP_CHECK(!ok(), "error() of a result that succeeded");
    return *error_;
  }
  Error&& error() && {
    ESP_CHECK(!ok(), "error() of a result that succeeded");
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace espalier

#define ESP_CONCAT_IMPL(a, b) a##b
#define ESP_CONCAT(a, b) ESP_CONCAT_IMPL(a, b)
#define ESP_TRY_IMPL(result, lhs, ...)                \
  auto result = (__VA_ARGS__);                        \
  if (!result.ok()) return std::move(result).error(); \
  lhs = std::move(result).value()

/// ESP_TRY(auto x, f(y)) or ESP_TRY(x, f(y)): takes the value of a result, or returns its error
/// from the enclosing function, which must itself return a Result. It is several statements: give
/// an `if` its braces.
#define ESP_TRY(lhs, ...) ESP_TRY_IMPL(ESP_CONCAT(esp_result_, __COUNTER__), lhs, __VA_ARGS__)

/// ESP_TRY_VOID(f(y)): the same where there is no value to take.
#define ESP_TRY_VOID(...)                                                                        \
  do {                                                                                           \
    if (auto esp_result = (__VA_ARGS__); !esp_result.ok()) return std::move(esp_result).error(); \
  } while (false)
