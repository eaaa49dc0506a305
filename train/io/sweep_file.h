/// The JSON file of --sweep: which values of options are tried.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/task/apply_options.h"

namespace rodeo {

/// The values of one trial, in the order of Sweep::names.
using Trial = std::vector<GivenOption>;

/// The values alone.
std::vector<std::string> texts_of(const Trial& trial);

struct Sweep {
  std::string file;                  // also of all GivenOption below
  std::vector<GivenOption> options;  // the same for all trials
  std::vector<std::string> names;    // of the options that differ: those of "grid", then those of "random"
  std::vector<Trial> trials;         // in the order of running, no two alike
};

/// The most trials of a file.
constexpr int kMostTrials = 10'000;

/// Reads an object with
///   options  values that all trials share, as in the file of --config
///   grid     a list of values for each option: all combinations
///   random   for each option a list, {"uniform": [a, b]}, {"log-uniform": [a, b]}, {"int": [a, b]} or
///            {"log-int": [a, b]} to draw from; numbers that are not whole have four digits
///   trials   number of draws; each is combined with all combinations of the grid
///   seed     of the draws (0)
/// Draw i of an option is a function of seed, i and the option's name: more trials or options do not change
/// it. Throws Error beginning with `file` for anything else, for options that compare or run trials and so
/// cannot differ between them, and for more than kMostTrials. Whether a model has the options is not checked.
Sweep read_sweep(std::string_view json, const std::string& file);

}  // namespace rodeo
