#include "ops/sparse/spmm_tuning_cache.h"

#include <fmt/format.h>
#include <charconv>
#include <fstream>

#include "core/cache_folder.h"
#include "core/version.h"

namespace rodeo {
namespace {

// The first line of a file. Each following line is one choice with tab-separated fields: version, device,
// columns, dtype, weighting and order, algorithm, and the milliseconds of timed candidates, "rode=0.946
// csr=1.2".
constexpr std::string_view kHeader = "rodeo spmm choices, format 1";

std::string in_one_field(std::string text) {
  for (char& c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text;
}

std::string key_text(const SpmmTuningCache::Key& key) {
  return fmt::format("{} ({})\t{}\t{}\t{}\t{}", RODEO_VERSION, RODEO_COMMIT, in_one_field(key.device),
                     key.problem.n, name(key.problem.dtype),
                     str(key.problem.weighted ? "weighted" : "unweighted",
                         key.problem.allow_nondeterministic ? " in any order" : ""));
}

std::string line_of(const std::string& key, const SpmmTuningCache::Entry& entry) {
  std::string times;
  for (const SpmmCandidate& c : entry.candidates)
    if (c.timed()) times += fmt::format("{}{}={}", times.empty() ? "" : " ", name(c.algorithm), c.ms);
  return fmt::format("{}\t{}\t{}\n", key, name(entry.algorithm), times);
}

std::optional<std::vector<SpmmCandidate>> parse_times(std::string_view text) {
  std::vector<SpmmCandidate> candidates;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    SpmmCandidate candidate{parse_spmm_algorithm(word.substr(0, equals))};
    const char* const last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data() + equals + 1, last, candidate.ms);
    if (error != std::errc{} || end != last || !candidate.timed()) return std::nullopt;
    candidates.push_back(candidate);
  }
  return candidates;
}

/// The key and the entry of a line; nullopt for a line that cannot be parsed.
std::optional<std::pair<std::string, SpmmTuningCache::Entry>> parse_line(const std::string& line) {
  const auto last = line.rfind('\t');
  if (last == std::string::npos || last == 0) return std::nullopt;
  const auto before = line.rfind('\t', last - 1);
  if (before == std::string::npos) return std::nullopt;
  try {
    const SpmmAlgorithm algorithm = parse_spmm_algorithm(line.substr(before + 1, last - before - 1));
    auto candidates = parse_times(std::string_view(line).substr(last + 1));
    if (algorithm == SpmmAlgorithm::kAuto || !candidates) return std::nullopt;
    return std::pair{line.substr(0, before), SpmmTuningCache::Entry{algorithm, std::move(*candidates)}};
  } catch (const Error&) {  // an algorithm of another version
    return std::nullopt;
  }
}

}  // namespace

SpmmTuningCache& SpmmTuningCache::of_process() {
  static SpmmTuningCache store(cache_folder());
  return store;
}

std::string SpmmTuningCache::file(std::uint64_t graph) const {
  return folder_.empty() ? std::string() : fmt::format("{}/spmm-{:016x}.txt", folder_, graph);
}

std::string SpmmTuningCache::complaint() const {
  const std::lock_guard lock(mutex_);
  return complaint_;
}

// Merges the file into memory. Entries in memory take precedence.
void SpmmTuningCache::read(std::uint64_t graph) {
  if (folder_.empty()) return;
  std::ifstream in(file(graph));
  std::string line;
  if (!std::getline(in, line) || line != kHeader) return;
  while (std::getline(in, line))
    if (auto parsed = parse_line(line)) graphs_[graph].insert(std::move(*parsed));
}

std::string SpmmTuningCache::write(std::uint64_t graph) const {
  if (folder_.empty()) return "the cache folder is switched off";
  std::string text = std::string(kHeader) + "\n";
  for (const auto& [key, entry] : graphs_.at(graph)) text += line_of(key, entry);
  return write_cache_file(file(graph), text);
}

std::optional<SpmmTuningCache::Entry> SpmmTuningCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const std::string text = key_text(key);
  if (const auto& known = graphs_[key.graph]; !known.contains(text)) read(key.graph);
  const Entries& known = graphs_[key.graph];
  const auto at = known.find(text);
  return at == known.end() ? std::nullopt : std::optional(at->second);
}

SpmmTuningCache::Entry SpmmTuningCache::keep(const Key& key, const Entry& entry) {
  const std::lock_guard lock(mutex_);
  read(key.graph);
  const auto [at, is_new] = graphs_[key.graph].emplace(key_text(key), entry);
  complaint_ = is_new ? write(key.graph) : std::string();
  return at->second;
}

}  // namespace rodeo
