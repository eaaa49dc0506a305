#include "train/task/file_options.h"

#include <string>

namespace rodeo {
namespace {
using Role = OptionRole;
using Group = OptionGroup;
}  // namespace

void add_files(Group files, const ModelTraits& traits, TaskKind task) {
  files.text(Role::kRun, "checkpoint", field(&TrainOptions::checkpoint), "DIR",
             "Folder of the latest checkpoint, for --resume");
  files.integer(Role::kRun, "checkpoint-every", field(&TrainOptions::checkpoint_every), 1,
                "Epochs between checkpoints; a better epoch is saved at once");
  if (traits.blocks && task == TaskKind::kNode)
    files.integer(Role::kRun, "checkpoint-every-batches", field(&TrainOptions::checkpoint_every_batches), 0,
                  "With --batch, also a checkpoint after every N batches of an epoch; 0: none");
  files.flag(Role::kRun, "resume", field(&TrainOptions::resume),
             "Continue from the checkpoint, with the same bits as an uninterrupted run");
  files.text(Role::kRun, "export", field(&TrainOptions::export_file), "FILE",
             "Weights of the best epoch, as safetensors");
  files.text(Role::kRun, "log", field(&TrainOptions::log), "FILE",
             "JSON lines: configuration, epochs, summary; appended");
  files.text(Role::kRun, "csv", field(&TrainOptions::csv), "FILE", "A line for each epoch");
  files.text(Role::kRun, "tensorboard", field(&TrainOptions::tensorboard), "DIR",
             "Folder for TensorBoard's event files");
  if (task == TaskKind::kNode)
    files.text(Role::kRun, "report", field(&TrainOptions::report), "FILE.html",
               "One page with curves, times, confusion matrix and more");
  files.text(Role::kRun, "trace", field(&TrainOptions::trace), "FILE.json",
             "Kernels of the profiled epochs, for Perfetto or chrome://tracing");
}

void add_output(Group output, const ModelTraits& traits, TaskKind task) {
  if (task == TaskKind::kNode)
    output.flag(
        Role::kRun, "per-class", field(&TrainOptions::per_class),
        "Print precision, recall, F1 and number of the test nodes of each class, and write them to --log");
  if (traits.spmm || traits.heads)
    output.flag(Role::kRun, "explain", field(&TrainOptions::explain),
                str("Print the ", traits.spmm ? "SpMM" : "SDDMM", " algorithms that were chosen, and why",
                    traits.attention_form ? ". With --attention composed, or several ranks" : ""));
  output.flag(Role::kRun, "profile", field(&TrainOptions::profile),
              "Time every kernel of the profiled epochs, and print a table at the end");
  output.flag(Role::kRun, "debug", field(&TrainOptions::debug),
              "Check the result of every kernel, and stop at the first NaN or infinity; no CUDA graph");
  output.flag(Role::kRun, "quiet", field(&TrainOptions::quiet), "Print the result only, in one line");
}

}  // namespace rodeo
