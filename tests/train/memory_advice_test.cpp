// What is said where a run does not fit into memory: each advice where it helps, and nowhere else.
#include <gtest/gtest.h>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/io/atomic_file.h"
#include "train/task/memory_estimate.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

TEST(TrainMemoryAdvice, IsWhatTheRunHasNotDoneYet) {
  TrainOptions o = published_options("gcn");
  EXPECT_EQ(memory_advice(o, false), "--batch N, --hidden below 16, --precision bf16");
  EXPECT_EQ(
      memory_advice(o, true),
      "--batch N, with --features-on host if the features do not fit, --hidden below 16, --precision bf16, "
      "--no-cuda-graph, --device cpu");
  o.precision = Precision::kBf16, o.cuda_graph = false, o.undirected = true, o.hidden = 1, o.layers = 2;
  EXPECT_EQ(memory_advice(o, true),
            "--batch N, with --features-on host if the features do not fit, the graph without --undirected, "
            "--device cpu");
  o.layers = 3;
  EXPECT_EQ(memory_advice(o, false), "--batch N, --layers below 3, the graph without --undirected");
  o.undirected = false, o.layers = 2, o.batch = 2;
  EXPECT_EQ(memory_advice(o, false), "--batch below 2, a smaller --fanout");
  EXPECT_EQ(memory_advice(o, true), "--batch below 2, a smaller --fanout, --features-on host, --device cpu");
  for (const FeaturesOn on : {FeaturesOn::kHost, FeaturesOn::kDisk}) {
    o.features_on = on;
    EXPECT_EQ(memory_advice(o, true), "--batch below 2, a smaller --fanout, --device cpu");
  }
  o.batch_by_parts = true;
  EXPECT_EQ(memory_advice(o, false), "--batch below 2");
  o.batch = 1;
  EXPECT_EQ(memory_advice(o, false), "a machine with more memory");
}

TEST(TrainMemoryAdvice, IsThatOfTheModelAndTask) {
  TrainOptions gat = published_options("gat");
  EXPECT_EQ(memory_advice(gat, false), "--batch N, --hidden below 8, --heads below 8, --precision bf16");
  gat.attention = AttentionForm::kComposed, gat.heads = 1;
  EXPECT_EQ(memory_advice(gat, false), "--attention fused, --batch N, --hidden below 8, --precision bf16");
  EXPECT_EQ(memory_advice(published_options("sgc"), false), "--precision bf16");
  TrainOptions graphs = published_options("gin", TaskKind::kGraph);
  graphs.precision = Precision::kBf16, graphs.hidden = 1, graphs.layers = 2, graphs.batch_graphs = 3;
  EXPECT_EQ(memory_advice(graphs, false), "--batch-graphs below 3");
  graphs.batch_graphs = 2;
  EXPECT_EQ(memory_advice(graphs, false), "a machine with more memory");
}

// 3,000 nodes with 40,000 hidden units take about 1 GB.
TEST(TrainMemoryAdvice, IsPrintedWhereAnEpochWillNotFit) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer needs more address space";
  const TempDir dir;
  save_dataset(tiny_dataset(3000), dir / "x.h5");
  const auto run = [&](const std::string& hidden, const std::string& more) {
    const std::string line = "ulimit -v 800000; export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1; exec '" +
                             command("train_gcn") + "' --device cpu '" + (dir / "x.h5") + "' --hidden " +
                             hidden + " " + more;
    wait_for(start({"/bin/bash", "-c", line}, dir / "out", dir / "err"));
    return read_file(dir / "out", 1 << 20);
  };
  const std::string advice = "try --batch N, --hidden below 40000, --precision bf16\n";
  const std::string dry = run("40000", "--dry-run");
  EXPECT_NE(dry.find(" MiB of 781.25 MiB are free\n"), std::string::npos) << "those of ulimit: " << dry;
  EXPECT_NE(dry.find("\n                this will not fit: " + advice), std::string::npos) << dry;
  EXPECT_EQ(run("16", "--dry-run").find("this will not fit"), std::string::npos);
  const std::string warned = run("40000", "--epochs 1");
  EXPECT_NE(warned.find("\nwarning         an epoch will hold about "), std::string::npos) << warned;
  EXPECT_NE(warned.find(" free: " + advice), std::string::npos) << warned;
  EXPECT_EQ(run("16", "--epochs 1").find("an epoch will hold about"), std::string::npos);
}

}  // namespace
}  // namespace rodeo::test
