#include "ops/sparse/aggregation_cache.h"

#include <fmt/format.h>

#include <sstream>

#include "core/error.h"

namespace rodeo {
namespace {

/// The form, and after a tab the milliseconds of timed forms, "rows=0.946 halo=1.2".
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

}  // namespace

CacheLines AggregationCache::lines(std::uint64_t graph) const {
  return {folder_.empty() ? "" : fmt::format("{}/aggregation-{:016x}.txt", folder_, graph),
          "rodeo aggregation choices, format 1"};
}

std::optional<AggregationCache::Entry> AggregationCache::find(const Key& key) const {
  const std::optional<std::string> value = lines(key.graph).find(key.product);
  return value ? parse_value(*value) : std::nullopt;
}

std::string AggregationCache::keep(const Key& key, const Entry& entry) const {
  return lines(key.graph).keep(key.product, value_text(entry));
}

}  // namespace rodeo
