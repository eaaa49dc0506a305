#!/usr/bin/env bash
# Prints why tests were skipped: one line for each reason, with the number of tests.
#   skips.sh BUILD JUNIT_XML      writes BUILD/skipped.txt: one line a test, "name: reason"
# Reads BUILD/skipped.*.txt (tests/main.cpp writes them, one line a case) and ctest's own report of skipped tests.
set -euo pipefail
build=$1 junit=$2
names=$build/skipped.txt
{
  cat "$build"/skipped.*.txt 2>/dev/null || true
  [ ! -f "$junit" ] || awk '
    /<testcase / {match($0, / name="[^"]*"/); name = substr($0, RSTART + 7, RLENGTH - 8); skipped = 0; reason = "no reason given"}
    /<skipped/ {skipped = 1}
    match($0, /[Ss]kipped: [^<]*/) {reason = substr($0, RSTART + 9, RLENGTH - 9)}
    /<\/testcase>/ && skipped {
      gsub(/&quot;/, "\"", reason); gsub(/&lt;/, "<", reason); gsub(/&gt;/, ">", reason); gsub(/&amp;/, "\\&", reason)
      print name ": " reason
    }' "$junit"
} >"$names"
[ -s "$names" ] || exit 0
echo
echo "Skipped tests by reason (names in $names):"
sed 's/^[^:]*: //' "$names" | LC_ALL=C sort | uniq -c | LC_ALL=C sort -k1,1nr -k2 | awk '{
  tests = $1 == 1 ? "1 test" : $1 " tests"
  sub(/^ *[0-9]+ /, "")
  wants_gpu = sub(/^no CUDA device: /, "")
  print "  " tests (wants_gpu ? " for a GPU: " : ": ") $0
}'
