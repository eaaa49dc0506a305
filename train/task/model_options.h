/// Which options each model has. Part of train/task/options.cpp: it includes the parser.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cxxopts.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "train/task/options.h"

namespace rodeo {

/// What a model has, of what not all have.
struct ModelTraits {
  ModelKind kind;
  std::string_view name;
  bool perceptron = false;  // hidden, layers, dropout
  bool heads = false;       // heads, out-heads, attn-dropout, negative-slope
  bool attention = false;   // the form of its attention
  bool spmm = false;        // spmm, explain
  bool aggr = false, train_eps = false, hops = false, teleport = false;
  bool decay_all = false;  // weight decay on all parameters, not on the first layer alone
};
const ModelTraits& traits_of(ModelKind kind);
std::vector<ModelKind> all_models();
std::string model_choices();  // "gcn|gat|..."

/// Values are read as text and converted here, so that an error names the option and its range.
template <class T>
auto option_value(const T& initial) {
  return cxxopts::value<std::string>()->default_value(fmt::format("{}", initial));
}

/// One parsed command line; every getter throws an Error that names its option.
class OptionValues {
 public:
  explicit OptionValues(const cxxopts::ParseResult& parsed) : parsed_(parsed) {}

  bool flag(const std::string& option) const { return parsed_[option].as<bool>(); }
  bool given(const std::string& option) const { return parsed_.count(option) > 0; }

  std::string text(const std::string& option) const {
    const auto& value = parsed_[option].as<std::string>();
    check(!value.empty() && !value.starts_with("--"), "--", option, " needs a value");
    return value;
  }

  template <class T>
  T integer(const std::string& option, T lowest) const {
    return number<T>(option, str("an integer of at least ", lowest),
                     [&](T value) { return value >= lowest; });
  }

  /// `rule` completes "must be ..."; `holds` is false for NaN.
  template <class T, class Holds>
  T number(const std::string& option, const std::string& rule, Holds&& holds) const {
    const std::string given = text(option);
    T value{};
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    check(error == std::errc{} && end == given.data() + given.size() && holds(value), "--", option,
          " must be ", rule, ", got '", given, "'");
    return value;
  }

  /// A probability of dropping something.
  double dropout(const std::string& option) const {
    return number<double>(option, "a number in [0, 1)", [](double p) { return p >= 0 && p < 1; });
  }
  double not_negative(const std::string& option) const {
    return number<double>(option, "a number of at least 0",
                          [](double x) { return x >= 0 && std::isfinite(x); });
  }

 private:
  const cxxopts::ParseResult& parsed_;
};

/// The published options of the model that --model names, with choose_model; the GCN's without one.
TrainOptions defaults_of_chosen(int argc, const char* const* argv);

void describe_model_options(cxxopts::OptionAdder& model, const TrainOptions& defaults);
void read_model_options(const OptionValues& values, TrainOptions& options);
/// --features, --reorder and --prune-rows, after the model's own options.
void read_savings(const OptionValues& values, TrainOptions& options);
/// --attention, or --spmm and --explain.
void read_kernel_options(const OptionValues& values, TrainOptions& options);

}  // namespace rodeo
