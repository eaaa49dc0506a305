#include "train/task/option_parts.h"

namespace rodeo {

void add_file_options(OptionGroup files, const ConvTraits& traits) {
  files.text(kRun | kShort | kOneRun, "checkpoint", &TrainOptions::checkpoint, "DIR",
             "Folder of the latest checkpoint, for --resume");
  files.integer(kRun, "checkpoint-every", &TrainOptions::checkpoint_every, 1,
                "Epochs between checkpoints; a better epoch is saved at once");
  if (!traits.hops)
    files.integer(kRun | kNode, "checkpoint-every-batches", &TrainOptions::checkpoint_every_batches, 0,
                  "With --batch, also a checkpoint after every N batches of an epoch; 0: none");
  files.flag(kRun | kShort, "resume", &TrainOptions::resume,
             "Continue from the checkpoint, with the same bits as an uninterrupted run");
  files.text(kRun | kShort | kOneRun, "export", &TrainOptions::export_file, "FILE",
             "Weights of the best epoch, as safetensors");
  files.text(kRun, "log", &TrainOptions::log, "FILE", "JSON lines: configuration, epochs, summary; appended");
  files.text(kRun | kOneRun, "csv", &TrainOptions::csv, "FILE", "A line for each epoch");
  files.text(kRun | kOneRun, "tensorboard", &TrainOptions::tensorboard, "DIR",
             "Folder for TensorBoard's event files");
  files.text(kRun | kShort | kOneRun, "report", &TrainOptions::report, "FILE.html",
             "One page with curves, times, confusion matrix and more");
  files.under(kKernels).text(kRun | kOneRun, "trace", &TrainOptions::trace, "FILE.json",
                             "Kernels of the profiled epochs, for Perfetto or chrome://tracing");
}

void check_file_options(const TrainOptions& o) {
  check(o.checkpoint_every_batches == 0 || (o.batch > 0 && !o.checkpoint.empty()),
        "--checkpoint-every-batches needs --batch N and --checkpoint DIR");
  check(!o.resume || !o.checkpoint.empty(), "--resume needs --checkpoint DIR to resume from");
}

}  // namespace rodeo
