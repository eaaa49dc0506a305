/// rodeo_data COMMAND: creates, checks and converts dataset files. The commands are in datasets/commands.
#include <fmt/core.h>

#include <cstdio>
#include <new>
#include <string_view>

#include "core/host/least_limits.h"
#include "core/quoting.h"
#include "core/threads.h"
#include "core/version.h"
#include "datasets/commands/command_line.h"

namespace rodeo {
namespace {

/// {} is the list of the formats.
constexpr const char* kUsage =
    "Creates, checks and converts dataset files.\n"
    "Usage:\n"
    "  rodeo_data inspect FILE                       statistics, and the estimated memory of training\n"
    "  rodeo_data validate FILE                      checks every rule of the schema\n"
    "  rodeo_data generate [options] FILE            a random graph with communities\n"
    "  rodeo_data import [options] FORMAT [SOURCE] FILE   {}, and what Python reads\n"
    "  rodeo_data reorder --by ORDER FILE OUT        renumbers the nodes\n"
    "  rodeo_data subset [options] FILE OUT          the induced subgraph of some nodes\n"
    "  rodeo_data features [options] FILE OUT        positional encodings, as more features\n"
    "  rodeo_data unpack FILE OUT                    features not compressed, for --features-on disk\n"
    "  rodeo_data --help | --version\n"
    "`rodeo_data COMMAND --help` shows its options.\n";

struct Command {
  std::string_view name;
  int (*run)(int, const char* const*);
};
constexpr Command kCommands[] = {{"inspect", inspect_command},   {"validate", validate_command},
                                 {"generate", generate_command}, {"import", import_command},
                                 {"reorder", reorder_command},   {"subset", subset_command},
                                 {"features", features_command}, {"unpack", unpack_command}};

int run(int argc, const char* const* argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h") return fmt::print(kUsage, import_formats()), 0;
  if (name == "--version") return fmt::print("rodeo_data {} ({})\n", RODEO_VERSION, RODEO_COMMIT), 0;
  for (const Command& command : kCommands)
    if (command.name == name) {
      const int code = command.run(argc - 1, argv + 1);
      check(std::fflush(stdout) == 0 && !std::ferror(stdout), "cannot write to standard output");
      return code;
    }
  check(!name.empty(),
        "a command is required: inspect, validate, generate, import, reorder, subset, features, unpack; see "
        "--help");
  fail("unknown command '", name,
       "': inspect, validate, generate, import, reorder, subset, features, unpack; see --help");
}

}  // namespace
}  // namespace rodeo

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  try {
    return rodeo::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("rodeo_data: out of host memory\n", stderr);
  } catch (const std::exception& error) {
    std::fputs(rodeo::str("rodeo_data: ", rodeo::printable(error.what()), "\n").c_str(), stderr);
  }
  return 2;
}
