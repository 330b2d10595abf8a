#include "conductor/folders.h"

#include <filesystem>

namespace espalier::bench {

Folders find_folders() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path prefix = program.parent_path().parent_path();
  return {(prefix / "libexec/espalier").string(), (prefix / "share/espalier/suites").string(),
          (prefix / "share/espalier/traces").string()};
}

}  // namespace espalier::bench
