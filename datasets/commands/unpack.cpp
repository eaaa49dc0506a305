#include "datasets/commands/command_line.h"
#include "datasets/feature_file.h"
#include "datasets/hdf5_check.h"

namespace rodeo {

int unpack_command(int argc, const char* const* argv) {
  CommandLine line(
      "unpack",
      "Writes a copy with features that are not compressed, which rodeo_train --features-on disk "
      "reads row by row.",
      "FILE OUT");
  if (!line.parse(argc, argv)) return 0;
  line.output(1);
  check_hdf5_file(line.file(0));
  unpack_features(line.file(0), line.file(1));
  const FeatureFile x(line.file(1));
  print_line("{}: features {} x {}, {}, not compressed", line.file(1), x.shape()[0], x.shape()[1],
             name(x.dtype()));
  return 0;
}

}  // namespace rodeo
