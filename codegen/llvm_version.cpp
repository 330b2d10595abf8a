#include "espalier/codegen/llvm_version.h"

#include <llvm/Config/llvm-config.h>

namespace espalier {

std::string_view llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace espalier
