#include "train/command.h"

#include <fmt/format.h>

#include "core/context.h"
#include "core/storage.h"
#include "train/console.h"
#include "train/node_model.h"
#include "train/recorder.h"
#include "train/trainer.h"

namespace rodeo {
namespace {

void train(const TrainOptions& options) {
  const Device device = parse_device(options.device);
  set_allow_tf32(options.tf32);
  Console console(options.quiet);
  Recorder recorder(options);
  console.say("device", describe_device(options.device, device));

  const NodeRun run = load_run(options, device);
  const auto& [task, model] = run;
  console.say("dataset", fmt::format("{}: {} nodes, {} edges, {} features, {} classes", task.name,
                                     task.num_nodes, task.num_edges, task.num_features, task.num_classes));
  console.say("split", fmt::format("{} train, {} val, {} test", task.split.train.numel(),
                                   task.split.val.numel(), task.split.test.numel()));
  console.say("features", task.features);
  console.say("memory", str(format_bytes(memory_stats(device).current), " on ", device));
  console.say("algorithms", model.algorithms);
  console.say("model", fmt::format("{}: {} parameters\n", model.text, model.module->num_parameters()));

  Trainer trainer(*model.module, model.forward, model.groups, task.label, task.split,
                  {.epochs = options.epochs,
                   .eval_every = options.eval_every,
                   .patience = options.patience,
                   .graph = options.graph,
                   .training_rows = model.training_rows});
  if (const int epoch = recorder.start(run, trainer, describe_device(options.device, device)); epoch > 0)
    console.say("resumed", fmt::format("after epoch {} from {}\n", epoch, options.checkpoint));
  else if (options.resume)
    console.say("resumed", fmt::format("from the beginning: {} has no checkpoint\n", options.checkpoint));
  const TrainSummary summary = trainer.fit([&](const EpochReport& report) {
    recorder.epoch(report);
    console.epoch(report);
  });
  recorder.finish(summary);
  console.finish(task, summary);
  if (options.explain) console.explain(options.spmm, model.adj);
}

}  // namespace

int train_command(int argc, const char* const* argv, const TrainOptions& defaults) {
  return run_command(defaults.choose_model ? "rodeo_train" : str("train_", name(defaults.model)), [&] {
    const TrainOptions options = parse_train_options(argc, argv, defaults);
    if (options.notice.empty())
      train(options);
    else
      fmt::print("{}", options.notice);
  });
}

}  // namespace rodeo
