#include <filesystem>

#include "tests/support/devices.h"
#include "train/commands/parse_options.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

// RODEO_SOURCE_DIR is the folder of the sources.
TEST(TrainRecipes, AreConfigurationsOfATrunk) {
  int recipes = 0;
  for (const auto& file : std::filesystem::directory_iterator(RODEO_SOURCE_DIR "/recipes")) {
    const std::string path = file.path().string(), stem = file.path().stem().string();
    const char* const arguments[] = {"rodeo_train", "--config", path.c_str(), "--dataset", "a.h5"};
    TrainOptions defaults;
    defaults.choose_model = true;
    const TrainOptions options = parse_train_options(5, arguments, defaults);
    EXPECT_TRUE(stem.starts_with(options.model + "-")) << stem;
    EXPECT_TRUE(uses_trunk(options)) << stem;
    ++recipes;
  }
  EXPECT_EQ(recipes, 42) << "three models for each of 14 datasets";
}

}  // namespace
}  // namespace rodeo::test
