#include "core/cache_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace rodeo {

std::string cache_folder(const char* rodeo_cache_dir, const char* xdg_cache_home, const char* home) {
  if (rodeo_cache_dir) {
    const std::string_view given = rodeo_cache_dir;
    return given == "off" ? std::string() : std::string(given);
  }
  if (xdg_cache_home && *xdg_cache_home == '/') return std::string(xdg_cache_home) + "/rodeo";
  return home && *home == '/' ? std::string(home) + "/.cache/rodeo" : std::string();
}

std::string cache_folder() {
  return cache_folder(std::getenv("RODEO_CACHE_DIR"), std::getenv("XDG_CACHE_HOME"), std::getenv("HOME"));
}

std::string write_cache_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + "." + std::to_string(getpid());
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  {
    std::ofstream out(temporary);
    out << text;
    out.close();
    if (!out) {
      std::filesystem::remove(temporary, error);
      return temporary + " cannot be written";
    }
  }
  std::filesystem::rename(temporary, path, error);
  if (!error) return {};
  const std::string reason = path + ": " + error.message();
  std::filesystem::remove(temporary, error);
  return reason;
}

}  // namespace rodeo
