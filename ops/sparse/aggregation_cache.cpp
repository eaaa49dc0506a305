#include "ops/sparse/aggregation_cache.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "core/cache_folder.h"
#include "core/error.h"
#include "core/version.h"

namespace rodeo {
namespace {

// The first line of a file. Each following line is one choice with tab-separated fields: version, product,
// form, and the milliseconds of timed forms, "rows=0.946 halo=1.2".
constexpr std::string_view kHeader = "rodeo aggregation choices, format 1";

std::string key_text(const AggregationCache::Key& key) {
  std::string product = key.product;
  for (char& c : product)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return fmt::format("{} ({})\t{}\t", RODEO_VERSION, RODEO_COMMIT, product);
}

std::string value_text(const AggregationCache::Entry& entry) {
  std::string text = str(name(entry.form), "\t");
  for (const auto& [form, ms] : entry.timed)
    text += fmt::format("{}{}={}", text.back() == '\t' ? "" : " ", name(form), ms);
  return text;
}

std::optional<AggregationCache::Entry> parse_value(const std::string& text) {
  const auto tab = text.find('\t');
  if (tab == std::string::npos) return std::nullopt;
  try {
    AggregationCache::Entry entry{parse_aggregation(text.substr(0, tab))};
    std::istringstream words(text.substr(tab + 1));
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) return std::nullopt;
      std::istringstream number(word.substr(equals + 1));
      double ms = 0;
      if (!(number >> ms) || !(ms > 0)) return std::nullopt;
      entry.timed[parse_aggregation(word.substr(0, equals))] = ms;
    }
    return entry.form == Aggregation::kAuto ? std::nullopt : std::optional(entry);
  } catch (const Error&) {  // a form of another version
    return std::nullopt;
  }
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line) || line != kHeader) return lines;
  while (std::getline(in, line)) lines.push_back(line);
  return lines;
}

}  // namespace

std::string AggregationCache::file(std::uint64_t graph) const {
  return fmt::format("{}/aggregation-{:016x}.txt", folder_, graph);
}

std::optional<AggregationCache::Entry> AggregationCache::find(const Key& key) const {
  if (folder_.empty()) return std::nullopt;
  const std::string begin = key_text(key);
  for (const std::string& line : lines_of(file(key.graph)))
    if (line.starts_with(begin)) return parse_value(line.substr(begin.size()));
  return std::nullopt;
}

std::string AggregationCache::keep(const Key& key, const Entry& entry) const {
  if (folder_.empty()) return "the cache folder is switched off";
  const std::string begin = key_text(key);
  std::string text = str(kHeader, "\n");
  for (const std::string& line : lines_of(file(key.graph)))
    if (!line.starts_with(begin)) text += line + "\n";
  return write_cache_file(file(key.graph), text + begin + value_text(entry) + "\n");
}

}  // namespace rodeo
