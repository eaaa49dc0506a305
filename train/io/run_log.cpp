#include "train/io/run_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/output_path.h"
#include "core/version.h"
#include "train/io/atomic_file.h"
#include "train/io/json_text.h"
#include "train/io/settings.h"
#include "train/task/advice.h"

namespace rodeo {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

static void to_json(Json& json, const BatchTotals& b) {
  json = {{"count", b.batches}, {"edges", b.edges}, {"nodes", b.nodes}};
  if (b.train_ms > 0)
    json["sample_ms"] = b.sample_ms, json["gather_ms"] = b.gather_ms, json["train_ms"] = b.train_ms;
  else
    json["wait_ms"] = b.wait_ms;
}

static void to_json(Json& json, const Statistics& s) {
  json = {{"count", s.count}, {"median", s.median}, {"mean", s.mean}, {"p95", s.p95}};
}

static void to_json(Json& json, const PartTimes& p) {
  json = {{"sparse", p.sparse}, {"gemm", p.gemm}, {"communication", p.communication}, {"other", p.other}};
}

std::vector<std::pair<std::string, std::string>> versions() {
#if RODEO_WITH_CUDA
  const char* backends = "cpu, cuda";
#else
  const char* backends = "cpu";
#endif
#if defined(__clang__)
  const char* compiler = "Clang " __VERSION__;
#else
  const char* compiler = "GCC " __VERSION__;
#endif
  return {{"rodeo", RODEO_VERSION}, {"commit", RODEO_COMMIT}, {"compiler", compiler}, {"backends", backends}};
}

LineFile::LineFile(const std::string& path) : path_(path) {
  output_path(path);  // checks what stands there
  file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0666));
  check(file_.get() >= 0, path, ": cannot be written: ", std::strerror(errno));
}

void LineFile::clear() {
  const bool emptied = ::ftruncate(file_.get(), 0) == 0 || errno == EINVAL;
  check(emptied, path_, ": cannot be written: ", std::strerror(errno));
}

void LineFile::line(const std::string& text) {
  append_record(file_.get(), path_, text + "\n");
}

std::string start_line(const TrainOptions& options, const NodeTask& task, const RunFacts& facts) {
  Json json = {{"event", "start"}, {"time", now()}, {"versions", Json::object()}};
  for (const auto& [name, version] : versions()) json["versions"][name] = version;
  json["device"] = facts.device;
  json["config"] = settings_of(options);
  json["dataset"] = {{"name", task.name},
                     {"nodes", task.num_nodes},
                     {"edges", task.num_edges},
                     {"one_way_edges", task.one_way_edges},
                     {"features", task.num_features},
                     {"classes", task.num_classes},
                     {"train", task.split_sizes[0]},
                     {"val", task.split_sizes[1]},
                     {"test", task.split_sizes[2]},
                     {"load_ms", task.load_ms},
                     {"convert_ms", task.convert_ms}};
  if (task.order.defined())
    json["reorder"] = {{"by", name(options.reorder)}, {"ms", task.reorder_ms}, {"text", task.reorder}};
  json["model"] = {{"text", facts.model}, {"parameters", facts.parameters}, {"algorithms", facts.algorithms}};
  json["memory"] = {{"data_bytes", facts.data_bytes}, {"convert_peak_bytes", task.convert_peak_bytes}};
  if (!task.warnings.empty()) json["warnings"] = task.warnings;
  if (facts.resumed_from > 0 || facts.resumed_batch > 0) json["resumed_from"] = facts.resumed_from;
  if (facts.resumed_batch > 0) json["resumed_batch"] = facts.resumed_batch;
  return json_text(json);
}

std::string epoch_line(const EpochReport& r) {
  Json json = {{"event", "epoch"}, {"time", now()}, {"epoch", r.epoch},
               {"loss", r.loss},   {"lr", r.lr},    {"ms", r.ms}};
  if (r.parts) json["parts_ms"] = *r.parts;
  if (r.batches) json["batches"] = *r.batches;
  if (r.evaluation) {
    json.update(Json(*r.evaluation));
    json["evaluation_ms"] = r.evaluation_ms;
  }
  if (r.best_epoch > 0) json["best_epoch"] = r.best_epoch;
  return json_text(json);
}

std::string end_line(const TrainOptions& options, const NodeTask& task, const TrainSummary& s,
                     const std::string& per_class,
                     const std::vector<std::pair<std::string, double>>& details) {
  const PartTimes parts{s.parts.sparse.median, s.parts.gemm.median, s.parts.other.median,
                        s.parts.communication.median};
  Json json = {{"event", "end"},
               {"time", now()},
               {"epochs", s.epochs},
               {"stopped", s.stopped},
               {"best_epoch", s.best_epoch},
               {"best", s.best},
               {"last", s.last},
               {"warmup_ms", s.warmup_ms},
               {"epoch_ms", s.epoch_ms},
               {"parts_ms", parts},
               {"evaluation_ms", s.evaluation_ms},
               {"kernels", s.kernels},
               {"peak_bytes", s.peak_bytes}};
  if (s.batch > 0) json["batch"] = s.batch;
  if (s.batches) json["batches"] = *s.batches, json["wait_ms"] = s.wait_ms;
  if (task.majority_class >= 0)
    json["test_majority"] = {{"share", task.majority}, {"class", task.majority_class}};
  for (const auto& [name, value] : details) json["details"][name] = value;
  if (!per_class.empty()) json["per_class"] = Json::parse(per_class);
  for (const Note& note : run_notes(task, s, options)) json["note"] = note.text();
  return json_text(json);
}

std::string error_line(std::string_view message, int exit_code) {
  return json_text(Json{{"event", "error"}, {"time", now()}, {"message", message}, {"exit_code", exit_code}});
}

std::string csv_header() {
  return "epoch,loss,train,val,test,val_loss,ms,evaluation_ms,sparse_ms,gemm_ms,communication_ms,other_ms,"
         "best_epoch";
}

std::string csv_line(const EpochReport& r) {
  const auto known = [](double value) {
    return std::isnan(value) ? std::string() : fmt::format("{}", value);
  };
  const double none = Statistics::kNone;
  const Evaluation e = r.evaluation.value_or(kNotEvaluated);
  const PartTimes p = r.parts.value_or(PartTimes{none, none, none, none});
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", r.epoch, known(r.loss), known(e.train),
                     known(e.val), known(e.test), known(e.val_loss), known(r.ms), known(r.evaluation_ms),
                     known(p.sparse), known(p.gemm), known(p.communication), known(p.other),
                     r.best_epoch > 0 ? std::to_string(r.best_epoch) : std::string());
}

}  // namespace rodeo
