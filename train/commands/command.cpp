#include "train/commands/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "core/context.h"
#include "core/launch_ranks.h"
#include "core/quoting.h"
#include "core/storage.h"
#include "core/threads.h"
#include "ops/aggregation.h"
#include "train/commands/console.h"
#include "train/commands/device_text.h"
#include "train/commands/interrupt.h"
#include "train/commands/parse_options.h"
#include "train/commands/recorder.h"
#include "train/commands/repeat.h"
#include "train/commands/run_command.h"
#include "train/commands/run_on_ranks.h"
#include "train/report/op_report.h"
#include "train/task/advice.h"
#include "train/task/memory_estimate.h"
#include "train/task/node_model.h"
#include "train/task/rank_share.h"
#include "train/trainer.h"

namespace rodeo {
namespace {

/// What a signal waits for.
const char* stop_unit(const TrainOptions& options) {
  return options.batch > 0 ? "batch" : "epoch";
}

std::string describe_ranks(const NodePartition& nodes) {
  const auto [least, most] = std::minmax_element(nodes.rows().begin(), nodes.rows().end());
  return fmt::format("{} over {}, {} to {} nodes each", nodes.ranks().size(), nodes.ranks().backend(), *least,
                     *most);
}

std::string_view outputs_name(const NodeTask& task) {
  if (!task.regression()) return "classes";
  return task.num_classes == 1 ? "target" : "targets";
}

void describe(const Console& console, const NodeRun& run, const TrainOptions& options, Device device) {
  const auto& [task, model] = run;
  const bool nodes = options.task == TaskKind::kNode;
  console.say("dataset",
              fmt::format("{}: {} nodes, {} {}edges, {} features{}", task.name, task.num_nodes,
                          task.num_edges, nodes ? "" : "message ", task.num_features,
                          nodes ? fmt::format(", {} {}", task.num_classes, outputs_name(task)) : ""));
  console.say("split", fmt::format("{} train, {} val, {} test{}{}", task.split_sizes[0], task.split_sizes[1],
                                   task.split_sizes[2], nodes ? "" : " ", task.parts_of));
  if (task.partition) console.say("ranks", describe_ranks(*task.partition));
  if (task.ranks.size() > 1)
    console.say("ranks", fmt::format("{} over {}, {}; {} and features on each", task.ranks.size(),
                                     task.ranks.backend(),
                                     options.batch_by_parts ? "a part each" : "a share of each batch",
                                     options.task == TaskKind::kGraph ? "graphs" : "graph"));
  const auto& batches = run.model.mini_batches;
  console.say("features",
              task.features + (batches && !batches->features.empty() ? ", " + batches->features : ""));
  if (!task.places.empty()) console.say("placement", task.places);
  if (!task.reorder.empty())
    console.say("reorder", fmt::format("{}, in {:.1f} ms", task.reorder, task.reorder_ms));
  console.say("memory", str(format_bytes(memory_stats(device).current), " on ", device));
  console.say("algorithms", model.algorithms);
  for (const std::string& warning : data_warnings(task, options)) console.say("warning", warning);
  if (options.aggregation != Aggregation::kAuto && !task.partition)
    console.say("warning",
                str("--aggregation ", options.aggregation,
                    task.ranks.size() > 1
                        ? " is for one whole graph, and ranks of mini-batches exchange gradients alone"
                        : " says what several ranks exchange, and this is one",
                    ": it has no effect"));
  console.say("model", fmt::format("{}: {} parameters", model.text, model.module->num_parameters()));
  if (const std::string metric = metric_name(task); metric != "accuracy")
    console.say("metric", metric + ", of train, val and test");
  console.blank_line();
}

Tensor values_of(const Features& x) {
  return x.is_sparse() ? x.values() : x.dense().value();
}

/// Out-of-memory messages list the largest allocations by these names.
void name_allocations(const NodeRun& run) {
  values_of(run.task.x).storage()->info.set_name("features");
  run.task.label.storage()->info.set_name("labels");
  for (const auto& [name, parameter] : run.model.module->named_parameters())
    parameter.value().storage()->info.set_name(name);
}

/// Throws Error where an option needs another device.
void check_device(const TrainOptions& options, Device device) {
  check(options.spmm_accumulate == Accumulate::kOrdered || device.is_cuda(),
        "--spmm-accumulate atomic is for CUDA, got device ", device);
  check(options.sddmm == SddmmAlgorithm::kAuto || device.is_cuda(), "--sddmm ", options.sddmm,
        " is for CUDA, got device ", device, ", which has one loop for all");
}

/// Throws Error where an option needs other data.
void check_task(const TrainOptions& options, const NodeTask& task) {
  check(!options.per_class || !task.regression(), "--per-class is for classes, and the labels of ",
        options.dataset, " are numbers");
}

void dry_run(const TrainOptions& options, Device device, const Communicator& ranks) {
  check_device(options, device);
  const Console console(/*quiet=*/false);
  console.say("device", describe_device(options.device, device));
  const NodeRun run = load_run(options, device, ranks);
  check_task(options, run.task);
  describe(console, run, options, device);
  const auto parameters = run.model.module->named_parameters();
  std::size_t width = 0;
  for (const auto& [name, parameter] : parameters) width = std::max(width, name.size());
  for (const auto& [name, parameter] : parameters)
    console.say(fmt::format("  {:<{}}", name, width), str(parameter.dtype(), " ", parameter.shape()));
  console.say("training", fmt::format("{} epochs, learning rate {}, weight decay {}, seed {}", options.epochs,
                                      options.lr, options.weight_decay, options.seed));
  if (options.task == TaskKind::kGraph)
    return console.say("memory", format_bytes(static_cast<double>(memory_stats(device).current)) +
                                     " data; mini-batches are not estimated");
  const MemoryRoom room = memory_room(device);
  const std::int64_t data = memory_stats(device).current;
  const std::vector<double> all =
      ranks
          .all_gather(Tensor::from(
              std::vector{static_cast<double>(data), static_cast<double>(estimate_step_bytes(run, options)),
                          static_cast<double>(room.free), static_cast<double>(room.total)}))
          .to_vector<double>();
  // The estimate is of a step over the whole graph, which is more than an evaluation and a mini-batch hold.
  bool fits = true;
  for (std::size_t r = 0; 4 * r < all.size(); ++r) {
    const double of_data = all[4 * r], of_step = all[4 * r + 1], of_free = all[4 * r + 2];
    console.say("memory", fmt::format("{}{} data + {}{} an epoch (estimated) = {}; {} of {} are free",
                                      ranks.size() > 1 ? fmt::format("rank {}: ", r) : "",
                                      format_bytes(of_data), run.model.mini_batches ? "at most " : "",
                                      format_bytes(of_step), format_bytes(of_data + of_step),
                                      format_bytes(of_free), format_bytes(all[4 * r + 3])));
    fits = fits && of_step < of_free;
  }
  if (!fits && !run.model.mini_batches)
    console.say("", str("this will not fit: try ", memory_advice(options, device.is_cuda())));
}

/// One user of HDF5 at a time, where several runs load.
std::mutex loading;

/// `shared`: the signals of all runs of the command; null: one run.
RunResult train(const TrainOptions& options, Device device, const Communicator& ranks, Recorder& recorder,
                const StopOnSignal* shared = nullptr, const RunHooks& hooks = {}) {
  check_device(options, device);
  Console console(options.quiet);
  console.say("device", describe_device(options.device, device));

  const NodeRun run = [&] {
    const std::lock_guard lock(loading);
    return load_run(options, device, ranks);
  }();
  const NodeTask& task = run.task;
  const NodeModel& model = run.model;
  check_task(options, task);
  name_allocations(run);
  describe(console, run, options, device);
  // The estimate is for steps over the whole graph.
  if (const std::string warning = model.mini_batches ? "" : memory_warning(run, options); !warning.empty())
    console.say("warning", warning);

  NanWatch watch;
  std::optional<KernelTimer> timer;
  constexpr int kMaxProfiledEpochs = 50;
  if (options.profile || !options.trace.empty() || !options.report.empty())
    timer.emplace(device, options.profile || !options.trace.empty() ? kMaxProfiledEpochs : 1);
  if (options.debug) {
    console.say("debug", "the result of every kernel is checked; no CUDA graph");
    NanWatch::check("the features", values_of(task.x));
  }

  std::optional<StopOnSignal> own;
  const StopOnSignal& signals = shared ? *shared : own.emplace(stop_unit(options));
  TrainerOptions training = trainer_options(options);
  training.timer = timer ? &*timer : nullptr;
  training.watch = options.debug ? &watch : nullptr;
  training.on_batch = [&](int epoch, int batch, int batches) {
    console.batch(epoch, options.epochs, batch, batches);
    recorder.batch(batch, batches);
  };
  training.stop = [&] { return signals.signal() != 0 || (hooks.stop && hooks.stop()); };
  Trainer trainer = make_trainer(run, training);
  recorder.start(run, trainer, describe_device(options.device, device));
  ranks.barrier();  // before rank 0 replaces the checkpoint that the others resume from
  if (!recorder.resumed().empty())
    console.say("resumed", fmt::format("{} from {}", recorder.resumed(), options.checkpoint));
  else if (options.resume)
    console.say("resumed", fmt::format("from the beginning: {} has no checkpoint", options.checkpoint));
  if (options.resume) console.blank_line();
  std::vector<std::pair<std::string, double>> details;  // of the best epoch
  const auto fit = [&] {
    try {
      return trainer.fit([&](const EpochReport& report) {
        recorder.epoch(report);
        if (hooks.epoch) hooks.epoch(report.epoch);
        if (model.details && report.best_epoch == report.epoch) details = model.details();
        console.epoch(report);
      });
    } catch (const std::bad_alloc&) {  // a host allocation failed, but tensors hold most of the memory
      throw OutOfMemory(str("[memory] cpu is out of memory beside ",
                            format_bytes(static_cast<double>(memory_stats(kCpu).current)),
                            " used by tensors; the largest: ", describe_largest_allocations(kCpu, 4)));
    }
  };
  const TrainSummary summary = fit();
  recorder.finish(summary, timer ? &*timer : nullptr);
  if (!options.silent) console.finish(task, summary, details);
  if (options.resume && !summary.stopped && summary.epochs == recorder.resumed_epoch())
    console.say("note", fmt::format("nothing was left to train after epoch {}{}", summary.epochs,
                                    summary.epochs >= options.epochs ? ": more --epochs go on from there"
                                                                     : ", by --patience"));
  if (recorder.classes()) console.classes(*recorder.classes(), summary);
  if (const std::string note = convergence_note(summary, options); !note.empty()) console.say("note", note);
  if (const std::string note = aggregation_note(model.adj); !note.empty()) console.say("note", note);
  if (options.profile) fmt::print("\n{}", format_op_table(timer->spans(), timer->steps()));
  const int signal = signals.signal() != 0 ? signals.signal() : SIGINT;  // another rank may have got it
  if (summary.stopped) console.interrupted(signal, summary);
  if (options.explain) console.explain(options, model.adj);
  if (summary.stopped) throw Interrupted{signal};
  return {summary, Console::result_line(task, summary, details)};
}

/// Adds advice to out-of-memory errors and to losses that are not finite.
void with_advice(const TrainOptions& options, Device device, const std::function<void()>& work) {
  try {
    work();
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(str(error.what(), "; try ", memory_advice(options, device.is_cuda())));
  } catch (const NotFinite& error) {
    throw NotFinite(
        str(error.what(), options.debug ? "" : ", --clip-norm, or --debug to see which kernel it is"));
  }
}

void run(const TrainOptions& options, const Communicator& ranks) {
  if (ranks.size() > 1) {
    check_same_options(options, ranks);
    check_rank_options(options);
  }
  set_allow_tf32(options.precision == Precision::kTf32);
  if (options.threads > 0) set_num_threads(options.threads);
  if (options.dry_run) {
    const Device device = rank_device(options, ranks);
    return with_advice(options, device, [&] { dry_run(options, device, ranks); });
  }
  if (is_repeated(options)) {
    check(ranks.size() == 1 || options.parallel == 1,
          "--parallel trains several runs on one device, and there are ", ranks.size(),
          " ranks: leave it out");
    const Device device = rank_device(options, ranks);
    const StopOnSignal signals(stop_unit(options));
    return with_advice(options, device, [&] {
      train_repeated(options, [&](const TrainOptions& one, const RunHooks& hooks) {
        Recorder recorder(one, /*writes=*/ranks.rank() == 0);
        return train(one, device, ranks, recorder, &signals, hooks);
      });
    });
  }
  check(options.parallel == 1, "--parallel is for several runs: with --seeds, --splits all or folds");
  Recorder recorder(options, /*writes=*/ranks.rank() == 0);
  try {
    const Device device = rank_device(options, ranks);
    with_advice(options, device, [&] { train(options, device, ranks, recorder); });
  } catch (const Interrupted&) {  // a shorter run, but complete: no error line in the log
    throw;
  } catch (...) {
    const Failure failure = current_failure();
    recorder.failed(failure.message, failure.exit_code);
    throw;
  }
}

}  // namespace

int train_command(int argc, const char* const* argv, const TrainOptions& defaults,
                  const std::vector<std::string>& starter) {
  const std::string program = defaults.choose_model ? "rodeo_train" : str("train_", defaults.model);
  int count = 1;
  std::optional<TrainOptions> parsed;  // a rank parses later, so that one message names it
  const int code = run_command(program, [&] {
    if (started_as_rank()) return;
    parsed = parse_train_options(argc, argv, defaults);
    if (parsed->notice.empty()) count = num_ranks_to_start(*parsed);
  });
  if (code != kDone) return code;
  if (count > 1 && starter.empty()) return launch_ranks(count, const_cast<char**>(argv));
  if (count > 1) {
    std::vector<std::string> words = starter;
    words.insert(words.end(), argv + 1, argv + argc);
    return launch_ranks(count, words);
  }
  return run_command_on_ranks(program, [&](const Communicator& ranks) {
    if (!parsed) parsed = parse_train_options(argc, argv, defaults);
    const TrainOptions& options = *parsed;
    for (const std::string& warning : options.warnings)
      if (ranks.rank() == 0) fmt::print(stderr, "{}: {}\n", program, printable(warning));
    if (!options.notice.empty())
      fmt::print("{}", options.notice);
    else
      run(options, ranks);
  });
}

}  // namespace rodeo
