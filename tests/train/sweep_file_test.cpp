#include "train/io/sweep_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/support/devices.h"

namespace rodeo {
namespace {

using Texts = std::vector<std::string>;

std::vector<Texts> trials_of(const std::string& json) {
  std::vector<Texts> all;
  for (const Trial& trial : read_sweep(json, "s.json").trials) all.push_back(texts_of(trial));
  return all;
}

TEST(TrainSweepFile, AGridIsAllCombinations) {
  const Sweep sweep = read_sweep(R"({"options": {"model": "gcn", "epochs": 5},
                                     "grid": {"lr": [0.1, 1e-3], "norm": ["none", "batch"]}})",
                                 "s.json");
  EXPECT_EQ(sweep.names, (Texts{"lr", "norm"}));
  ASSERT_EQ(sweep.options.size(), 2u);
  EXPECT_EQ(sweep.options[1].name + sweep.options[1].text + sweep.options[1].file, "epochs5s.json");
  ASSERT_EQ(sweep.trials.size(), 4u);
  EXPECT_EQ(sweep.trials[1][0].name + " " + sweep.trials[1][0].file, "lr s.json");
  std::vector<Texts> all;
  for (const Trial& trial : sweep.trials) all.push_back(texts_of(trial));
  EXPECT_EQ(all,
            (std::vector<Texts>{{"0.1", "none"}, {"0.1", "batch"}, {"0.001", "none"}, {"0.001", "batch"}}));
}

TEST(TrainSweepFile, NoTwoTrialsAreAlike) {
  EXPECT_EQ(trials_of(R"({"grid": {"layers": [2, 2, 3]}})"), (std::vector<Texts>{{"2"}, {"3"}}));
  EXPECT_EQ(trials_of(R"({"random": {"layers": [2, 3], "residual": [true]}, "trials": 100})").size(), 2u);
}

constexpr const char* kRandom = R"("lr": {"log-uniform": [0.001, 0.1]}, "dropout": {"uniform": [0.2, 0.8]},
  "hidden": {"int": [16, 19]}, "heads": {"log-int": [1, 64]}, "act": ["relu", "elu"])";

std::string random(const std::string& more) {
  return str(R"({"random": {)", kRandom, "}, ", more, "}");
}

TEST(TrainSweepFile, DrawsAreOfTheirDistribution) {
  const std::vector<Texts> trials = trials_of(random(R"("trials": 4000)"));
  ASSERT_EQ(trials.size(), 4000u);
  std::map<std::string, int> hidden, act;
  int below_centre = 0, below_half = 0, heads_below_8 = 0;
  for (const Texts& trial : trials) {
    const double lr = std::stod(trial[0]), dropout = std::stod(trial[1]), heads = std::stod(trial[3]);
    EXPECT_TRUE(lr >= 0.001 && lr <= 0.1) << trial[0];
    EXPECT_TRUE(dropout >= 0.2 && dropout <= 0.8) << trial[1];
    EXPECT_TRUE(heads >= 1 && heads <= 64 && heads == std::floor(heads)) << trial[3];
    EXPECT_LE(trial[0].size(), std::string("0.001234").size()) << "more than four digits";
    below_centre += lr < 0.01;
    below_half += dropout < 0.5;
    heads_below_8 += heads < 8;
    ++hidden[trial[2]];
    ++act[trial[4]];
  }
  // Of n = 4000 draws with probability p the count has a deviation of sqrt(n p (1 - p)) < 32.
  EXPECT_NEAR(below_centre, 2000, 160);
  EXPECT_NEAR(below_half, 2000, 160);
  EXPECT_NEAR(heads_below_8, 4000 * std::log(8) / std::log(65), 160);
  ASSERT_EQ(hidden.size(), 4u);
  for (const char* value : {"16", "17", "18", "19"}) EXPECT_NEAR(hidden[value], 1000, 160) << value;
  ASSERT_EQ(act.size(), 2u);
  EXPECT_NEAR(act["elu"], 2000, 160);
}

TEST(TrainSweepFile, TheSameSeedHasTheSameTrials) {
  const std::vector<Texts> trials = trials_of(random(R"("trials": 20, "seed": 3)"));
  EXPECT_EQ(trials_of(random(R"("trials": 20, "seed": 3)")), trials);
  EXPECT_NE(trials_of(random(R"("trials": 20, "seed": 4)")), trials);
  // On every machine: results of another one are found again.
  EXPECT_EQ(trials_of(random(R"("trials": 1)"))[0], (Texts{"0.07988", "0.7831", "16", "32", "elu"}));

  std::vector<Texts> more = trials_of(random(R"("trials": 30, "seed": 3)"));
  more.resize(20);
  EXPECT_EQ(more, trials) << "more trials change those before";
  const std::vector<Texts> alone =
      trials_of(R"({"random": {"hidden": {"int": [16, 19]}, "lr": {"log-uniform": [0.001, 0.1]}},
                    "trials": 20, "seed": 3})");
  for (std::size_t i = 0; i < alone.size(); ++i)
    EXPECT_EQ(alone[i], (Texts{trials[i][2], trials[i][0]})) << "other options change those of a trial";
}

TEST(TrainSweepFile, EachDrawMeetsTheWholeGrid) {
  const std::vector<Texts> trials =
      trials_of(R"({"grid": {"layers": [2, 3]}, "random": {"lr": {"uniform": [0, 1]}}, "trials": 2})");
  ASSERT_EQ(trials.size(), 4u);
  EXPECT_EQ(trials[0][0] + trials[1][0] + trials[2][0] + trials[3][0], "2323");
  EXPECT_EQ(trials[0][1], trials[1][1]);
  EXPECT_NE(trials[1][1], trials[2][1]);
}

TEST(TrainSweepFile, AFileThatIsNoneIsRefused) {
  const auto refused = [](const std::string& json) {
    return test::error_of([&] { read_sweep(json, "s.json"); });
  };
  const auto expect = [&](const std::string& json, const std::string& text) {
    EXPECT_EQ(refused(json), "s.json: " + text) << json;
  };
  EXPECT_TRUE(refused("{").starts_with("s.json: is not JSON: "));
  EXPECT_TRUE(refused("{\"a\xff\": 1}").starts_with("s.json: is not JSON: "));
  expect("[]", "must be an object with options, grid, random, trials and seed");
  expect(R"({"gird": {}})",
         "unknown key 'gird': expected options, grid, random, trials and seed; options of training belong "
         "into 'options'");
  expect("{}", "there is nothing to try: 'grid' or 'random' must have an option and its values");
  expect(R"({"grid": {}})", "there is nothing to try: 'grid' or 'random' must have an option and its values");
  expect(R"({"options": [], "grid": {"lr": [1]}})", "'options' must be an object of options and values");
  expect(R"({"options": {"lr": [1]}, "grid": {"hidden": [1]}})",
         "'lr' must be text, a number, true or false");
  expect(R"({"grid": [1]})", "'grid' must be an object of options and what to try for each");
  expect(R"({"grid": {"lr": 0.1}})", "grid 'lr' must be a list of values");
  expect(R"({"grid": {"lr": []}})", "grid 'lr' must have at least one value");
  expect(R"({"grid": {"lr": [null]}})", "'lr' must be text, a number, true or false");
  expect(R"({"grid": {"help": [true]}})", "'help' belongs on the command line");
  expect(R"({"grid": {"sweep": ["s"]}})", "'sweep' belongs on the command line");
  expect(R"({"grid": {"a\nb": [1]}})", "unknown key 'a\\nb'");
  expect(R"({"random": {"lr": [1]}})", "'random' and 'trials', the number of draws, need each other");
  expect(R"({"grid": {"lr": [1]}, "trials": 2})",
         "'random' and 'trials', the number of draws, need each other");
  for (const char* trials : {"0", "-1", "1.5", "\"2\"", "18446744073709551615"})
    expect(str(R"({"random": {"lr": [1]}, "trials": )", trials, "}"),
           "'trials' must be a whole number of at least 1");
  expect(R"({"grid": {"lr": [1]}, "seed": -1})", "'seed' must be a whole number of at least 0");
  const std::string kinds =
      "random 'lr' must be a list of values, {\"uniform\": [a, b]}, {\"log-uniform\": [a, b]}, {\"int\": [a, "
      "b]} or {\"log-int\": [a, b]}";
  for (const char* source : {"1", "{}", R"({"normal": [0, 1]})", R"({"int": [1, 2], "uniform": [1, 2]})"})
    expect(str(R"({"random": {"lr": )", source, R"(}, "trials": 1})"), kinds);
  const auto draws = [&](const std::string& source, const std::string& text) {
    expect(str(R"({"random": {"lr": )", source, R"(}, "trials": 1})"), "random 'lr'" + text);
  };
  draws("[]", " must have at least one value");
  for (const char* ends : {"1", "[1]", "[1, 2, 3]", "[2, 1]", R"(["1", "2"])"})
    draws(str(R"({"uniform": )", ends, "}"), ": uniform must have two numbers [a, b] with a <= b");
  draws(R"({"log-uniform": [0, 1]})", ": log-uniform must have two numbers [a, b] with 0 < a <= b");
  draws(R"({"log-int": [0, 4]})", ": log-int must have two numbers [a, b] with 0 < a <= b");
  draws(R"({"int": [1, 2.5]})", ": int must have whole numbers of at most 1e15");
  draws(R"({"int": [1, 10000000000000000]})", ": int must have whole numbers of at most 1e15");
  draws(R"({"uniform": [-1e308, 1e308]})", ": the numbers are too far apart");
  for (const char* option : {"seed", "seeds", "dataset", "metric", "device", "precision", "log"})
    expect(str(R"({"grid": {")", option, R"(": [1]}})"),
           str("'", option, "' must be the same for all trials: it belongs into 'options'"));
  const std::string twice = "'lr' has values in two places: leave one of them out";
  expect(R"({"options": {"lr": 1}, "grid": {"lr": [1]}})", twice);
  expect(R"({"grid": {"lr": [1]}, "random": {"lr": [1]}, "trials": 1})", twice);
  expect(R"({"random": {"lr": [1]}, "grid": {"hidden": [1, 2]}, "trials": 6000})",
         "has 12000 trials, more than 10000");
}

TEST(TrainSweepFile, NumbersAtTheEndsOfTheirRange) {
  const auto first = [](const std::string& source) {
    const std::string text = trials_of(str(R"({"random": {"lr": )", source, R"(}, "trials": 1})"))[0][0];
    return std::strtod(text.c_str(), nullptr);
  };
  EXPECT_EQ(first(R"({"uniform": [0.123456789, 0.123456789]})"), 0.123456789);
  EXPECT_EQ(first(R"({"int": [7, 7]})"), 7);
  EXPECT_EQ(first(R"({"log-int": [7, 7]})"), 7);
  EXPECT_LE(first(R"({"uniform": [1.7976931348623157e308, 1.7976931348623157e308]})"),
            1.7976931348623157e308);
  EXPECT_GT(first(R"({"log-uniform": [1e-310, 1e-309]})"), 0);
}

}  // namespace
}  // namespace rodeo
