#include "datasets/commands/command_line.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/host/terminal.h"
#include "core/output_path.h"
#include "core/text.h"
#include "core/threads.h"
#include "datasets/dataset.h"

namespace rodeo {

CommandLine::CommandLine(const std::string& command, const std::string& about, const std::string& files)
    : command_(command), names_(files), options_("rodeo_data " + command, about + "\n") {
  options_.set_width(static_cast<std::size_t>(help_width())).custom_help("[options]").positional_help(files);
  auto add = options_.add_options();
  add("h,help", "Print this help");
  add("threads", "CPU threads (default: OMP_NUM_THREADS, else as many as processors)",
      cxxopts::value<std::string>(), "N");
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
  check_dashes(argc, argv);
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("--")) continue;
    const std::string_view name = argument.substr(2, argument.find('=') - 2);
    std::vector<std::string> known;
    for (const cxxopts::HelpOptionDetails& option : options_.group_help("").options)
      if (!option.l.empty()) known.push_back(option.l.front());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string meant = closest(name, known);
    fail("unknown option '--", name, "'", meant.empty() ? "" : str(": did you mean --", meant, "?"), "; see ",
         command_, " --help");
  }
  parsed_ = options_.parse(argc, argv);
  if (has("help")) {
    fmt::print("{}", options_.help());
    return false;
  }
  if (has("files")) files_ = parsed_["files"].as<std::vector<std::string>>();
  const auto most = static_cast<std::size_t>(std::count(names_.begin(), names_.end(), ' ') + 1);
  const auto least = most - static_cast<std::size_t>(std::count(names_.begin(), names_.end(), '['));
  check(files_.size() >= least && files_.size() <= most, command_, " takes ", names_, ", got ",
        count_of(std::ssize(files_), "argument"), "; see ", command_, " --help");
  int threads = num_threads();
  read("threads", threads);
  set_num_threads(threads);
  return true;
}

std::string sizes_of(const Dataset& dataset) {
  return str(count_of(dataset.num_nodes, "node"), ", ", count_of(dataset.num_edges(), "edge"), ", ",
             count_of(dataset.num_features, "feature"), ", ",
             count_of(dataset.num_classes, dataset.regression() ? "target" : "class"));
}

std::vector<std::string> CommandLine::texts(const std::string& option) const {
  std::vector<std::string> values;
  for (const cxxopts::KeyValue& given : parsed_.arguments())
    if (given.key() == option) values.push_back(given.value());
  return values;
}

const std::string& CommandLine::output(std::size_t i) const {
  check_suffix({command_, files_[i]}, {".h5", ".hdf5"});
  std::vector<NamedPath> inputs;
  for (std::size_t j = 0; j < files_.size(); ++j)
    if (j != i) inputs.push_back({"its source", files_[j]});
  for (const cxxopts::KeyValue& given : parsed_.arguments())
    if (given.key() != "files" && given.key() != "name")
      inputs.push_back({"--" + given.key(), given.value()});
  check_outputs({{command_, files_[i]}}, inputs);
  return files_[i];
}

}  // namespace rodeo
