#pragma once

#include <string_view>

namespace espalier {

/// The library's version, "0.1.0".
std::string_view version();
/// "RelWithDebInfo", "Debug", …, with the sanitizers if there are any.
std::string_view build_type();
/// The compiler the library was built with, "Clang 19.1.7 (…)".
std::string_view compiler();

}  // namespace espalier
