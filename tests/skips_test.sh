#!/usr/bin/env bash
# tests/skips.sh counts each reason once, whether a case of a test binary or a test of ctest gave it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf 'Ops/Spmm.Runs/cuda: no CUDA device: there is no NVIDIA driver\nOps.Other: no shared data: cora.h5\n' >"$dir/skipped.Ops.txt"
printf 'Core.Runs/cuda: no CUDA device: there is no NVIDIA driver\n' >"$dir/skipped.Core.txt"
cat >"$dir/ctest.xml" <<'XML'
<testsuite name="x">
	<testcase name="Rules" classname="Rules" time="0.1" status="run">
		<properties/>
		<system-out>0 broken rules
skipped: a word in the output of a test that ran
</system-out>
	</testcase>
	<testcase name="Format" classname="Format" time="0" status="notrun">
		<skipped message="SKIP_RETURN_CODE=77"/>
		<system-out>skipped: needs clang-format 14, found: &quot;15&quot; &amp; &lt;16&gt;
</system-out>
	</testcase>
	<testcase name="Silent" classname="Silent" time="0" status="notrun">
		<skipped message="SKIP_RETURN_CODE=77"/>
		<system-out></system-out>
	</testcase>
</testsuite>
XML
bash "$here/skips.sh" "$dir" "$dir/ctest.xml" | sed "s|$dir|BUILD|" >"$dir/out"
cat >"$dir/expected" <<'TEXT'

Skipped tests by reason (names in BUILD/skipped.txt):
  2 tests for a GPU: there is no NVIDIA driver
  1 test: needs clang-format 14, found: "15" & <16>
  1 test: no reason given
  1 test: no shared data: cora.h5
TEXT
diff "$dir/expected" "$dir/out"
grep -qx 'Ops/Spmm.Runs/cuda: no CUDA device: there is no NVIDIA driver' "$dir/skipped.txt"
[ "$(wc -l <"$dir/skipped.txt")" -eq 5 ]
# Without a skipped test it says nothing.
rm "$dir"/skipped.* "$dir/ctest.xml"
[ -z "$(bash "$here/skips.sh" "$dir" "$dir/ctest.xml")" ]
