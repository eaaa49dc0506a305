#include "core/cache_folder.h"

#include <cstdlib>
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

}  // namespace rodeo
