#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"
#include "layers/module.h"
#include "ops/checks.h"

namespace rodeo::test {

/// tests/data/pyg_reference.txt as scripts/pyg_reference.py describes it: arrays by case and name.
class PygReference {
 public:
  static std::string path() { return RODEO_SOURCE_DIR "/tests/data/pyg_reference.txt"; }

  explicit PygReference(const std::string& file) {
    std::ifstream in(file);
    std::string line, current;
    while (std::getline(in, line)) {
      std::istringstream words(line);
      std::string word;
      words >> word;
      if (word.empty() || word[0] == '#') continue;
      if (word == "case")
        words >> current;
      else
        arrays_[current].emplace_back(word, read_array(words));
    }
  }

  Tensor at(const std::string& name, const std::string& array) const {
    for (const auto& [known, value] : arrays_.at(name))
      if (known == array) return value;
    fail("the reference has no ", name, " ", array);
  }
  /// The arrays "prefix.NAME" as NAME.
  StateDict state(const std::string& name, const std::string& prefix = "state.") const {
    StateDict out;
    for (const auto& [array, value] : arrays_.at(name))
      if (array.starts_with(prefix)) out.emplace_back(array.substr(prefix.size()), value);
    return out;
  }

 private:
  static Tensor read_array(std::istringstream& words) {
    std::vector<std::int64_t> sizes;
    std::vector<double> values;
    std::string word;
    while (words >> word && word != ":") sizes.push_back(std::stoll(word));
    while (words >> word) values.push_back(std::stod(word));
    const Shape shape = sizes.empty()       ? Shape{}
                        : sizes.size() == 1 ? Shape{sizes[0]}
                        : sizes.size() == 2 ? Shape{sizes[0], sizes[1]}
                                            : Shape{sizes[0], sizes[1], sizes.at(2)};
    return Tensor::from(values, shape);
  }
  std::map<std::string, std::vector<std::pair<std::string, Tensor>>> arrays_;
};

}  // namespace rodeo::test
