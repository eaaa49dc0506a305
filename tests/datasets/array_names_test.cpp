#include "datasets/hdf5/array_names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace rodeo::test {
namespace {

// An array that is read without being in the table would be read without rodeo_h5_check having tried it.
TEST(DatasetsArrayNames, ListAllThatIsRead) {
  const std::regex read(R"re((?:\bhas|\barray|\bopen\w*|\bread_(?:pairs|targets))\((?:\w+, )?"(\w+)")re");
  std::set<std::string> found;
  for (const char* folder : {"/datasets", "/datasets/hdf5"})
    for (const auto& entry : std::filesystem::directory_iterator(std::string(RODEO_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".cpp") continue;
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      for (std::sregex_iterator match(text.begin(), text.end(), read); match != std::sregex_iterator();
           ++match)
        found.insert((*match)[1]);
    }
  found.insert(std::begin(hdf5::kMasks), std::end(hdf5::kMasks));
  found.insert(std::begin(hdf5::kGraphMasks), std::end(hdf5::kGraphMasks));
  EXPECT_EQ(found, std::set<std::string>(std::begin(hdf5::kArrays), std::end(hdf5::kArrays)));
}

}  // namespace
}  // namespace rodeo::test
