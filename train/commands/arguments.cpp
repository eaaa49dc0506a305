#include "train/commands/arguments.h"

#include "core/error.h"
#include "core/version.h"

namespace rodeo {
namespace {

bool is_flag(const cxxopts::Options& options, std::string_view option) {
  for (const std::string& group : options.groups())
    for (const cxxopts::HelpOptionDetails& details : options.group_help(group).options)
      if (details.is_boolean && !details.l.empty() && details.l.front() == option) return true;
  return false;
}

}  // namespace

cxxopts::ParseResult Arguments::parse(cxxopts::Options& options) const {
  std::vector<const char*> argv;
  for (const std::string& text : texts) argv.push_back(text.c_str());
  try {
    return options.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const cxxopts::exceptions::missing_argument&) {
    fail(texts.back(), " needs a value");  // only the last argument can lack one
  } catch (const cxxopts::exceptions::exception& error) {
    for (std::size_t i = 1; i < texts.size(); ++i) {
      const std::string_view argument = texts[i];
      const std::size_t end = argument.find('=');
      if (!argument.starts_with("--") || end == std::string_view::npos) continue;
      const std::string_view option = argument.substr(2, end - 2), value = argument.substr(end + 1);
      check(!is_flag(options, option) || value == "true" || value == "false", "--", option,
            " takes no value, got '", value, "'");
    }
    fail("the command line cannot be read: ", error.what());
  }
}

std::string Arguments::last_value(std::string_view option) const {
  const std::string name = str("--", option);
  std::string value;
  for (std::size_t i = 1; i < texts.size(); ++i)
    if (texts[i].starts_with(name + "="))
      value = texts[i].substr(name.size() + 1);
    else if (texts[i] == name && i + 1 < texts.size())
      value = texts[++i];
  return value;
}

void add_option(cxxopts::Options& options, std::string_view group, std::string_view name,
                std::string_view help, std::string_view hint, const std::string& default_text) {
  const auto value = hint.empty() ? cxxopts::value<bool>() : cxxopts::value<std::string>();
  if (!default_text.empty() && !hint.empty()) value->default_value(default_text);
  options.add_options(std::string(group))(std::string(name), std::string(help), value, std::string(hint));
}

std::vector<GivenOption> given_options(const cxxopts::ParseResult& parsed,
                                       const std::vector<TrainOption>& table) {
  std::vector<GivenOption> given;
  for (const TrainOption& option : table) {
    const std::string name(option.name);
    if (parsed.count(name) == 0) continue;
    const cxxopts::OptionValue& value = parsed[name];
    given.push_back({name, option.is_flag() ? to_text(value.as<bool>()) : value.as<std::string>(), ""});
  }
  return given;
}

std::vector<std::string> option_names(const cxxopts::Options& options) {
  std::vector<std::string> names;
  for (const std::string& group : options.groups())
    for (const cxxopts::HelpOptionDetails& option : options.group_help(group).options)
      if (!option.l.empty()) names.push_back(option.l.front());
  return names;
}

std::string version_line(std::string_view program) {
  return str(program, " ", RODEO_VERSION, " (", RODEO_COMMIT, ")\n");
}

}  // namespace rodeo
