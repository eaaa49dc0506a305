// The lines of --log and --csv, field by field.
#include "train/io/run_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/version.h"
#include "tests/support/temp_dir.h"
#include "train/io/atomic_file.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

using Json = nlohmann::ordered_json;

/// A line without the time, which a test cannot know.
std::string text_of(const std::string& line) {
  Json json = Json::parse(line);
  EXPECT_GT(json.at("time"), 1.7e9);
  json.erase("time");
  return json.dump();
}

EpochReport report() {
  EpochReport r;
  r.epoch = 3, r.epochs = 9, r.loss = 0.5, r.ms = 2.25, r.lr = 0.01;
  return r;
}

TEST(TrainRunLog, AnEpochHasWhatIsKnown) {
  EpochReport r = report();
  EXPECT_EQ(text_of(epoch_line(r)), R"({"event":"epoch","epoch":3,"loss":0.5,"lr":0.01,"ms":2.25})");
  r.evaluation = {.train = 0.1, .val = 0.2, .test = 0.3, .val_loss = 0.4};
  r.evaluation_ms = 7, r.best_epoch = 1;
  r.parts = {.sparse = 1, .gemm = 2, .other = 3, .communication = 4};
  r.batches = {
      .batches = 5, .edges = 6, .nodes = 7, .sample_ms = 8, .gather_ms = 9, .train_ms = 10, .wait_ms = 11};
  const std::string
      first = R"({"event":"epoch","epoch":3,"loss":0.5,"lr":0.01,"ms":2.25,)"
              R"("parts_ms":{"sparse":1.0,"gemm":2.0,"communication":4.0,"other":3.0},)"
              R"("batches":{"count":5,"edges":6,"nodes":7,)",
      last = R"(},"train":0.1,"val":0.2,"test":0.3,"val_loss":0.4,"evaluation_ms":7.0,"best_epoch":1})";
  EXPECT_EQ(text_of(epoch_line(r)), first + R"("sample_ms":8.0,"gather_ms":9.0,"train_ms":10.0)" + last);
  r.batches->train_ms = 0;
  EXPECT_EQ(text_of(epoch_line(r)), first + R"("wait_ms":11.0)" + last) << "the parts are not timed";
}

TEST(TrainRunLog, ATableHasAFieldForEachNumber) {
  EXPECT_EQ(csv_header(),
            "epoch,loss,train,val,test,val_loss,ms,evaluation_ms,sparse_ms,gemm_ms,communication_ms,other_ms,"
            "best_epoch");
  EpochReport r = report();
  EXPECT_EQ(csv_line(r), "3,0.5,,,,,2.25,,,,,,");
  r.evaluation = {.train = 0.1, .val = 0.2, .test = 0.3, .val_loss = 0.4};
  r.evaluation_ms = 7, r.best_epoch = 1;
  r.parts = {.sparse = 1, .gemm = 2, .other = 3, .communication = 4};
  EXPECT_EQ(csv_line(r), "3,0.5,0.1,0.2,0.3,0.4,2.25,7,1,2,4,3,1");
  r.loss = Statistics::kNone;
  EXPECT_EQ(csv_line(r), "3,,0.1,0.2,0.3,0.4,2.25,7,1,2,4,3,1");
}

TEST(TrainRunLog, TheStartNamesDataAndModel) {
  NodeTask task;
  task.name = "web", task.num_nodes = 10, task.num_edges = 20, task.one_way_edges = 3;
  task.num_features = 4, task.num_classes = 5, task.split_sizes = {6, 1, 3};
  task.load_ms = 1.5, task.convert_ms = 2.5, task.convert_peak_bytes = 99;
  RunFacts facts{
      .device = "cpu", .model = "GCN", .algorithms = "spmm auto", .parameters = 7, .data_bytes = 8};
  const TrainOptions options = published_options("gcn");
  const auto start = [&] { return Json::parse(start_line(options, task, facts)); };
  Json json = start();
  EXPECT_EQ(json.at("event"), "start");
  EXPECT_EQ(json.at("device"), "cpu");
  EXPECT_EQ(json.at("config").at("hidden"), 16);
  EXPECT_EQ(json.at("versions").at("rodeo"), RODEO_VERSION);
  EXPECT_EQ(
      json.at("dataset").dump(),
      R"({"name":"web","nodes":10,"edges":20,"one_way_edges":3,"features":4,"classes":5,"train":6,"val":1,)"
      R"("test":3,"load_ms":1.5,"convert_ms":2.5})");
  EXPECT_EQ(json.at("model").dump(), R"({"text":"GCN","parameters":7,"algorithms":"spmm auto"})");
  EXPECT_EQ(json.at("memory").dump(), R"({"data_bytes":8,"convert_peak_bytes":99})");
  for (const char* none : {"reorder", "warnings", "resumed_from", "resumed_batch"})
    EXPECT_FALSE(json.contains(none)) << none;

  facts.resumed_from = 4, task.warnings = {"a", "b"};
  json = start();
  EXPECT_EQ(json.at("resumed_from"), 4);
  EXPECT_FALSE(json.contains("resumed_batch"));
  EXPECT_EQ(json.at("warnings"), (Json{"a", "b"}));
  facts.resumed_from = 0, facts.resumed_batch = 2;  // within the first epoch
  json = start();
  EXPECT_EQ(json.at("resumed_from"), 0);
  EXPECT_EQ(json.at("resumed_batch"), 2);
}

TEST(TrainRunLog, TheEndHasTheSummary) {
  const TrainOptions options = published_options("gcn");
  NodeTask task;
  TrainSummary s;
  s.epochs = 20, s.best_epoch = 3, s.kernels = 4, s.peak_bytes = 5, s.warmup_ms = {9, 8};
  s.best = {.train = 0.1, .val = 0.2, .test = 0.3, .val_loss = 0.4};
  s.last = {.train = 0.5, .val = 0.6, .test = 0.7, .val_loss = 0.8};
  s.epoch_ms = {.count = 17, .median = 1, .mean = 2, .p95 = 3};
  s.evaluation_ms = {.count = 20, .median = 4, .mean = 5, .p95 = 6};
  s.parts = {summarize({1}), summarize({2}), summarize({3}), summarize({4})};
  const std::string want =
      R"({"event":"end","epochs":20,"stopped":false,"best_epoch":3,)"
      R"("best":{"train":0.1,"val":0.2,"test":0.3,"val_loss":0.4},)"
      R"("last":{"train":0.5,"val":0.6,"test":0.7,"val_loss":0.8},"warmup_ms":[9.0,8.0],)"
      R"("epoch_ms":{"count":17,"median":1.0,"mean":2.0,"p95":3.0},)"
      R"("parts_ms":{"sparse":1.0,"gemm":2.0,"communication":4.0,"other":3.0},)"
      R"("evaluation_ms":{"count":20,"median":4.0,"mean":5.0,"p95":6.0},"kernels":4,"peak_bytes":5)";
  EXPECT_EQ(text_of(end_line(options, task, s, "", {})), want + "}");
  task.majority = 0.25, task.majority_class = 0;
  s.batch = 2, s.batches = BatchTotals{.batches = 5, .edges = 6, .nodes = 7, .wait_ms = 11};
  s.wait_ms = {.count = 1, .median = 11, .mean = 11, .p95 = 11};
  s.stopped = true;
  const Json json =
      Json::parse(end_line(options, task, s, R"({"classes":[]})", {{"Hits@1", 0.5}, {"MRR", 0.75}}));
  EXPECT_EQ(json.at("stopped"), true);
  EXPECT_EQ(json.at("batch"), 2);
  EXPECT_EQ(json.at("batches").dump(), R"({"count":5,"edges":6,"nodes":7,"wait_ms":11.0})");
  EXPECT_EQ(json.at("wait_ms").at("median"), 11);
  EXPECT_EQ(json.at("test_majority").dump(), R"({"share":0.25,"class":0})");
  EXPECT_EQ(json.at("details").dump(), R"({"Hits@1":0.5,"MRR":0.75})");
  EXPECT_EQ(json.at("per_class").dump(), R"({"classes":[]})");
  EXPECT_EQ(text_of(error_line("no\n", 2)), R"({"event":"error","message":"no\n","exit_code":2})");
}

TEST(TrainRunLog, LinesAreAppendedUntilTheyAreDropped) {
  const TempDir dir;
  { LineFile(dir / "a").line("one"); }
  LineFile file(dir / "a");
  file.line("two");
  EXPECT_EQ(read_file(dir / "a", 100), "one\ntwo\n");
  file.clear();
  file.line("three");
  EXPECT_EQ(read_file(dir / "a", 100), "three\n");
}

}  // namespace
}  // namespace rodeo::test
