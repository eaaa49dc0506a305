#include <algorithm>

#include "datasets/hdf5/dataset_reader.h"

namespace rodeo {
namespace {

/// The lines of a text, of which the last may end with a line feed, too. Throws Error unless there are
/// `count` of them; nothing is allocated before.
std::vector<std::string> lines_of(std::string_view text, std::int64_t count, const std::string& where,
                                  std::string_view what) {
  std::int64_t lines = text.empty() ? 0 : 1 + std::count(text.begin(), text.end(), '\n');
  lines -= lines == count + 1 && text.back() == '\n';
  check(lines == count || (lines == 0 && count == 1), where, " must have a line for each of ", count, " ",
        what, ", got ", lines);
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

}  // namespace

void DatasetReader::read_class_names() {
  const std::optional<std::string> text = file_.text("class_names");
  if (!text || !out_.labels().defined()) return;  // without valid labels the number of classes is not known
  out_.class_names = lines_of(*text, out_.num_classes, file_.path() + ": attribute class_names", "classes");
}

void DatasetReader::read_node_names() {
  if (!file_.has("node_names")) return;
  const Hdf5Array array = open_integers("node_names", 1, "u8 [bytes], a text with a line for each node");
  check(array.dtype() == DType::kU8, array.where(), " must be u8 [bytes], got ", array.dtype());
  if (nodes_ < 0) return;  // another finding says why
  const Tensor bytes = array.read(DType::kU8);
  out_.node_names =
      lines_of({reinterpret_cast<const char*>(bytes.raw()), static_cast<std::size_t>(bytes.numel())}, nodes_,
               array.where(), "nodes");
}

}  // namespace rodeo
