/// Parts of the page of a report: HTML without scripts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/task/node_run.h"

namespace rodeo {

std::string_view page_style();

/// Text in HTML whose options (--lr) are not broken at the end of a line.
std::string prose(std::string_view text);
/// A heading, `content` in HTML, and a text below it. is_folded: opened by a click.
std::string section(std::string_view title, const std::string& content, std::string_view note = "",
                    bool is_folded = false);
/// Rows of a name and a value, both text.
std::string table(const std::vector<std::pair<std::string, std::string>>& rows);
/// "12.34 %"
std::string percent(double share);

/// What the model predicts of the test set: by class, by label, against true numbers, or metrics of pairs.
/// `epoch`: of its weights, "the best epoch, 69". Over ranks, a collective call.
std::string predictions(const NodeRun& run, const std::string& epoch);

}  // namespace rodeo
