#include "datasets/commands/command_line.h"

#include <fmt/core.h>

#include <algorithm>

namespace rodeo {

CommandLine::CommandLine(const std::string& command, const std::string& about, const std::string& files)
    : command_(command), names_(files), options_("rodeo_data " + command, about + "\n") {
  options_.set_width(110).custom_help("[options]").positional_help(files);
  auto add = options_.add_options();
  add("h,help", "Print this help");
  add("files", "", cxxopts::value<std::vector<std::string>>());
  options_.parse_positional("files");
}

void CommandLine::option(const std::string& name, const std::string& about, const std::string& value) {
  options_.add_options()(name, about, cxxopts::value<std::string>(), value);
}

void CommandLine::flag(const std::string& name, const std::string& about) {
  options_.add_options()(name, about);
}

bool CommandLine::parse(int argc, const char* const* argv) {
  parsed_ = options_.parse(argc, argv);
  if (has("help")) {
    fmt::print("{}", options_.help());
    return false;
  }
  if (has("files")) files_ = parsed_["files"].as<std::vector<std::string>>();
  const auto wanted = static_cast<std::size_t>(std::count(names_.begin(), names_.end(), ' ') + 1);
  check(files_.size() == wanted, command_, " takes ", names_, ", got ", files_.size(),
        files_.size() == 1 ? " argument" : " arguments", "; see ", command_, " --help");
  return true;
}

}  // namespace rodeo
