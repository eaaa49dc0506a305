#include "train/commands/train_run.h"

#include <mutex>
#include <new>

#include "core/context.h"
#include "core/storage.h"
#include "core/threads.h"
#include "ops/spmm_variant.h"
#include "train/commands/device_text.h"

namespace rodeo {
namespace {

std::mutex loading;  // HDF5 is for one thread at a time

NodeRun load(DataSource source, const TrainOptions& options, Device device, const Communicator& ranks) {
  std::unique_lock lock(loading, std::defer_lock);
  if (source.in_file()) lock.lock();
  return make_run(std::move(source), options, device, ranks);
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

std::unique_ptr<KernelTimer> make_timer(const TrainOptions& options, Device device) {
  constexpr int kMaxProfiledEpochs = 50;
  const bool all = options.profile || !options.trace.empty();
  if (!all && options.report.empty()) return nullptr;
  return std::make_unique<KernelTimer>(device, all ? kMaxProfiledEpochs : 1);
}

}  // namespace

RunSettings::RunSettings(const TrainOptions& options) : tf32_(allow_tf32()), threads_(num_threads()) {
  set_allow_tf32(options.precision == Precision::kTf32);
  if (options.threads > 0) set_num_threads(options.threads);
}

RunSettings::~RunSettings() {
  set_allow_tf32(tf32_);
  set_num_threads(threads_);
}

void check_device(const TrainOptions& options, Device device) {
  check(options.spmm_accumulate == Accumulate::kOrdered || device.is_cuda(),
        "--spmm-accumulate atomic is for CUDA, got device ", device);
  check(!is_only_cuda(options.spmm) || device.is_cuda(), "--spmm ", options.spmm, " is for CUDA, got device ",
        device, ": choose auto, csr or rode");
  check(options.sddmm == SddmmAlgorithm::kAuto || device.is_cuda(), "--sddmm ", options.sddmm,
        " is for CUDA, got device ", device, ", which has one loop for all");
}

TrainedRun train_run(DataSource source, const TrainOptions& options, Device device, const Communicator& ranks,
                     Recorder& recorder, RunObserver& observer) {
  check_device(options, device);
  TrainedRun out{load(std::move(source), options, device, ranks), {}, {}, make_timer(options, device)};
  const NodeRun& run = out.run;
  name_allocations(run);
  observer.loaded(run);

  NanWatch watch;
  if (options.debug) NanWatch::check("the features", values_of(run.task.x));
  TrainerOptions training = trainer_options(options);
  training.timer = out.timer.get();
  training.watch = options.debug ? &watch : nullptr;
  training.on_batch = [&](int epoch, int batch, int batches) {
    observer.batch(epoch, batch, batches);
    recorder.batch(batch, batches);
  };
  training.stop = [&] { return observer.stops(); };
  Trainer trainer = make_trainer(run, training);
  recorder.start(run, trainer, describe_device(options.device, device));
  ranks.barrier();  // before rank 0 replaces the checkpoint that the others resume from
  observer.started(recorder);
  try {
    out.summary = trainer.fit([&](const EpochReport& report) {
      recorder.epoch(report);
      if (report.best_epoch == report.epoch) out.details = run.model.parts.metrics->details();
      observer.epoch(report);
    });
  } catch (const std::bad_alloc&) {  // a host allocation failed, but tensors hold most of the memory
    throw OutOfMemory(str("[memory] cpu is out of memory beside ",
                          format_bytes(static_cast<double>(memory_stats(kCpu).current)),
                          " used by tensors; the largest: ", describe_largest_allocations(kCpu, 4)));
  }
  recorder.finish(out.summary, out.timer.get(), out.details);
  return out;
}

}  // namespace rodeo
