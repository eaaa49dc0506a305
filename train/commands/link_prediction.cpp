#include "train/commands/link_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "core/quoting.h"
#include "datasets/hdf5_check.h"
#include "datasets/hdf5_file.h"
#include "datasets/hdf5_writer.h"
#include "ops/pointwise.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

std::string suffix_of(const std::string& path) {
  return std::filesystem::path(path).extension().string();
}

bool is_hdf5(const std::string& suffix) {
  return suffix == ".h5" || suffix == ".hdf5";
}

/// The text that names a node in predictions.
std::string node_text(const Dataset& dataset, std::int64_t node) {
  if (!dataset.node_names.empty()) return dataset.node_names[static_cast<std::size_t>(node)];
  return std::to_string(dataset.node_id.defined() ? dataset.node_id.data<std::int64_t>()[node] : node);
}

class NodeFinder {
 public:
  explicit NodeFinder(const Dataset& dataset) : nodes_(dataset.num_nodes) {
    if (dataset.node_names.empty() && !dataset.node_id.defined()) return;
    for (std::int64_t i = 0; i < nodes_; ++i) known_.emplace(node_text(dataset, i), i);
    by_text_ = true;
  }
  /// -1: there is none.
  std::int64_t find(const std::string& text) const {
    if (by_text_) {
      const auto found = known_.find(text);
      return found == known_.end() ? -1 : found->second;
    }
    std::int64_t node = -1;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, node);
    return error == std::errc() && at == end && node >= 0 && node < nodes_ ? node : -1;
  }

 private:
  std::int64_t nodes_;
  bool by_text_ = false;
  std::unordered_map<std::string, std::int64_t> known_;
};

/// The fields of a line: separated by a comma or a tab where it has one, else by blanks.
std::vector<std::string> fields_of(const std::string& line) {
  const char separator = line.find(',') != line.npos ? ',' : line.find('\t') != line.npos ? '\t' : ' ';
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, separator);) {
    const std::size_t first = field.find_first_not_of(" \t\r\""), last = field.find_last_not_of(" \t\r\"");
    if (first != field.npos) fields.push_back(field.substr(first, last - first + 1));
  }
  return fields;
}

/// The number of each relation, by the names that only it has.
std::map<std::string, std::int64_t, std::less<>> number_relations(const ScoredRelations& in) {
  std::map<std::string, std::int64_t, std::less<>> numbers;
  for (std::int64_t r = 0; r < std::ssize(in.relations); ++r) {
    const auto& [name, full_name, source, target, among] = in.relation(r);
    numbers.emplace(full_name, r);
    if (std::ranges::count(in.relations, name, &ScoredRelations::Relation::name) == 1)
      numbers.emplace(name, r);
  }
  return numbers;
}

NodePairs read_text_pairs(const std::string& path, const ScoredRelations& in) {
  constexpr std::size_t kLimit = std::size_t{1} << 32;
  check(!std::filesystem::is_character_file(path), path, ": is a device, not a file of pairs");
  const bool several = in.has_several();
  const auto numbers = number_relations(in);
  const std::vector<NodeFinder> finders(in.types.begin(), in.types.end());
  std::istringstream lines(read_file(path, kLimit));
  std::vector<std::int64_t> src, dst, of_pair;
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::vector<std::string> fields = fields_of(line);
    if (fields.empty() || fields[0][0] == '#') continue;
    check(fields.size() >= (several ? 3 : 2), path, ": line ", number, ": expected ",
          several ? "source, relation and target" : "two nodes", ", got '", printable(line), "'");
    const auto found = several ? numbers.find(fields[1]) : numbers.begin();
    const std::string name = fields[1];
    if (several) fields.erase(fields.begin() + 1);
    if (number == 1 && found == numbers.end()) continue;  // a header
    check(found != numbers.end(), path, ": line ", number, ": the weights have no relation '",
          printable(name), "'");
    const auto& relation = in.relation(found->second);
    const std::int64_t from = finders[static_cast<std::size_t>(relation.source)].find(fields[0]),
                       to = finders[static_cast<std::size_t>(relation.target)].find(fields[1]);
    if (number == 1 && from < 0 && to < 0) continue;  // a header
    for (const auto& [node, text] : {std::pair{from, fields[0]}, {to, fields[1]}})
      check(node >= 0, path, ": line ", number, ": the dataset has no node '", printable(text), "'");
    src.push_back(from);
    dst.push_back(to);
    of_pair.push_back(found->second);
  }
  return {Tensor::from(src), Tensor::from(dst), Tensor::from(of_pair)};
}

NodePairs read_hdf5_pairs(const std::string& path, const ScoredRelations& in) {
  check_hdf5_file(path);
  const Hdf5File file(path);
  check(file.has("edges"), path, ": has no array /edges, integer [2, pairs]");
  const Hdf5Array array = file.array("edges");
  check(!is_float(array.dtype()) && array.shape().rank() == 2 && array.shape()[0] == 2, array.where(),
        " must be integer [2, pairs], got ", array.dtype(), " ", array.shape());
  const Tensor both = array.read(DType::kI64);
  const std::int64_t k = both.dim(1);
  for (std::int64_t i = 0; i < 2 * k; ++i) {
    const std::int64_t id = both.data<std::int64_t>()[i],
                       nodes = (i < k ? in.sources(0) : in.targets(0)).num_nodes;
    check(id >= 0 && id < nodes, array.where(), "[", i / k, ", ", i % k, "] is ", id, ", outside [0, ", nodes,
          ")");
  }
  const Tensor flat = both.reshape({2 * k});
  return {flat.slice(0, k).clone(), flat.slice(k, 2 * k).clone(), Tensor::zeros({k}, DType::kI64)};
}

}  // namespace

NodePairs read_node_pairs(const std::string& path, const ScoredRelations& in) {
  const bool hdf5 = is_hdf5(suffix_of(path));
  check(!hdf5 || !in.has_several(), path, ": an HDF5 file names no relations, and the weights have ",
        in.relations.size(), ": give lines of source, relation and target");
  const NodePairs pairs = hdf5 ? read_hdf5_pairs(path, in) : read_text_pairs(path, in);
  check(pairs.src.numel() > 0, path, ": has no pair of nodes");
  return pairs;
}

void write_link_scores(const std::string& path, const NodePairs& pairs, const Tensor& score,
                       const ScoredRelations& in) {
  const bool several = in.has_several();
  const std::int64_t k = pairs.src.numel();
  const auto *src = pairs.src.data<std::int64_t>(), *dst = pairs.dst.data<std::int64_t>(),
             *of_pair = pairs.relation.data<std::int64_t>();
  const Tensor scores = score.to(kCpu).to(DType::kF32).reshape({k}),
               probability = sigmoid(scores.to(DType::kF64)).to(DType::kF32);
  const std::string suffix = suffix_of(path);
  if (is_hdf5(suffix)) {
    Hdf5Writer file(path);
    file.write_rows("edges", {pairs.src, pairs.dst});
    if (several) file.write("relation", pairs.relation);
    file.write("score", scores);
    file.write("probability", probability);
    return file.commit();
  }
  const char separator = suffix == ".csv" ? ',' : '\t';
  const auto field = [&](const std::string& text) {
    return separator == ',' ? csv_field(text) : printable(text);
  };
  AtomicFile file(path);
  file.write(fmt::format("source{0}{1}destination{0}score{0}probability\n", separator,
                         several ? str("relation", separator) : ""));
  for (std::int64_t i = 0; i < k; ++i)
    file.write(fmt::format("{1}{0}{2}{3}{0}{4}{0}{5}\n", separator,
                           field(node_text(in.sources(of_pair[i]), src[i])),
                           several ? field(in.relation(of_pair[i]).full_name) + separator : "",
                           field(node_text(in.targets(of_pair[i]), dst[i])), scores.data<float>()[i],
                           probability.data<float>()[i]));
  file.commit();
}

}  // namespace rodeo
