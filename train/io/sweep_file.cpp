#include "train/io/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/quoting.h"
#include "core/random.h"
#include "train/io/settings.h"

namespace rodeo {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kKeys[] = {"options", "grid", "random", "trials", "seed"};

// Trials are compared by a validation result, which must mean the same for all, and run by one process.
constexpr std::string_view kSame[] = {"dataset",     "task",    "split",  "edge-split", "splits",
                                      "seed",        "seeds",   "fold",   "folds",      "metric",
                                      "hits",        "threads", "device", "gpus",       "precision",
                                      "link-metric", "ranks",   "quiet",  "log",        "parallel"};

/// One option of "grid" or "random".
struct Source {
  std::string option;
  std::vector<GivenOption> values;  // a list
  std::string kind;                 // else: "uniform", ...
  double low = 0, high = 0;
};

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Sweep read(std::string_view text) {
    const Json json = parse(text);
    Sweep sweep{file_, {}, {}, {}};
    if (json.contains("options")) {
      expect(json["options"].is_object(), "'options' must be an object of options and values");
      sweep.options = read_settings(json["options"].dump(), file_);
    }
    const std::vector<Source> grid = sources(json, "grid"), random = sources(json, "random");
    expect(!grid.empty() || !random.empty(),
           "there is nothing to try: 'grid' or 'random' must have an option and its values");
    expect(json.contains("trials") == !random.empty(),
           "'random' and 'trials', the number of draws, need each other");
    for (const std::vector<Source>* part : {&grid, &random})
      for (const Source& source : *part) add_name(source.option, sweep);
    const std::int64_t draws = random.empty() ? 1 : whole(json["trials"], "trials", 1);
    const std::int64_t seed = json.contains("seed") ? whole(json["seed"], "seed", 0) : 0;
    combine(grid, random, draws, static_cast<std::uint64_t>(seed), sweep);
    return sweep;
  }

 private:
  template <class... Parts>
  void expect(bool condition, const Parts&... parts) const {
    check(condition, file_, ": ", parts...);
  }

  Json parse(std::string_view text) const {
    Json json;
    try {
      json = Json::parse(text);
    } catch (const Json::exception& error) {
      fail(file_, ": is not JSON: ", printable(error.what()));
    }
    constexpr const char* kExpected = "options, grid, random, trials and seed";
    expect(json.is_object(), "must be an object with ", kExpected);
    for (const auto& [key, value] : json.items())
      expect(std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys), "unknown key '",
             printable(key), "': expected ", kExpected, "; options of training belong into 'options'");
    return json;
  }

  std::int64_t whole(const Json& value, const char* key, std::int64_t least) const {
    const bool fits =
        value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
    const std::int64_t number = fits ? value.get<std::int64_t>() : -1;
    expect(number >= least, "'", key, "' must be a whole number of at least ", least);
    return number;
  }

  std::vector<Source> sources(const Json& json, const char* part) const {
    std::vector<Source> all;
    if (!json.contains(part)) return all;
    expect(json[part].is_object(), "'", part, "' must be an object of options and what to try for each");
    const bool grid = std::string_view(part) == "grid";
    for (const auto& [option, value] : json[part].items()) {
      const std::string name = printable(option);
      if (grid) expect(value.is_array(), "grid '", name, "' must be a list of values");
      all.push_back(value.is_array() ? list(option, value, part) : distribution(option, value));
    }
    return all;
  }

  Source list(const std::string& option, const Json& values, const char* part) const {
    expect(!values.empty(), part, " '", printable(option), "' must have at least one value");
    Source source{option, {}, "", 0, 0};
    for (const Json& value : values) source.values.push_back(setting(option, value));
    return source;
  }

  /// Checks the name and the type of the value.
  GivenOption setting(const std::string& option, const Json& value) const {
    Json object = Json::object();
    object[option] = value;
    return read_settings(object.dump(), file_)[0];
  }

  Source distribution(const std::string& option, const Json& value) const {
    const std::string name = printable(option);
    const std::string kind = value.is_object() && value.size() == 1 ? value.begin().key() : "";
    const bool log = kind.starts_with("log-"), whole = kind.ends_with("int");
    expect(
        kind == "uniform" || kind == "log-uniform" || kind == "int" || kind == "log-int", "random '", name,
        "' must be a list of values, {\"uniform\": [a, b]}, {\"log-uniform\": [a, b]}, {\"int\": [a, b]} or "
        "{\"log-int\": [a, b]}");
    setting(option, 0);
    const Json ends = value.front();
    const bool two = ends.is_array() && ends.size() == 2 && ends[0].is_number() && ends[1].is_number();
    const double low = two ? ends[0].get<double>() : 0, high = two ? ends[1].get<double>() : -1;
    expect(two && low <= high && (!log || low > 0), "random '", name, "': ", kind,
           " must have two numbers [a, b] with ", log ? "0 < a <= b" : "a <= b");
    constexpr double kLargest = 1e15;  // whole numbers up to it are exact, and so is their count
    expect(!whole || (ends[0].is_number_integer() && ends[1].is_number_integer() &&
                      std::max(std::fabs(low), std::fabs(high)) <= kLargest),
           "random '", name, "': ", kind, " must have whole numbers of at most 1e15");
    expect(std::isfinite(high - low), "random '", name, "': the numbers are too far apart");
    return {option, {}, kind, low, high};
  }

  void add_name(const std::string& option, Sweep& sweep) const {
    expect(std::find(std::begin(kSame), std::end(kSame), option) == std::end(kSame), "'", option,
           "' must be the same for all trials: it belongs into 'options'");
    const bool twice = std::find(sweep.names.begin(), sweep.names.end(), option) != sweep.names.end() ||
                       std::any_of(sweep.options.begin(), sweep.options.end(),
                                   [&](const GivenOption& given) { return given.name == option; });
    expect(!twice, "'", option, "' has values in two places: leave one of them out");
    sweep.names.push_back(option);
  }

  void combine(const std::vector<Source>& grid, const std::vector<Source>& random, std::int64_t draws,
               std::uint64_t seed, Sweep& sweep) const {
    double count = static_cast<double>(draws);
    for (const Source& source : grid) count *= static_cast<double>(source.values.size());
    expect(count <= kMostTrials, fmt::format("has {:.6g} trials, more than {}", count, kMostTrials));
    std::set<std::vector<std::string>> seen;
    for (std::int64_t i = 0; i < draws; ++i) {
      Trial drawn;
      for (const Source& source : random) drawn.push_back(draw(source, seed, static_cast<std::uint64_t>(i)));
      std::vector<std::size_t> at(grid.size(), 0);  // the last option counts fastest
      for (bool more = true; more;) {
        Trial trial;
        for (std::size_t g = 0; g < grid.size(); ++g) trial.push_back(grid[g].values[at[g]]);
        trial.insert(trial.end(), drawn.begin(), drawn.end());
        if (seen.insert(texts_of(trial)).second) sweep.trials.push_back(std::move(trial));
        more = false;
        for (std::size_t g = grid.size(); g-- > 0 && !more;)
          at[g] = (more = at[g] + 1 < grid[g].values.size()) ? at[g] + 1 : 0;
      }
    }
  }

  /// FNV-1a: the same on every machine.
  static std::uint64_t hash(std::string_view text) {
    std::uint64_t value = 0xcbf29ce484222325;
    for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return value;
  }

  /// Four digits. A number too small for them stays as it is.
  static double rounded(double value) {
    const std::string text = fmt::format("{:.3e}", value);
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }

  GivenOption draw(const Source& source, std::uint64_t seed, std::uint64_t i) const {
    const Philox4 words = philox(seed, hash(source.option), i);
    const double unit =  // in [0, 1), 53 bits
        static_cast<double>(((std::uint64_t{words.word[0]} << 32) | words.word[1]) >> 11) * 0x1p-53;
    if (source.kind.empty())
      return source.values[static_cast<std::size_t>(unit * static_cast<double>(source.values.size()))];
    const bool log = source.kind.starts_with("log-"), whole = source.kind.ends_with("int");
    const double end = whole ? source.high + 1 : source.high;
    double value = log ? std::exp(std::log(source.low) + unit * (std::log(end) - std::log(source.low)))
                       : source.low + unit * (end - source.low);
    if (whole) value = std::floor(value);
    if (!whole) value = rounded(value);
    value = std::clamp(value, source.low, source.high);
    return {source.option,
            whole ? fmt::format("{}", static_cast<std::int64_t>(value)) : fmt::format("{}", value), file_};
  }

  const std::string& file_;
};

}  // namespace

std::vector<std::string> texts_of(const Trial& trial) {
  std::vector<std::string> texts;
  for (const GivenOption& value : trial) texts.push_back(value.text);
  return texts;
}

Sweep read_sweep(std::string_view json, const std::string& file) {
  return Reader(file).read(json);
}

}  // namespace rodeo
