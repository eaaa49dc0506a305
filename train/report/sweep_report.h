/// What a sweep found: the order of its trials, a table and a picture.
#pragma once

#include <string>
#include <vector>

namespace rodeo {

/// A trial, with the results of its runs.
struct TrialResult {
  std::vector<std::string> values;  // of the options that differ
  std::vector<double> val, test;    // of each run that has a result
  std::string failure;              // of the first run without one; empty: none
};

/// Indices of the trials without failures, by the mean validation result, the best first; equal ones in the
/// order of the trials. Test results decide nothing.
std::vector<std::size_t> rank_trials(const std::vector<TrialResult>& trials);

/// A line for each of the first `most` of `order`, under a line of names: val, test, and those of the
/// options.
std::string format_trials(const std::vector<std::string>& names, const std::vector<TrialResult>& trials,
                          const std::vector<std::size_t>& order, std::size_t most);

/// "lr 0.1, layers 2"
std::string describe_trial(const std::vector<std::string>& names, const std::vector<std::string>& values);

/// An SVG file with a chart for each option: the mean validation result of each trial of `order` by the
/// option's value, the first of them in another colour. Numbers have an axis, a logarithmic one if the
/// largest is at least 20 times the least; other values stand beside each other.
std::string draw_trials(const std::vector<std::string>& names, const std::vector<TrialResult>& trials,
                        const std::vector<std::size_t>& order);

}  // namespace rodeo
