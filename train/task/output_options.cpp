#include "train/task/option_parts.h"

namespace rodeo {

void add_output_options(OptionGroup output) {
  output.flag(
      kRun | kNode | kCommand | kOneRun | kLogged, "per-class", &TrainOptions::per_class,
      "Print precision, recall, F1 and number of the test nodes of each class, and write them to --log");
  output.under(kKernels).flag(
      kRun | kCommand | kOneRun, "explain", &TrainOptions::explain,
      "Print what aggregates and what scores, the algorithms that were chosen, and why");
  output.under(kKernels).flag(kRun | kCommand | kOneRun, "profile", &TrainOptions::profile,
                              "Time every kernel of the profiled epochs, and print a table at the end");
  output.flag(kRun, "debug", &TrainOptions::debug,
              "Check the result of every kernel, and stop at the first NaN or infinity; no CUDA graph");
  output.flag(kRun | kShort | kCommand, "quiet", &TrainOptions::quiet, "Print the result only, in one line");
}

void check_output_options(const TrainOptions& o) {
  check(!o.quiet || !o.per_class || !o.log.empty(),
        "--per-class prints a table and --quiet one line: give one of them, or --log FILE for the table");
  check(!o.quiet || !o.explain, "--explain prints a table and --quiet one line: give one of them");
  check(!o.quiet || !o.profile, "--profile prints a table and --quiet one line: give one of them");
  check(!o.debug || o.stop_at_nan,
        "--debug stops at the first result that is not finite: not with --on-nan continue");
}

}  // namespace rodeo
