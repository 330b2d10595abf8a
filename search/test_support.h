// What several tests of this layer need.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace espalier::testing {

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string name = ::testing::TempDir() + "espalier-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TempFolder() {
    for (const char* file : {"a", "b", "c", "out"}) unlink(file_path(file).c_str());
    rmdir(path_.c_str());
  }
  std::string file_path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace espalier::testing
