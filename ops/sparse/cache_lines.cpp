#include "ops/sparse/cache_lines.h"

#include <fmt/format.h>

#include <fstream>
#include <vector>

#include "core/cache_folder.h"
#include "core/error.h"
#include "core/version.h"

namespace rodeo {
namespace {

std::string begin_of(std::string key) {
  for (char& c : key)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return fmt::format("{} ({})\t{}\t", RODEO_VERSION, RODEO_COMMIT, key);
}

std::vector<std::string> lines_of(const std::string& path, const std::string& header) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line) || line != header) return lines;
  while (std::getline(in, line)) lines.push_back(line);
  return lines;
}

}  // namespace

std::optional<std::string> CacheLines::find(const std::string& key) const {
  if (path_.empty()) return std::nullopt;
  const std::string begin = begin_of(key);
  for (const std::string& line : lines_of(path_, header_))
    if (line.starts_with(begin)) return line.substr(begin.size());
  return std::nullopt;
}

std::string CacheLines::keep(const std::string& key, const std::string& value) const {
  if (path_.empty()) return "the cache folder is switched off";
  const std::string begin = begin_of(key);
  std::string text = header_ + "\n";
  for (const std::string& line : lines_of(path_, header_))
    if (!line.starts_with(begin)) text += line + "\n";
  return write_cache_file(path_, str(text, begin, value, "\n"));
}

}  // namespace rodeo
