#include "ops/sparse/tuning_cache.h"

#include <fmt/format.h>
#include <charconv>
#include <fstream>
#include <type_traits>

#include "core/cache_folder.h"
#include "core/version.h"

namespace rodeo {
namespace {

// The first line of a file is header(). Each following line is one choice with tab-separated fields: version,
// device, the fields of the problem, algorithm, and the milliseconds of timed candidates, "rode=0.946
// csr=1.2".
template <class Algorithm>
constexpr std::string_view kOperator = "";
template <>
constexpr std::string_view kOperator<SpmmAlgorithm> = "spmm";
template <>
constexpr std::string_view kOperator<SddmmAlgorithm> = "sddmm";

template <class Algorithm>
std::string header() {
  return fmt::format("rodeo {} choices, format 1", kOperator<Algorithm>);
}

std::string fields_of(const SpmmProblem& problem) {
  return fmt::format("{}\t{}\t{}", problem.n, name(problem.dtype),
                     str(problem.weighted ? "weighted" : "unweighted",
                         problem.allow_nondeterministic ? " in any order" : ""));
}

std::string fields_of(const SddmmProblem& problem) {
  return fmt::format("{}\t{}\t{}\t{}", problem.heads, problem.k, name(problem.dtype),
                     problem.weighted ? "weighted" : "unweighted");
}

template <class Algorithm>
Algorithm parse_algorithm(std::string_view text) {
  if constexpr (std::is_same_v<Algorithm, SpmmAlgorithm>)
    return parse_spmm_algorithm(text);
  else
    return parse_sddmm_algorithm(text);
}

std::string in_one_field(std::string text) {
  for (char& c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text;
}

template <class Key>
std::string key_text(const Key& key) {
  return fmt::format("{} ({})\t{}\t{}", RODEO_VERSION, RODEO_COMMIT, in_one_field(key.device),
                     fields_of(key.problem));
}

template <class Entry>
std::string line_of(const std::string& key, const Entry& entry) {
  std::string times;
  for (const auto& c : entry.candidates)
    if (c.timed()) times += fmt::format("{}{}={}", times.empty() ? "" : " ", name(c.algorithm), c.ms);
  return fmt::format("{}\t{}\t{}\n", key, name(entry.algorithm), times);
}

template <class Algorithm>
std::optional<std::vector<KernelCandidate<Algorithm>>> parse_times(std::string_view text) {
  std::vector<KernelCandidate<Algorithm>> candidates;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    KernelCandidate<Algorithm> candidate{parse_algorithm<Algorithm>(word.substr(0, equals))};
    const char* const last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data() + equals + 1, last, candidate.ms);
    if (error != std::errc{} || end != last || !candidate.timed()) return std::nullopt;
    candidates.push_back(candidate);
  }
  return candidates;
}

/// The key and the entry of a line; nullopt for a line that cannot be parsed.
template <class Entry>
std::optional<std::pair<std::string, Entry>> parse_line(const std::string& line) {
  using Algorithm = decltype(Entry::algorithm);
  const auto last = line.rfind('\t');
  if (last == std::string::npos || last == 0) return std::nullopt;
  const auto before = line.rfind('\t', last - 1);
  if (before == std::string::npos) return std::nullopt;
  try {
    const auto algorithm = parse_algorithm<Algorithm>(line.substr(before + 1, last - before - 1));
    auto candidates = parse_times<Algorithm>(std::string_view(line).substr(last + 1));
    if (algorithm == Algorithm::kAuto || !candidates) return std::nullopt;
    return std::pair{line.substr(0, before), Entry{algorithm, std::move(*candidates)}};
  } catch (const Error&) {  // an algorithm of another version
    return std::nullopt;
  }
}

}  // namespace

template <class Problem, class Algorithm>
TuningCache<Problem, Algorithm>& TuningCache<Problem, Algorithm>::of_process() {
  static TuningCache store(cache_folder());
  return store;
}

template <class Problem, class Algorithm>
std::string TuningCache<Problem, Algorithm>::file(std::uint64_t graph) const {
  return folder_.empty() ? std::string()
                         : fmt::format("{}/{}-{:016x}.txt", folder_, kOperator<Algorithm>, graph);
}

template <class Problem, class Algorithm>
std::string TuningCache<Problem, Algorithm>::complaint() const {
  const std::lock_guard lock(mutex_);
  return complaint_;
}

// Merges the file into memory. Entries in memory take precedence.
template <class Problem, class Algorithm>
void TuningCache<Problem, Algorithm>::read(std::uint64_t graph) {
  if (folder_.empty()) return;
  std::ifstream in(file(graph));
  std::string line;
  if (!std::getline(in, line) || line != header<Algorithm>()) return;
  while (std::getline(in, line))
    if (auto parsed = parse_line<Entry>(line)) graphs_[graph].insert(std::move(*parsed));
}

template <class Problem, class Algorithm>
std::string TuningCache<Problem, Algorithm>::write(std::uint64_t graph) const {
  if (folder_.empty()) return "the cache folder is switched off";
  std::string text = header<Algorithm>() + "\n";
  for (const auto& [key, entry] : graphs_.at(graph)) text += line_of(key, entry);
  return write_cache_file(file(graph), text);
}

template <class Problem, class Algorithm>
auto TuningCache<Problem, Algorithm>::find(const Key& key) -> std::optional<Entry> {
  const std::lock_guard lock(mutex_);
  const std::string text = key_text(key);
  if (const auto& known = graphs_[key.graph]; !known.contains(text)) read(key.graph);
  const Entries& known = graphs_[key.graph];
  const auto at = known.find(text);
  return at == known.end() ? std::nullopt : std::optional(at->second);
}

template <class Problem, class Algorithm>
auto TuningCache<Problem, Algorithm>::keep(const Key& key, const Entry& entry) -> Entry {
  const std::lock_guard lock(mutex_);
  read(key.graph);
  const auto [at, is_new] = graphs_[key.graph].emplace(key_text(key), entry);
  complaint_ = is_new ? write(key.graph) : std::string();
  return at->second;
}

template class TuningCache<SpmmProblem, SpmmAlgorithm>;
template class TuningCache<SddmmProblem, SddmmAlgorithm>;

}  // namespace rodeo
