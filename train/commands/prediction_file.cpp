#include "train/commands/prediction_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/error.h"
#include "core/output_path.h"
#include "core/quoting.h"
#include "core/text.h"
#include "datasets/hdf5_writer.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

class Hdf5Prediction : public PredictionFile {
 public:
  explicit Hdf5Prediction(const std::string& path) : file_(path) {}

  void write(const Prediction& p) override {
    const std::pair<const char*, const Tensor&> arrays[] = {{"value", p.value},
                                                            {"class", p.classes},
                                                            {"probability", p.probability},
                                                            {"logits", p.logits},
                                                            {"embedding", p.embedding}};
    for (const auto& [name, array] : arrays)
      if (array.defined()) file_.write(name, array);
    if (p.node_id.defined()) file_.write("node_id", p.node_id);
    if (!p.node_names.empty()) {
      const std::string text = join(p.node_names, "\n");
      file_.write("node_names", Tensor::from(std::vector<std::uint8_t>(text.begin(), text.end())));
    }
    for (const auto& [name, value] : p.facts) file_.attribute(name, value);
    if (!p.class_names.empty()) file_.attribute("class_names", join(p.class_names, "\n"));
    if (p.epoch) file_.attribute("epoch", *p.epoch);
    file_.commit();
  }

 private:
  Hdf5Writer file_;
};

class TextPrediction : public PredictionFile {
 public:
  TextPrediction(const std::string& path, char separator, bool probabilities)
      : file_(path), separator_(separator), probabilities_(probabilities) {}

  void write(const Prediction& p) override {
    std::vector<std::pair<std::string, Tensor>> columns{{"logit", p.logits}, {"embedding", p.embedding}};
    if (probabilities_) columns.insert(columns.begin(), {"probability", p.probability});
    if (p.value.defined()) columns.insert(columns.begin(), {"value", p.value});
    std::erase_if(columns, [](const auto& column) { return !column.second.defined(); });
    const bool classes = p.classes.defined(), names = classes && !p.class_names.empty();
    std::string line = p.row;
    if (classes) line += fmt::format("{}class", separator_);
    if (names) line += fmt::format("{}name", separator_);
    for (const auto& [name, matrix] : columns)
      for (std::int64_t j = 0; j < matrix.dim(1); ++j)
        line += separator_ + (name == "value" && !p.class_names.empty()
                                  ? field(p.class_names[static_cast<std::size_t>(j)])
                                  : fmt::format("{}_{}", name, j));
    file_.write(line + "\n");
    const std::int64_t rows = classes ? p.classes.dim(0) : columns.front().second.dim(0);
    for (std::int64_t i = 0; i < rows; ++i) {
      line = node(p, i);
      if (classes) write_classes(p, i, line);
      for (const auto& [name, matrix] : columns)
        for (std::int64_t j = 0; j < matrix.dim(1); ++j)
          fmt::format_to(std::back_inserter(line), "{}{}", separator_,
                         matrix.data<float>()[i * matrix.dim(1) + j]);
      file_.write(line += '\n');
    }
    file_.commit();
  }

 private:
  void write_classes(const Prediction& p, std::int64_t i, std::string& line) const {
    const auto classes = classes_of(p, i);
    const auto name = [&](std::int64_t c) { return p.class_names[static_cast<std::size_t>(c)]; };
    line += separator_ + join(classes, ";");
    if (!p.class_names.empty()) line += separator_ + field(join(classes, ";", name));
  }

  std::string field(const std::string& text) const {
    return separator_ == ',' ? csv_field(text) : printable(text);
  }
  std::string node(const Prediction& p, std::int64_t i) const {
    if (!p.node_names.empty()) return field(p.node_names[static_cast<std::size_t>(i)]);
    return std::to_string(p.node_id.defined() ? p.node_id.data<std::int64_t>()[i] : i);
  }
  static std::vector<std::int64_t> classes_of(const Prediction& p, std::int64_t i) {
    if (p.classes.rank() == 1) return {p.classes.data<std::int64_t>()[i]};
    std::vector<std::int64_t> out;
    const std::int64_t classes = p.classes.dim(1);
    for (std::int64_t j = 0; j < classes; ++j)
      if (p.classes.data<std::uint8_t>()[i * classes + j]) out.push_back(j);
    return out;
  }

  AtomicFile file_;
  char separator_;
  bool probabilities_;
};

}  // namespace

std::unique_ptr<PredictionFile> open_prediction(const std::string& path, bool probabilities) {
  check_suffix({"--out", path}, {".h5", ".hdf5", ".csv", ".tsv"});
  const std::string suffix = std::filesystem::path(path).extension().string();
  if (suffix == ".h5" || suffix == ".hdf5") return std::make_unique<Hdf5Prediction>(path);
  if (suffix == ".csv") return std::make_unique<TextPrediction>(path, ',', probabilities);
  return std::make_unique<TextPrediction>(path, '\t', probabilities);
}

}  // namespace rodeo
