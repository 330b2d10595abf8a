#include "espalier/support/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace espalier {
namespace {

void print_failure(const CheckFailure& failure) {
  std::fprintf(stderr, "%s:%d: internal check failed: %s%s%s\n", failure.file, failure.line,
               failure.condition, failure.message[0] != '\0' ? ": " : "", failure.message);
}

std::atomic<CheckHook> check_hook{&print_failure};

}  // namespace

CheckHook set_check_hook(CheckHook hook) {
  return check_hook.exchange(hook != nullptr ? hook : &print_failure);
}

namespace detail {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  check_hook.load()(CheckFailure{file, line, condition, message.c_str()});
  std::abort();
}

}  // namespace detail
}  // namespace espalier
