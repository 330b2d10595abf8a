// Which LLVM this library generates code with.
#pragma once

#include <string_view>

namespace espalier {

// "19.1.7": of the shared library's headers, which match it in these three numbers.
std::string_view llvm_version();

}  // namespace espalier
