#include "train/commands/parse_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"
#include "train/io/settings.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

TrainOptions parse(std::vector<const char*> arguments, const TrainOptions& defaults = {}) {
  arguments.insert(arguments.begin(), "bin/train_gcn");
  return parse_train_options(static_cast<int>(arguments.size()), arguments.data(), defaults);
}

struct BadCase {
  std::vector<const char*> arguments;
  std::string message;
};

TEST(TrainOptions, DefaultsAreThePublishedOnes) {
  const TrainOptions options = parse({"--dataset", "cora.h5"});
  EXPECT_EQ(options.dataset, "cora.h5");
  EXPECT_EQ(options.split, "");
  EXPECT_FALSE(options.undirected);
  EXPECT_EQ(options.normalize_features, FeatureScaling::kAuto);
  EXPECT_EQ(options.hidden, 16);
  EXPECT_EQ(options.layers, 2);
  EXPECT_EQ(options.dropout, 0.5);
  EXPECT_EQ(options.epochs, 200);
  EXPECT_EQ(options.lr, 0.01);
  EXPECT_EQ(options.weight_decay, 5e-4);
  EXPECT_EQ(options.seed, 0u);
  EXPECT_EQ(options.eval_every, 1);
  EXPECT_EQ(options.patience, 0);
  EXPECT_EQ(options.device, "auto");
  EXPECT_EQ(options.spmm, SpmmAlgorithm::kAuto);
  EXPECT_EQ(options.precision, Precision::kFp32);
  EXPECT_TRUE(options.cuda_graph);
  EXPECT_FALSE(options.explain);
  EXPECT_FALSE(options.quiet);
  EXPECT_EQ(options.notice, "");
}

TEST(TrainOptions, OptimizerOptionsBelongTogether) {
  EXPECT_EQ(parse({"--dataset", "x"}).optimizer.name, "adam");
  const TrainOptions sgd = parse({"--dataset", "x", "--nesterov", "--momentum", "0.9", "--optimizer", "sgd"});
  EXPECT_EQ(sgd.optimizer.name, "sgd");
  EXPECT_EQ(sgd.optimizer.momentum, 0.9);
  EXPECT_TRUE(sgd.optimizer.nesterov);
  const std::vector<BadCase> cases = {
      {{"--dataset", "x", "--optimizer", "lion"}, "--optimizer must be one of adam, adamw, sgd, got 'lion'"},
      {{"--dataset", "x", "--momentum", "0.9"}, "--momentum belongs to --optimizer sgd"},
      {{"--dataset", "x", "--nesterov", "--optimizer", "adamw"}, "--nesterov belongs to --optimizer sgd"},
      {{"--dataset", "x", "--nesterov", "--optimizer", "sgd"}, "--nesterov needs --momentum above 0"},
      {{"--dataset", "x", "--optimizer", "sgd", "--momentum", "-1"},
       "--momentum must be a number of at least 0, got '-1'"},
  };
  for (const BadCase& bad : cases) EXPECT_ERROR(parse(bad.arguments), bad.message);
}

// Settings have momentum for SGD only. Checkpoints of versions that had Adam alone name no optimizer.
TEST(TrainOptions, OptimizerIsASettingOfTheRun) {
  TrainOptions options = parse({"--dataset", "x"});
  Json before = settings_of(options);
  EXPECT_EQ(before["optimizer"], "adam");
  EXPECT_FALSE(before.contains("momentum"));
  EXPECT_FALSE(before.contains("nesterov"));
  before.erase("optimizer");
  EXPECT_NO_THROW(check_same_training(before.dump(), options, "run"));
  options = parse({"--dataset", "x", "--optimizer", "sgd", "--momentum", "0.5"});
  EXPECT_EQ(settings_of(options)["momentum"], 0.5);
  EXPECT_EQ(settings_of(options)["nesterov"], false);
  EXPECT_ERROR(
      check_same_training(before.dump(), options, "run"),
      "run: was trained with --optimizer no value, not with \"sgd\": a run is resumed with the options "
      "it began with");
}

TEST(TrainOptions, ReadsEveryOption) {
  const TrainOptions options = parse({"--dataset=a b.h5",
                                      "--split",
                                      "60/20/20",
                                      "--undirected",
                                      "--normalize-features",
                                      "none",
                                      "--hidden",
                                      "256",
                                      "--layers",
                                      "3",
                                      "--dropout",
                                      "0",
                                      "--epochs",
                                      "7",
                                      "--lr=1e-3",
                                      "--weight-decay",
                                      "0",
                                      "--seed",
                                      "18446744073709551615",
                                      "--eval-every",
                                      "5",
                                      "--patience",
                                      "10",
                                      "--stop-on",
                                      "loss",
                                      "--device",
                                      "cuda:1",
                                      "--spmm",
                                      "rode",
                                      "--spmm-accumulate",
                                      "atomic",
                                      "--precision",
                                      "tf32",
                                      "--no-cuda-graph",
                                      "--quiet"});
  EXPECT_EQ(options.dataset, "a b.h5");
  EXPECT_EQ(options.split, "60/20/20");
  EXPECT_TRUE(options.undirected);
  EXPECT_EQ(options.normalize_features, FeatureScaling::kNone);
  EXPECT_EQ(options.hidden, 256);
  EXPECT_EQ(options.layers, 3);
  EXPECT_EQ(options.dropout, 0);
  EXPECT_EQ(options.epochs, 7);
  EXPECT_EQ(options.lr, 1e-3);
  EXPECT_EQ(options.weight_decay, 0);
  EXPECT_EQ(options.seed, 18446744073709551615u);
  EXPECT_EQ(options.eval_every, 5);
  EXPECT_EQ(options.patience, 10);
  EXPECT_TRUE(options.stop_on_loss);
  EXPECT_EQ(options.device, "cuda:1");
  EXPECT_EQ(options.spmm, SpmmAlgorithm::kRode);
  EXPECT_EQ(options.spmm_accumulate, Accumulate::kAtomic);
  EXPECT_EQ(options.precision, Precision::kTf32);
  EXPECT_FALSE(options.cuda_graph);
  EXPECT_TRUE(options.quiet);
}

TEST(TrainOptions, ACommandHasItsOwnDefaults) {
  TrainOptions defaults;
  defaults.hidden = 8;
  defaults.dropout = 0.6;
  const TrainOptions options = parse({"--dataset", "x", "--lr", "0.1"}, defaults);
  EXPECT_EQ(options.hidden, 8);
  EXPECT_EQ(options.dropout, 0.6);
  EXPECT_EQ(options.lr, 0.1);
}

TrainOptions parse_gat(std::vector<const char*> arguments) {
  return parse(std::move(arguments), published_options("gat"));
}

TEST(TrainOptions, GatHasItsPublishedDefaults) {
  const TrainOptions options = parse_gat({"--dataset", "cora.h5"});
  EXPECT_EQ(options.model, "gat");
  EXPECT_EQ(options.hidden, 8);
  EXPECT_EQ(options.heads, 8);
  EXPECT_EQ(options.out_heads, 1);
  EXPECT_EQ(options.dropout, 0.6);
  EXPECT_EQ(options.attention_dropout, 0.6);
  EXPECT_EQ(options.negative_slope, 0.2);
  EXPECT_EQ(options.attention, AttentionForm::kAuto);
  EXPECT_EQ(options.lr, 0.005);
  EXPECT_EQ(options.weight_decay, 5e-4);
  EXPECT_EQ(options.epochs, 200);
}

TEST(TrainOptions, GatHasItsOwnOptions) {
  const TrainOptions options = parse_gat({"--dataset", "x", "--heads", "4", "--out-heads=6", "--attn-dropout",
                                          "0.25", "--negative-slope", "0.1", "--attention", "composed"});
  EXPECT_EQ(options.heads, 4);
  EXPECT_EQ(options.out_heads, 6);
  EXPECT_EQ(options.attention_dropout, 0.25);
  EXPECT_EQ(options.negative_slope, 0.1);
  EXPECT_EQ(options.attention, AttentionForm::kComposed);
  const std::string help = parse_gat({"--help"}).notice;
  EXPECT_NE(help.find("--out-heads 8 --weight-decay 1e-3 --lr 0.01"), std::string::npos) << help;
  EXPECT_NE(help.find("L2 penalty on all parameters"), std::string::npos) << help;

  // An option of the other model would do nothing.
  EXPECT_ERROR(parse_gat({"--dataset", "x", "--spmm-accumulate", "atomic"}),
               "unknown option '--spmm-accumulate' for the model gat: it is of gcn, sage, gin, sgc, appnp, "
               "gcn2 and pna");
  EXPECT_ERROR(parse_gat({"--dataset", "x", "--spmm", "rode"}),
               "--spmm is for composed attention: add --attention composed");
  EXPECT_TRUE(parse_gat({"--dataset", "x", "--explain"}).explain);
  EXPECT_ERROR(parse_gat({"--dataset", "x", "--sddmm", "edges"}),
               "--sddmm is for composed attention: add --attention composed");
  EXPECT_ERROR(parse_gat({"--dataset", "x", "--sddmm", "columns"}),
               "unknown sddmm algorithm 'columns': expected one of auto, rows, edges");
  EXPECT_ERROR(parse({"--dataset", "x", "--sddmm", "rows"}),
               "unknown option '--sddmm' for the model gcn: it is of gat, gatv2 and transformer");
  EXPECT_EQ(parse_gat({"--dataset", "x", "--attention", "composed", "--sddmm", "rows", "--explain"}).sddmm,
            SddmmAlgorithm::kRows);
  EXPECT_ERROR(parse({"--dataset", "x", "--heads", "4"}),
               "unknown option '--heads' for the model gcn: it is of gat, gatv2 and transformer");
  EXPECT_ERROR(parse_gat({"--dataset", "x", "--heads", "0"}),
               "--heads must be an integer of at least 1, got '0'");
  EXPECT_ERROR(parse_gat({"--dataset", "x", "--attn-dropout", "1"}),
               "--attn-dropout must be a number in [0, 1), got '1'");
  EXPECT_ERROR(parse_gat({"--dataset", "x", "--negative-slope", "-0.2"}),
               "--negative-slope must be a number of at least 0, got '-0.2'");
  EXPECT_ERROR(parse_gat({"--dataset", "x", "--attention", "best"}),
               "unknown attention form 'best': expected one of auto, fused, composed");
  EXPECT_ERROR(parse_gat({"--dataset", "x", "--quiet=maybe"}), "--quiet takes no value, got 'maybe'");
}

TEST(TrainOptions, HelpAndVersionNeedNothingElse) {
  const std::string help = parse({"--lr", "-1", "--help"}).notice;
  for (const char* part : {"train_gcn --dataset FILE", "Data options", "Model options", "Training options",
                           "Execution options", "Output options", "(default: 0.01)", "--eval-every"})
    EXPECT_NE(help.find(part), std::string::npos) << part << " is not in\n" << help;
  EXPECT_NE(help.find("Examples:\n  train_gcn cora.h5\n"), std::string::npos) << help;
  EXPECT_EQ(parse({"--version"}).notice.find("train_gcn "), 0u);
  // What few runs need comes last, and what chooses kernels apart.
  EXPECT_LT(help.find("Files options"), help.find("Trunk options"));
  EXPECT_LT(help.find("Trunk options"), help.find("Optimization options"));
  EXPECT_EQ(help.find("--spmm-accumulate"), std::string::npos) << help;
  EXPECT_NE(help.find("More options: --help kernels has"), std::string::npos) << help;
  const std::string kernels = parse({"--help", "kernels"}).notice;
  for (const char* part :
       {"--spmm", "--spmm-accumulate", "--features ", "--reorder", "--no-cuda-graph", "--trace", "--profile"})
    EXPECT_NE(kernels.find(part), std::string::npos) << part << " is not in\n" << kernels;
  EXPECT_EQ(kernels.find("--epochs"), std::string::npos) << kernels;
}

// Values and files that others would take.
TEST(TrainOptions, WhatOtherProgramsTakeIsAnswered) {
  EXPECT_ERROR(parse({"x.h5", "--metric", "R2"}),
               "--metric R2: R^2 is the metric of labels that are numbers: leave --metric out");
  EXPECT_ERROR(parse({"x.h5", "--metric", "auc"}), "--metric auc: it is roc-auc");
  EXPECT_ERROR(published_options("GCN"), "unknown model 'GCN': names are in lower case, --model gcn");
  const test::TempDir dir;
  const std::string file = dir / "README.md";
  std::ofstream(file) << "# Read me\n";
  EXPECT_ERROR(parse({"x.h5", "--config", file.c_str()}),
               file +
                   ": is no file of settings: --config takes JSON, as --print-config prints it, "
                   "{\"epochs\": 100}");
}

TEST(TrainOptions, ShortHelpHasTheMostUsedOptionsAndExamples) {
  const std::string help = parse({"-h"}).notice;
  EXPECT_LT(help.size(), parse({"--help"}).notice.size() / 2);
  for (const char* part : {"Usage: train_gcn [--dataset] FILE [options]\n", "  --epochs N ",
                           "(default: 0.01)", "  --help ", "Examples:\n  train_gcn cora.h5\n"})
    EXPECT_NE(help.find(part), std::string::npos) << part << " is not in\n" << help;
  EXPECT_EQ(help.find("--lr-factor"), std::string::npos) << help;
}

TEST(TrainOptions, HelpFitsTheTerminal) {
  setenv("COLUMNS", "68", 1);
  for (const char* option : {"-h", "--help"}) {
    std::istringstream help(parse({option}).notice);
    for (std::string line; std::getline(help, line);) EXPECT_LE(line.size(), 68u) << line;
  }
  unsetenv("COLUMNS");
}

TEST(TrainOptions, AFileAloneIsTheDataset) {
  EXPECT_EQ(parse({"cora.h5", "--epochs", "5"}).dataset, "cora.h5");
  EXPECT_EQ(parse({"--quiet", "cora.h5"}).dataset, "cora.h5");
  EXPECT_ERROR(parse({"cora.h5", "pubmed.h5"}), "unexpected argument 'cora.h5'; see --help");
  EXPECT_ERROR(parse({"cora.h5", "--dataset", "pubmed.h5"}), "unexpected argument 'cora.h5'; see --help");
}

TEST(TrainOptions, OldNamesAreAcceptedWithAWarning) {
  const TrainOptions options = parse({"--dataset", "x", "--no-graph"});
  EXPECT_FALSE(options.cuda_graph);
  ASSERT_EQ(options.warnings.size(), 1u);
  EXPECT_EQ(options.warnings[0],
            "--no-graph was renamed to --no-cuda-graph; the old name will be removed in the next release");
  EXPECT_TRUE(parse({"--dataset", "x", "--no-cuda-graph"}).warnings.empty());
  EXPECT_ERROR(parse({"--dataset", "x", "--no-graph=maybe"}), "--no-cuda-graph takes no value, got 'maybe'");
}

TEST(TrainOptions, EveryMistakeHasItsLine) {
  const std::vector<BadCase> cases{
      {{}, "--dataset FILE is required; see --help"},
      {{"--dataset"}, "--dataset needs a value"},
      {{"--dataset="}, "--dataset needs a value"},
      {{"--dataset", "--quiet"}, "--dataset needs a value"},
      {{"--dataset", "x", "--lr"}, "--lr needs a value"},
      {{"--dataset", "x", "--split="}, "--split needs a value"},
      {{"--dataset", "x", "--lr", "--epochs", "5"}, "--lr needs a value"},
      {{"--dataset", "x", "--epoch", "5"}, "unknown option '--epoch': did you mean --epochs?"},
      {{"--dataset", "x", "-hidden", "5"},
       "unknown option '-hidden': names of options begin with two dashes, --hidden"},
      {{"--dataset", "x", "-q"}, "unknown option '-q'; see --help"},
      {{"--dataset", "x", "--quiet=maybe"}, "--quiet takes no value, got 'maybe'"},
      {{"--dataset", "x", "--hiden=5"}, "unknown option '--hiden': did you mean --hidden?"},
      {{"--dataset", "x", "--frobnicate"}, "unknown option '--frobnicate'; see --help"},
      {{"x.h5", "--batch-size", "32"}, "unknown option '--batch-size'; see --help"},
      {{"--dataset", "x", "--", "y"}, "unexpected argument 'y'; see --help"},
      {{"--dataset", "x", "--hidden", "0"}, "--hidden must be an integer of at least 1, got '0'"},
      {{"--dataset", "x", "--hidden", "16.5"}, "--hidden must be an integer of at least 1, got '16.5'"},
      {{"--dataset", "x", "--layers", "0"}, "--layers must be an integer in [1, 10000], got '0'"},
      {{"--dataset", "x", "--epochs", "-3"}, "--epochs must be an integer of at least 1, got '-3'"},
      {{"--dataset", "x", "--epochs", "9999999999"},
       "--epochs must be an integer of at least 1, got '9999999999'"},
      {{"--dataset", "x", "--eval-every", "0"}, "--eval-every must be an integer of at least 1, got '0'"},
      {{"--dataset", "x", "--patience", "-1"}, "--patience must be an integer of at least 0, got '-1'"},
      {{"--dataset", "x", "--patience", "5", "--stop-on", "f1"},
       "--stop-on must be loss or accuracy, got 'f1'"},
      {{"--dataset", "x", "--stop-on", "loss"}, "--stop-on loss needs --patience N, the epochs to wait"},
      {{"--dataset", "x", "--seed", "-1"}, "--seed must be an integer of at least 0, got '-1'"},
      {{"--dataset", "x", "--dropout", "1"}, "--dropout must be a number in [0, 1), got '1'"},
      {{"--dataset", "x", "--dropout", "nan"}, "--dropout must be a number in [0, 1), got 'nan'"},
      {{"--dataset", "x", "--lr", "0"}, "--lr must be a number above 0, got '0'"},
      {{"--dataset", "x", "--lr", "inf"}, "--lr must be a number above 0, got 'inf'"},
      {{"--dataset", "x", "--lr", "fast"}, "--lr must be a number above 0, got 'fast'"},
      {{"--dataset", "x", "--weight-decay", "-1"}, "--weight-decay must be a number of at least 0, got '-1'"},
      {{"--dataset", "x", "--normalize-features", "column"},
       "--normalize-features must be auto, none, unit, row, standard or standard-all, got 'column'"},
  };
  for (const BadCase& bad : cases) EXPECT_ERROR(parse(bad.arguments), bad.message);
  EXPECT_ERROR(parse({"--dataset", "x", "--spmm", "fast"}),
               "unknown spmm algorithm 'fast': expected one of " + kEnumNames<SpmmAlgorithm>.names());
  EXPECT_ERROR(parse({"--dataset", "x", "--spmm-accumulate", "fast"}),
               "unknown accumulation 'fast': expected one of ordered, atomic");
  EXPECT_ERROR(parse({"--dataset", "x", "--spmm", "csr", "--spmm-accumulate", "atomic"}),
               "--spmm-accumulate atomic is for --spmm rode and auto, got --spmm csr");
  EXPECT_ERROR(parse({"--dataset", "x", "--precision", "bf16", "--spmm-accumulate", "atomic"}),
               "--spmm-accumulate atomic is for --precision fp32 and tf32, got --precision bf16");
  EXPECT_ERROR(parse({"--dataset", "x", "--quiet", "--explain"}),
               "--explain prints a table and --quiet one line: give one of them");
  EXPECT_TRUE(parse({"--dataset", "x", "--explain"}).explain);
}

}  // namespace
}  // namespace rodeo
