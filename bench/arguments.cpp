#include "bench/arguments.h"

#include <charconv>
#include <filesystem>

#include "bench/hetero_graph.h"
#include "bench/large_graph.h"
#include "core/error.h"
#include "datasets/synthetic_hetero.h"

namespace rodeo::bench {
namespace {

// cxxopts takes the next option for the value of an option without one.
void check_given(const std::string& option, const std::string& value) {
  check(!value.empty() && !value.starts_with("--"), "--", option, " needs a value");
}

}  // namespace

cxxopts::ParseResult parse_arguments(cxxopts::Options& options, const char* flags, int argc,
                                     const char* const* argv) {
  try {
    return options.parse(argc, argv);
  } catch (const cxxopts::exceptions::missing_argument&) {
    fail(argv[argc - 1], " needs a value");  // only the last argument can lack one
  } catch (const cxxopts::exceptions::exception&) {
    fail(flags);  // the value of a flag: other options accept any value
  }
}

void reject_strays(const cxxopts::ParseResult& parsed) {
  for (const std::string& stray : parsed.unmatched())
    fail(stray.starts_with("-") ? "unknown option '" : "unexpected argument '", stray, "'; see --help");
}

std::string one(const cxxopts::ParseResult& parsed, const std::string& option) {
  if (parsed.count(option) == 0 && !parsed[option].has_default()) return {};
  const auto value = parsed[option].as<std::string>();
  check_given(option, value);
  return value;
}

Texts list(const cxxopts::ParseResult& parsed, const std::string& option) {
  if (parsed.count(option) == 0 && !parsed[option].has_default()) return {};
  const auto values = parsed[option].as<Texts>();
  check(!values.empty(), "--", option, " needs a value");
  for (const std::string& value : values) check_given(option, value);
  return values;
}

Texts preset_list(const cxxopts::ParseResult& parsed, bool large) {
  const Texts sizes = list(parsed, "graph");
  for (const std::string& size : sizes) try {
      if (!large || !(large_graph(size) || is_hetero_graph(size))) synthetic_preset(size);
    } catch (const Error&) {
      fail("--graph must be of ", synthetic_preset_names(),
           large ? ", papers100M, papers100M/N, " + hetero_preset_names() : "", ", got '", size, "'");
    }
  return sizes;
}

std::vector<std::optional<bool>> node_orders(const cxxopts::ParseResult& parsed) {
  std::vector<std::optional<bool>> orders;
  for (const std::string& order : list(parsed, "node-order")) orders.emplace_back(parse_shuffle(order));
  if (orders.empty()) orders.emplace_back();
  return orders;
}

SyntheticOptions preset_in_order(const std::string& size, std::optional<bool> shuffle) {
  SyntheticOptions preset = synthetic_preset(size);
  if (!shuffle || *shuffle == preset.shuffle) return preset;
  preset.shuffle = *shuffle;
  preset.name += *shuffle ? "-shuffled" : "-sorted";
  return preset;
}

Texts file_list(const cxxopts::ParseResult& parsed, const std::string& option) {
  const Texts paths = list(parsed, option);
  for (const std::string& path : paths) check(std::filesystem::exists(path), path, ": no such file");
  return paths;
}

DType parse_dtype(const std::string& text) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64})
    if (name(dtype) == text) return dtype;
  fail("unknown dtype '", text, "': expected f32, f16, bf16 or f64");
}

std::int64_t positive(const std::string& option, const std::string& given) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  check(error == std::errc{} && end == given.data() + given.size() && value >= 1 && value <= 1 << 20, "--",
        option, " must be an integer of at least 1 and at most 2^20, got '", given, "'");
  return value;
}

std::vector<std::string> arguments_without(int argc, const char* const* argv,
                                           const std::vector<std::string>& names) {
  std::vector<std::string> kept = {"/proc/self/exe"};
  for (int i = 1; i < argc; ++i) {
    const std::string given = argv[i], option = given.substr(0, given.find('='));
    if (std::find(names.begin(), names.end(), option) == names.end())
      kept.push_back(given);
    else if (option == given)
      ++i;  // its value
  }
  return kept;
}

}  // namespace rodeo::bench
