#include "train/io/settings.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"
#include "train/commands/parse_options.h"
#include "train/io/atomic_file.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

using test::TempDir;

TrainOptions parse_settings(std::vector<std::string> arguments, bool choose = true) {
  std::vector<const char*> argv = {"rodeo_train"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  TrainOptions defaults;
  defaults.choose_model = choose;
  return parse_train_options(static_cast<int>(argv.size()), argv.data(), defaults);
}

// Every option of every model that --help names comes back from the file that --print-config writes.
TEST(TrainSettings, PrintedConfigsAreReadAsTheyWere) {
  for (const ModelEntry& entry : model_registry()) {
    const std::string model(entry.name);
    SCOPED_TRACE(model);
    const TempDir dir;
    const std::string printed =
        parse_settings({"--model", model, "--print-config", "--epochs", "17", "--seed=9", "--lr", "0.003",
                        "--precision", "bf16", "--checkpoint", "ck", "--resume", "--dataset", "a \"b\".h5"})
            .notice;
    write_file(dir / "run.json", printed);
    EXPECT_EQ(parse_settings({"--config", dir / "run.json", "--print-config"}).notice, printed);
    const TrainOptions read = parse_settings({"--config=" + dir / "run.json", "--epochs", "18"});
    EXPECT_EQ(read.epochs, 18);
    EXPECT_EQ(read.seed, 9u);
    EXPECT_EQ(read.lr, 0.003);
    EXPECT_EQ(read.precision, Precision::kBf16);
    EXPECT_TRUE(read.resume);
    EXPECT_EQ(read.dataset, "a \"b\".h5");
    EXPECT_EQ(parse_settings({"--config", dir / "run.json", "--precision=tf32"}).precision, Precision::kTf32);

    std::istringstream help(parse_settings({"--model", model, "--help"}).notice);
    for (std::string word; help >> word;) {
      if (!word.starts_with("--") || word == "--") continue;
      const std::string option = word.substr(2);
      if (option.find_first_not_of("abcdefghijklmnopqrstuvwxyz-0123456789") != std::string::npos) continue;
      if (option == "help" || option == "version" || option == "config" || option == "print-config" ||
          option == "dry-run" || option == "list-devices" || option == "completion")
        continue;
      const bool left_out =
          option == "split" || option == "fanout" || option == "splits" || option == "class-weights" ||
          option == "layer-dropout" || option == "export" || option == "log" || option == "csv" ||
          option == "tensorboard" || option == "report" || option == "trace" || option == "lr-step" ||
          option == "lr-factor" || option == "lr-period" || option == "lr-least" || option == "lr-patience" ||
          option == "momentum" || option == "nesterov";  // not given above
      EXPECT_EQ(printed.find("\"" + option + "\":") == std::string::npos, left_out) << option;
    }
  }
}

TEST(TrainSettings, OldNamesAreAcceptedWithAWarning) {
  const TempDir dir;
  const std::string file = dir / "old.json";
  write_file(file, R"({"model": "gcn", "dataset": "x", "no-graph": true})");
  const TrainOptions options = parse_settings({"--config", file});
  EXPECT_FALSE(options.cuda_graph);
  ASSERT_EQ(options.warnings.size(), 1u);
  EXPECT_EQ(
      options.warnings[0],
      file + ": --no-graph was renamed to --no-cuda-graph; the old name will be removed in the next release");
}

TEST(TrainSettings, AnErrorNamesTheFileOfTheValue) {
  const TempDir dir;
  const std::string file = dir / "c.json";
  write_file(file, R"({"model": "gcn", "hidden": 0, "precision": "half"})");
  EXPECT_ERROR(parse_settings({"--dataset", "x", "--config", file, "--hidden", "4"}),
               file + ": unknown precision 'half': expected one of fp32, tf32, bf16");
  EXPECT_EQ(
      parse_settings({"--dataset", "x", "--config", file, "--hidden", "4", "--precision", "bf16"}).hidden, 4);
}

TEST(TrainSettings, BadConfigsAreNamed) {
  const TempDir dir;
  const std::string file = dir / "c.json";
  const auto rejected = [&](const std::string& json, bool choose = true) {
    write_file(file, json);
    return test::error_of([&] { parse_settings({"--dataset", "x", "--config", file}, choose); });
  };
  EXPECT_EQ(rejected(R"({"model": "gcn", "hiden": 3})"), file + ": unknown key 'hiden'; see --help");
  EXPECT_EQ(rejected(R"({"model": "gcn", "heads": 3})"), file + ": unknown key 'heads'; see --help");
  EXPECT_EQ(rejected(R"({"model": "gcn", "hidden": 0})"),
            file + ": --hidden must be an integer of at least 1, got '0'");
  EXPECT_EQ(rejected(R"({"model": "gcn", "hidden": [1]})"),
            file + ": 'hidden' must be text, a number, true or false");
  EXPECT_EQ(rejected(R"({"help": true})"), file + ": 'help' belongs on the command line");
  EXPECT_EQ(rejected(R"({"a=b": 1})"), file + ": unknown key 'a=b'");
  // An Error has one line, whatever the file says.
  EXPECT_EQ(rejected(R"({"hid\nden": 1})"), file + ": unknown key 'hid\\nden'");
  EXPECT_EQ(rejected(R"({"model": "gcn", "hid\rden": 1})"), file + ": unknown key 'hid\\rden'; see --help");
  for (const char* json : {R"({"model": "gcn", "norm": "ba\ntch"})", R"({"model": "g\ncn"})",
                           R"({"model": "gcn", "task": "no\nde"})"}) {
    EXPECT_EQ(rejected(json).find('\n'), std::string::npos) << json;
    EXPECT_EQ(test::error_of([&] { model_options(json, file); }).find('\n'), std::string::npos) << json;
  }
  EXPECT_EQ(rejected("[]"), file + ": must be an object of options and values");
  EXPECT_TRUE(rejected("{").starts_with(file + ": is not JSON"));
  EXPECT_EQ(rejected(R"({"model": "gat"})", false),
            file + ": 'model' must be gcn for this command, got 'gat'");
  EXPECT_ERROR(parse_settings({"--config", dir / "none"}),
               dir / "none" + ": cannot be read: No such file or directory");
  write_file(file, R"({"model": "gcn", "hidden": 0})");
  EXPECT_ERROR(parse_settings({"--dataset", "x", "--config", file, "--hidden", "-1"}),
               "--hidden must be an integer of at least 1, got '-1'");
  EXPECT_ERROR(parse_settings({"--model=gcn", "--dataset", "x", "--resume"}),
               "--resume needs --checkpoint DIR to resume from");
}

// A checkpoint of a version before an option was trained with its default.
TEST(TrainSettings, ARunIsResumedWithItsOptions) {
  const std::string rule = ": a run is resumed with the options it began with";
  TrainOptions now = published_options("gcn");
  Json then = settings_of(now);
  const auto error = [&]() -> std::string {
    try {
      check_same_training(then.dump(), now, "w");
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(error(), "");
  then.erase("hidden");
  EXPECT_EQ(error(), "");
  now.hidden += 1;
  EXPECT_EQ(error(), str("w: was trained with --hidden no value, not with ", now.hidden, rule));
  now.hidden -= 1;
  now.epochs += 1;  // of the run, not of the training
  EXPECT_EQ(error(), "");

  then.erase("precision");
  EXPECT_EQ(error(), "");
  now.precision = Precision::kTf32;
  EXPECT_EQ(error(), "w: was trained with --precision no value, not with \"tf32\"" + rule);
  then["tf32"] = true;
  EXPECT_EQ(error(), "");
  now.precision = Precision::kFp32;
  EXPECT_EQ(error(), "w: was trained with --precision no value, not with \"fp32\"" + rule);
  then["tf32"] = false;
  EXPECT_EQ(error(), "");

  then["split"] = "60/20/20";
  EXPECT_EQ(error(), "w: was trained with --split \"60/20/20\"" + rule);
  now.split = "60/20/20";
  EXPECT_EQ(error(), "");
}

TEST(TrainSettings, AModelsFileHasTheModelAlone) {
  EXPECT_EQ(model_options(R"({"model": "gat", "heads": 3})", "w").heads, 3);
  EXPECT_ERROR(model_options(R"({"model": "gat", "export": "/etc/x"})", "w"),
               "w: 'export' is no option of the model gat");
  EXPECT_ERROR(model_options(R"({"model": "nn"})", "w"),
               "w: unknown model 'nn': expected one of " + model_names());
  EXPECT_ERROR(model_options(R"({"heads": 3})", "w"), "w: names no model");
}

}  // namespace
}  // namespace rodeo
