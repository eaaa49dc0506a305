/// Where the library may keep small files between runs.
#pragma once

#include <string>

namespace rodeo {

/// $RODEO_CACHE_DIR where it is set: a folder, or "" or "off" for none. Else rodeo/ in $XDG_CACHE_HOME, where
/// that is an absolute path, else in ~/.cache. Empty: nothing is to be kept. The folder need not exist.
std::string cache_folder();

/// The same on given values of the variables; null where one is not set.
std::string cache_folder(const char* rodeo_cache_dir, const char* xdg_cache_home, const char* home);

}  // namespace rodeo
