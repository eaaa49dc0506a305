#include "train/task/option_parts.h"

namespace rodeo {
namespace {

void add_ranks(OptionGroup execution) {
  execution.integer(kRun, "gpus", &TrainOptions::gpus, 0,
                    "Train the full graph, or shares of each --batch, on N GPUs of this host; 0: on one, or "
                    "as mpirun, srun "
                    "or torchrun say");
  execution.integer(kRun, "ranks", &TrainOptions::ranks, 0,
                    "The same on N processes with --device, such as cpu");
  execution.under(kKernels).choice(
      kRun | kNode | kLink, "aggregation", &TrainOptions::aggregation,
      "What ranks exchange for each product of the graph; auto: the fastest form");
}

void add_kernels(OptionGroup kernels, const ConvTraits& traits) {
  if (traits.attention_form)
    kernels.choice(kRun, "attention", &TrainOptions::attention,
                   "fused: one kernel without per-edge tensors; composed: one op after another; or auto");
  const std::string_view composed = traits.attention_form ? ". With --attention composed" : "";
  if (traits.heads)
    kernels.choice(
        kRun, "sddmm", &TrainOptions::sddmm,
        str("How composed attention computes ", traits.dot_scores ? "its scores and " : "",
            "the gradient of its weights on CUDA. rows: RoDe's row decomposition; edges: across rows; auto: "
            "the faster one, timed once",
            composed));
  if (traits.graph == GraphInput::kNoEdges) return;
  kernels.choice(kRun, "spmm", &TrainOptions::spmm,
                 str("SpMM algorithm: ", kEnumNames<SpmmAlgorithm>.names(),
                     ". rode-tc and tca round fp32 to tf32 in the products", composed));
  if (traits.heads) return;
  kernels.choice(kRun, "spmm-accumulate", &TrainOptions::spmm_accumulate,
                 "How sums of split rows are combined. ordered: the same bits in every run; atomic: by "
                 "atomicAdd, on CUDA in fp32 and tf32, for --spmm rode and auto");
}

}  // namespace

void add_execution_options(OptionGroup execution, const ConvTraits& traits) {
  execution.text(kRun | kShort, "device", &TrainOptions::device, "auto|cpu|cuda",
                 "auto, cpu, cuda or cuda:i");
  add_ranks(execution);
  execution.integer(kRun | kShort, "threads", &TrainOptions::threads, 0,
                    "CPU threads; 0: OMP_NUM_THREADS, else as many as processors");
  OptionGroup kernels = execution.under(kKernels);
  add_kernels(kernels, traits);
  kernels.choice(kRun | kNode | kLink, "features", &TrainOptions::features,
                 "Storage of the input features: dense, sparse (zeros are not stored: exact), or auto");
  kernels.choice(kTraining | kNode | kLink, "reorder", &TrainOptions::reorder,
                 "Reorder the nodes for training, so that neighbours are closer in memory. Results keep the "
                 "file's order. rabbit: by communities; rcm: reverse Cuthill-McKee; degree");
  if (!traits.batch_norm)
    kernels.flag(kRun | kNode, "prune-rows", &TrainOptions::prune_rows,
                 "In training steps, compute the last layer for the training nodes only: exact, and "
                 "evaluations still compute all nodes. Faster where few nodes are trained on");
  execution.choice(
      kTraining, "precision", &TrainOptions::precision,
      "fp32; tf32: matrix products round their inputs to 10 bits; bf16: features and activations take half "
      "the bytes, parameters and sums stay fp32. Both are meant for CUDA: the CPU ignores tf32, and is "
      "slower with bf16");
  kernels.flag(kRun, "no-cuda-graph", &TrainOptions::cuda_graph,
               "On CUDA, launch every kernel instead of replaying a captured CUDA graph", false);
}

void check_execution_options(const TrainOptions& o) {
  const std::string reason = o.features == FeatureForm::kSparse ? dense_features_reason(o) : "";
  check(reason.empty(), "--features sparse: ", reason);
  check(!o.prune_rows || o.layers >= 2, "--prune-rows needs a layer before the last, got --layers ",
        o.layers);
  check(o.sddmm == SddmmAlgorithm::kAuto || composes_attention(o),
        "--sddmm is for composed attention: add --attention composed");
  check(o.spmm == SpmmAlgorithm::kAuto || !traits_of(o).heads || composes_attention(o),
        "--spmm is for composed attention: add --attention composed");
  const bool atomic = o.spmm_accumulate == Accumulate::kAtomic;
  check(!atomic || o.spmm == SpmmAlgorithm::kAuto || o.spmm == SpmmAlgorithm::kRode,
        "--spmm-accumulate atomic is for --spmm rode and auto, got --spmm ", o.spmm);
  check(o.spmm == SpmmAlgorithm::kAuto || !traits_of(o).aggr || o.aggr == Reduce::kSum ||
            o.aggr == Reduce::kMean,
        "--spmm ", o.spmm, " is for sums, and --aggr ", o.aggr, " has one kernel: leave --spmm out");
  check(!atomic || o.precision != Precision::kBf16,
        "--spmm-accumulate atomic is for --precision fp32 and tf32, got --precision bf16");
  check(!atomic || !traits_of(o).aggr || o.aggr == Reduce::kSum || o.aggr == Reduce::kMean,
        "--spmm-accumulate atomic is for sums, which --aggr ", o.aggr, " does not compute");
}

}  // namespace rodeo
