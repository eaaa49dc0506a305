/// Which columns of a CSV file have which role.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/import/csv_table.h"

namespace rodeo {

using CsvRoles = std::multimap<std::string, std::string>;  // names of columns by role

/// "id=paper,label=topic" as {id: paper, label: topic}. Throws Error for an unknown role, for one but `label`
/// that is given twice, and for other text.
CsvRoles parse_roles(const std::string& text);

/// Whether a column of this name usually has the role, without regard to case: source, src, from, ...
bool is_usual_name(std::string_view role, std::string_view name);

/// The column with a role: the one that `roles` names, else the one whose name is usual for it. -1 if there
/// is none. Throws Error if `roles` names none of the columns, and if several columns have usual names.
int find_column(const CsvTable& table, const CsvRoles& roles, std::string_view role);

/// The columns of labels: those that `roles` names, in that order, else the usual one; none without it.
/// Throws Error as find_column, and for a column that is named twice.
std::vector<int> label_columns(const CsvTable& table, const CsvRoles& roles);

/// The columns that are features: those of `list`, names or prefixes such as "x*,year", in the order of the
/// file; with an empty list, all that have a name and are not in `taken`. Throws Error for a part of the list
/// that fits no column, and for the name of a taken one.
std::vector<std::size_t> feature_columns(const CsvTable& table, const std::string& list,
                                         const std::vector<int>& taken);

}  // namespace rodeo
