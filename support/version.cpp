#include "espalier/support/version.h"

// The build gives these; a build by hand goes without.
#ifndef ESPALIER_VERSION
#define ESPALIER_VERSION "0.0.0"
#endif
#ifndef ESPALIER_BUILD_TYPE
#define ESPALIER_BUILD_TYPE "unknown"
#endif

namespace espalier {

std::string_view version() { return ESPALIER_VERSION; }
std::string_view build_type() { return ESPALIER_BUILD_TYPE; }
std::string_view compiler() {
#if defined(__clang__)
  return __VERSION__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace espalier
