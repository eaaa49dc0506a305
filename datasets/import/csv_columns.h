/// Which columns of a CSV file have which role.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/import/csv_table.h"

namespace rodeo {

/// "id=paper,label=topic" as {id: paper, label: topic}. Throws Error for an unknown role and other text.
std::map<std::string, std::string> parse_roles(const std::string& text);

/// The column with a role: the one that `roles` names, else the one whose name is usual for it, without
/// regard to case (source, src, from, ...). -1 if there is none. Throws Error if `roles` names none of the
/// columns, and if several columns have usual names.
int find_column(const CsvTable& table, const std::map<std::string, std::string>& roles,
                std::string_view role);

/// The columns that are features: those of `list`, names or prefixes such as "x*,year", in the order of the
/// file; with an empty list, all that have a name and are not in `taken`. Throws Error for a part of the list
/// that fits no column, and for the name of a taken one.
std::vector<std::size_t> feature_columns(const CsvTable& table, const std::string& list,
                                         const std::vector<int>& taken);

}  // namespace rodeo
