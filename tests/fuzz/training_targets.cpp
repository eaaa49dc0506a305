/// Files of training: weights, checkpoints, settings, and the caches of the tuners of SpMM and SDDMM.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "ops/sparse/tuning_cache.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/commands/recorder.h"
#include "train/io/atomic_file.h"
#include "train/io/run_state.h"
#include "train/io/settings.h"

namespace rodeo::fuzz {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;  // contents by name
constexpr const char* kCheckpoint = "epoch-000002";
constexpr std::uint64_t kGraph = 7;

void put(const std::string& path, const std::string& bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string replaced(std::string text, Draws& draws, const std::vector<std::string>& words) {
  std::vector<std::size_t> places;
  std::string from;
  for (std::uint64_t tries = 0; tries < 4 && places.empty(); ++tries) {
    from = draws.of(words);
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += from.size())
      places.push_back(at);
  }
  return places.empty() ? text : text.replace(draws.of(places), from.size(), draws.of(words));
}

/// Changes of the JSON header: numbers, dtypes, names. Its length mostly fits. Then changes of bytes.
std::string mutate_safetensors(const std::string& bytes, Draws& draws) {
  static const std::vector<std::string> kWords{
      "F32", "F64",    "I64",    "BOOL",    "Q4", "\"shape\"", "\"dtype\"", "[",       "]",     "{",
      ",",   "conv1.", "conv2.", "adam.m.", ":",  "\\\"",      "null",      "history", "rodeo", "epoch"};
  std::uint64_t length = 0;
  constexpr std::size_t kPrefix = sizeof length;
  std::memcpy(&length, bytes.data(), kPrefix);
  std::string header = bytes.substr(kPrefix, length);
  std::string values = bytes.substr(kPrefix + length);
  for (std::uint64_t changes = 1 + draws.below(3); changes > 0; --changes) switch (draws.below(5)) {
      case 0:
        header = replaced(header, draws, kWords);
        break;
      case 1:
        values = mutate_bytes(values, draws);
        break;
      case 2:
        values.resize(draws.below(2) ? draws.below(values.size() + 1) : values.size() + draws.below(64));
        break;
      default:
        header = mutate_text(header, draws);
    }
  length = draws.once_in(8) ? draws.below(2 * header.size() + 2) : header.size();
  if (draws.once_in(32)) length = ~std::uint64_t{0} >> draws.below(64);
  std::string out(reinterpret_cast<const char*>(&length), kPrefix);
  return out + header + values;
}

TrainOptions options_of(const std::string& checkpoint, int epochs) {
  TrainOptions options;
  options.epochs = epochs;
  options.checkpoint = checkpoint;
  options.device = "cpu";
  options.quiet = true;
  options.schedule.kind = LrScheduleOptions::Kind::kPlateau;  // has a state of its own
  return options;
}

/// Trains a small model, from its checkpoint if there is one.
void train(const TrainOptions& options) {
  constexpr std::int64_t kNodes = 40;
  Recorder recorder(options);
  const NodeRun run = make_run(test::tiny_dataset(kNodes), options, kCpu);
  Trainer trainer = make_trainer(run, {.epochs = options.epochs, .schedule = options.schedule});
  recorder.start(run, trainer, "cpu");
  recorder.finish(trainer.fit([&](const EpochReport& report) { recorder.epoch(report); }));
}

/// The files of a checkpoint after two epochs.
const Files& checkpoint_files() {
  static const Files files = [] {
    const test::TempDir dir;
    train(options_of(dir / "run", 2));
    Files all;
    for (const char* name : {"weights", "best", "state"})
      all[str(name, ".safetensors")] =
          read_file(str(dir / "run", "/", kCheckpoint, "/", name, ".safetensors"), 1 << 24);
    return all;
  }();
  return files;
}

std::string weights_input(std::uint64_t seed, std::uint64_t number) {
  Draws draws(seed, number);
  return mutate_safetensors(checkpoint_files().at("best.safetensors"), draws);
}

/// Reads weights as rodeo_predict does.
void weights(const std::string& input, std::uint64_t, const std::string& folder) {
  const std::string path = folder + "/w.safetensors";
  put(path, input);
  const SafeTensors read = read_safetensors(path);
  const WeightsInfo info = read_info(read, path);
  constexpr std::int64_t kWidest = 1000;
  TrainOptions options = info.options;
  if (options.hidden > kWidest || options.layers > 8 || options.heads > 64) return;  // valid, but slow
  const NodeRun run = make_run(test::tiny_dataset(40), options, kCpu);
  run.model.module->load_state_dict(read.tensors);
  run.model.module->eval();
  const NoGrad no_grad;
  run.model.forward();
}

std::string checkpoint_input(std::uint64_t seed, std::uint64_t number) {
  Draws draws(seed, number);
  const Files& files = checkpoint_files();
  const auto file = std::next(files.begin(), static_cast<std::ptrdiff_t>(number % files.size()));
  return mutate_safetensors(file->second, draws);
}

void checkpoint(const std::string& input, std::uint64_t number, const std::string& folder) {
  const std::string run = folder + "/run";
  fs::remove_all(run);
  std::uint64_t left = number % checkpoint_files().size();
  for (const auto& [name, bytes] : checkpoint_files())
    put(str(run, "/", kCheckpoint, "/", name), left-- == 0 ? input : bytes);
  TrainOptions options = options_of(run, 2);  // the run is over: its results are reported
  options.resume = true;
  train(options);
}

/// The text of the model options that weights hold.
const std::string& model_text() {
  static const std::string text = json_text(settings_of(options_of("run", 2), OptionRole::kModel));
  return text;
}
const std::string& settings_text() {
  static const std::string text = json_text(settings_of(options_of("run", 2)), 2);
  return text;
}

template <class Cache>
typename Cache::Key tuner_key(std::int64_t columns = 16) {
  if constexpr (std::is_same_v<Cache, SpmmTuningCache>)
    return {kGraph, "cpu", {.n = columns}};
  else
    return {kGraph, "cpu", {.k = columns}};
}

template <class Cache>
typename Cache::Entry tuner_entry() {
  if constexpr (std::is_same_v<Cache, SpmmTuningCache>)
    return {SpmmAlgorithm::kRode, {{SpmmAlgorithm::kRode, 0.5}, {SpmmAlgorithm::kCsr, 0.7}}};
  else
    return {SddmmAlgorithm::kRows, {{SddmmAlgorithm::kRows, 0.5}, {SddmmAlgorithm::kEdges, 0.7}}};
}

template <class Cache>
const std::string& tuner_text() {
  static const std::string text = [] {
    const test::TempDir dir;
    Cache cache(dir / "cache");
    for (const std::int64_t columns : {16, 32, 64})
      cache.keep(tuner_key<Cache>(columns), tuner_entry<Cache>());
    return read_file(cache.file(kGraph), 1 << 20);
  }();
  return text;
}

/// The cache never throws, and never returns kAuto or a time that is none.
template <class Cache>
void tuner(const std::string& input, std::uint64_t, const std::string& folder) {
  Cache cache(folder + "/cache");
  put(cache.file(kGraph), input);
  try {
    const auto kept = cache.keep(tuner_key<Cache>(), tuner_entry<Cache>());
    if (name(kept.algorithm) == "auto" || !cache.find(tuner_key<Cache>())) std::abort();
    for (const auto& candidate : kept.candidates)
      if (!candidate.timed()) std::abort();
  } catch (const Error&) {
    std::abort();
  }
}

template <const std::string& (*text)()>
std::string text_input(std::uint64_t seed, std::uint64_t number) {
  Draws draws(seed, number);
  return mutate_text(text(), draws);
}

}  // namespace

std::span<const Target> training_targets() {
  static constexpr Target kTargets[] = {
      {"safetensors", weights_input,
       [](const std::string& input, std::uint64_t, const std::string& folder) {
         put(folder + "/w.safetensors", input);
         read_safetensors(folder + "/w.safetensors");
       }},
      {"weights", weights_input, weights},
      {"checkpoint", checkpoint_input, checkpoint},
      {"settings", text_input<settings_text>,
       [](const std::string& input, std::uint64_t, const std::string&) {
         read_settings(input, "settings.json");
         check_same_training(input, options_of("run", 2), "settings.json");
       }},
      {"model", text_input<model_text>,
       [](const std::string& input, std::uint64_t, const std::string&) {
         model_options(input, "settings.json");
       }},
      {"tuner", text_input<tuner_text<SpmmTuningCache>>, tuner<SpmmTuningCache>},
      {"sddmm-tuner", text_input<tuner_text<SddmmTuningCache>>, tuner<SddmmTuningCache>}};
  return kTargets;
}

}  // namespace rodeo::fuzz
