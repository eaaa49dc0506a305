/// A folder with text files, for tests of importers.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"

namespace rodeo::test {

struct Folder {
  TempDir dir;

  /// Writes a file, also into a folder that is not there. Returns its path.
  std::string put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(dir / name).parent_path());
    std::ofstream(dir / name, std::ios::binary) << text;
    return dir / name;
  }
  /// The error of `read`, without the folder.
  template <class F>
  std::string error(F&& read) const {
    std::string text = error_of(read);
    for (std::size_t at = 0; (at = text.find(dir / "")) != std::string::npos;)
      text.erase(at, (dir / "").size());
    return text;
  }
};

}  // namespace rodeo::test
