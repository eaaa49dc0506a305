#include <gtest/gtest.h>

#include <vector>

#include "datasets/synthetic.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "train/commands/parse_options.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo {
namespace {

TrainOptions parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "bin/rodeo_train");
  TrainOptions defaults;
  defaults.choose_model = true;
  return parse_train_options(static_cast<int>(arguments.size()), arguments.data(), defaults);
}

TEST(TrainModelOptions, AModelHasItsPublishedDefaults) {
  for (const ModelEntry& entry : model_registry()) {
    const std::string model(entry.name);
    const TrainOptions got = parse({"--dataset", "x", "--model", model.c_str()}),
                       want = published_options(model);
    EXPECT_EQ(got.model, model);
    EXPECT_EQ(got.hidden, want.hidden);
    EXPECT_EQ(got.lr, want.lr);
    EXPECT_EQ(got.weight_decay, want.weight_decay);
    EXPECT_EQ(got.epochs, want.epochs);
    EXPECT_EQ(got.hops, want.hops);
    EXPECT_EQ(got.dropout, want.dropout);
  }
  EXPECT_EQ(parse({"--model=sgc", "--dataset=x"}).lr, 0.2);
  EXPECT_EQ(parse({"--model=appnp", "--dataset=x"}).hops, 10);
}

TEST(TrainModelOptions, AModelHasItsOwnOptions) {
  EXPECT_EQ(parse({"--model", "sage", "--dataset", "x", "--aggr", "max"}).aggr, Reduce::kMax);
  EXPECT_TRUE(parse({"--model", "gin", "--dataset", "x", "--train-eps"}).train_eps);
  const TrainOptions appnp =
      parse({"--model", "appnp", "--dataset", "x", "--hops", "3", "--alpha", "0.2", "--edge-dropout", "0.4"});
  EXPECT_EQ(appnp.hops, 3);
  EXPECT_EQ(appnp.alpha, 0.2);
  EXPECT_EQ(appnp.edge_dropout, 0.4);
  const TrainOptions gcn2 =
      parse({"--model", "gcn2", "--dataset", "x", "--alpha", "0.2", "--lambda", "1", "--drop-edge", "0.3"});
  EXPECT_EQ(gcn2.alpha, 0.2);
  EXPECT_EQ(gcn2.lambda, 1);
  EXPECT_EQ(gcn2.drop_edge, 0.3);
  EXPECT_ERROR(parse({"--model", "mlp", "--dataset", "x", "--drop-edge", "0.3"}),
               "unknown option '--drop-edge' for the model mlp: it is of gcn, gat, gatv2, transformer, sage, "
               "gin, sgc, appnp, "
               "gcn2 and pna");
  EXPECT_ERROR(parse({"--model", "gcn", "--dataset", "x", "--drop-edge", "0.3", "--prune-rows"}),
               "--drop-edge is not for --prune-rows: the last layer has rows alone");
  EXPECT_NE(parse({"--model", "sage", "--help"}).notice.find("--aggr"), std::string::npos);
}

// The option gives what self loops in the file give; loops that are there are not added again.
TEST(TrainModelOptions, SageWithSelfLoops) {
  Dataset data = synthesize({.nodes = 40, .edges = 120, .features = 6, .classes = 3, .split = "50/20/30"});
  TrainOptions options = parse({"--model", "sage", "--dataset", "x", "--self-loops", "--norm", "layer"});
  EXPECT_TRUE(options.sage_loops);
  const Tensor option = make_run(data, options, kCpu).model.forward().value();
  std::vector<std::int32_t> src = data.src.to_vector<std::int32_t>(),
                            dst = data.dst.to_vector<std::int32_t>();
  const auto looped = [&](std::int32_t nodes) {
    Dataset with = data;
    std::vector<std::int32_t> from = src, to = dst;
    for (std::int32_t i = 0; i < nodes; ++i) from.push_back(i), to.push_back(i);
    with.src = Tensor::from(from), with.dst = Tensor::from(to);
    return with;
  };
  EXPECT_TRUE(test::same_bits(make_run(looped(10), options, kCpu).model.forward().value(), option));
  options.sage_loops = false;
  EXPECT_TRUE(test::same_bits(make_run(looped(40), options, kCpu).model.forward().value(), option));
  EXPECT_FALSE(test::same_bits(make_run(data, options, kCpu).model.forward().value(), option));
  EXPECT_ERROR(parse({"--model", "sage", "--dataset", "x", "--self-loops", "--batch", "8"}),
               "--self-loops is for the whole graph: not with --batch");
}
TEST(TrainModelOptions, NamesOfOtherProgramsAreExplained) {
  for (const char* name : {"--repeat", "--repeats", "--runs"})
    EXPECT_ERROR(parse({"--model", "gcn", "--dataset", "x", name, "10"}),
                 std::string("unknown option '") + name +
                     "': --seeds N trains N times, with --seed and the numbers after it, and prints mean and "
                     "deviation");
}
TEST(TrainModelOptions, AnotherTasksOptionIsAnError) {
  EXPECT_ERROR(parse({"--model", "gin", "--task", "graph", "--dataset", "x", "--split", "60/20/20"}),
               "unknown option '--split' for this --task: it is of --task node");
  EXPECT_ERROR(parse({"--model", "sage", "--dataset", "x", "--folds", "3"}),
               "unknown option '--folds' for the model sage: it is of --task graph");
  EXPECT_ERROR(parse({"--model", "gin", "--task", "graph", "--dataset", "x", "--fold", "files"}),
               "--fold must be an integer of at least 0, all or file, got 'files'");
  EXPECT_ERROR(
      parse({"--model", "gin", "--task", "graph", "--dataset", "x", "--fold", "file", "--folds", "5"}),
      "--fold file takes the split of the file, and --folds 5 draws one: leave one of them out");
  EXPECT_ERROR(parse({"--model", "gcn", "--dataset", "x", "--folds", "3"}),
               "unknown option '--folds' for this --task: it is of --task graph");
  EXPECT_ERROR(parse({"--model", "sage", "--dataset", "x", "--decoder", "mlp"}),
               "unknown option '--decoder' for this --task: it is of --task link");
  EXPECT_ERROR(parse({"--model", "gcn", "--task", "graph", "--dataset", "x", "--features", "dense"}),
               "unknown option '--features' for this --task: it is of --task node and link");
}
TEST(TrainModelOptions, ShortHelpShowsChoicesThatFit) {
  const std::string help = parse({"-h"}).notice;
  for (const char* line : {"\n  --split K|A/B/C|...  ", "\n  --device auto|cpu|cuda",
                           "\n  --model gcn|gat|...", "\n  --report FILE.html "})
    EXPECT_NE(help.find(line), std::string::npos) << line << help;
}
TEST(TrainModelOptions, AnotherModelsOptionIsAnError) {
  EXPECT_ERROR(parse({"--model", "gcn", "--dataset", "x", "--aggr", "max"}),
               "unknown option '--aggr' for the model gcn: it is of sage");
  EXPECT_ERROR(parse({"--model", "sgc", "--dataset", "x", "--hidden", "4"}),
               "unknown option '--hidden' for the model sgc: it is of gcn, gat, gatv2, transformer, sage, "
               "gin, appnp, gcn2, pna and mlp");
  EXPECT_ERROR(parse({"--model", "sage", "--dataset", "x", "--attention", "fused"}),
               "unknown option '--attention' for the model sage: it is of gat, gatv2 and transformer");
  EXPECT_ERROR(parse({"--model", "gin", "--dataset", "x", "--hops", "4"}),
               "unknown option '--hops' for the model gin: it is of sgc and appnp");
}

TEST(TrainModelOptions, Errors) {
  EXPECT_ERROR(parse({"--dataset", "x"}),
               "--model NAME is required: one of " + model_names() + "; see --help");
  EXPECT_ERROR(parse({"--model", "nn", "--dataset", "x"}),
               "unknown model 'nn': expected one of " + model_names());
  EXPECT_ERROR(parse({"--dataset", "x", "--model"}), "--model needs a value");
  EXPECT_ERROR(parse({"--model", "appnp", "--dataset", "x", "--alpha", "1.5"}),
               "--alpha must be a number in [0, 1], got '1.5'");
  EXPECT_ERROR(parse({"--model", "sage", "--dataset", "x", "--aggr", "best"}),
               "unknown reduction 'best': expected one of sum, mean, max, min");
  EXPECT_ERROR(parse({"--model", "sage", "--dataset", "x", "--aggr", "max", "--spmm-accumulate", "atomic"}),
               "--spmm-accumulate atomic is for sums, which --aggr max does not compute");
  for (const char* sum : {"sum", "mean"}) {
    EXPECT_NO_THROW(
        parse({"--model", "sage", "--dataset", "x", "--aggr", sum, "--spmm-accumulate", "atomic"}));
    EXPECT_NO_THROW(parse({"--model", "sage", "--dataset", "x", "--aggr", sum, "--spmm", "rode"}));
  }
  EXPECT_NO_THROW(parse({"--model", "gin", "--dataset", "x", "--spmm-accumulate", "atomic"}));
  EXPECT_NO_THROW(parse({"--model", "sage", "--dataset", "x", "--aggr", "max"}));
  EXPECT_ERROR(parse({"--model", "sage", "--dataset", "x", "--aggr", "min", "--spmm", "rode"}),
               "--spmm rode is for sums, and --aggr min has one kernel: leave --spmm out");
  const char* arguments[] = {"train_gcn", "--dataset", "x", "--model", "gat"};
  EXPECT_ERROR(parse_train_options(5, arguments),
               "unknown option '--model': this command trains gcn only, rodeo_train has all models");
}

}  // namespace
}  // namespace rodeo
