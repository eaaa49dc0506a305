#!/usr/bin/env bash
# All sources are formatted as clang-format 14 does it. Other versions format differently: exit code 77, skipped.
set -euo pipefail
cd "$1"
command -v clang-format >/dev/null || { echo "skipped: clang-format is not installed"; exit 77; }
version=$(clang-format --version)
[[ $version =~ version\ 14\. ]] || { echo "skipped: needs clang-format 14, found: $version"; exit 77; }
find core ops layers models datasets train python bench tests examples \( -name '*.h' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.cu' \) \
  -print0 | xargs -0 clang-format --dry-run -Werror
