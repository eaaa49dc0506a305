/// The folder for small files that the library keeps between runs.
#pragma once

#include <string>

namespace rodeo {

/// $RODEO_CACHE_DIR if set ("" or "off" means none); else rodeo/ in $XDG_CACHE_HOME if that is an absolute
/// path; else ~/.cache/rodeo. Empty if nothing may be stored. The folder need not exist.
std::string cache_folder();

/// The cache folder for given values of the environment variables; null if unset.
std::string cache_folder(const char* rodeo_cache_dir, const char* xdg_cache_home, const char* home);

/// Replaces the file `path`, and makes its folder where there is none. Readers see the old or the new file,
/// never a part of one. Returns why it could not be written, as one phrase; empty: it was.
std::string write_cache_file(const std::string& path, const std::string& text);

}  // namespace rodeo
