#!/usr/bin/env python3
"""tests/documents.py on a small document: what runs, what is skipped and named, what fails."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from documents import Fault, Reader, blocks, weak_results  # noqa: E402

DOCUMENT = """
Write `a/one.txt`:

```text
first
```

In two steps. Append
to `a/one.txt` now:

```cpp
second
```

```sh
make everything    # takes 8 minutes: builds
echo '# no remark' >>a/one.txt
convert big.h5     # needs a GPU
cat big.h5
wc -l \\
  <a/one.txt >count.txt

# needs the network
download this

false              # it takes all
cd a
awk 'BEGIN { srand(1); print rand() }' >random.txt
python3 -m no_such_module    # needs the Python packages os, no_such_module
python3 -c 'import sys'      # needs the Python package sys
```

```python
import no_such_module
open("made.json", "w")
```

```sh
cat made.json
test "$(cat count.txt)" = 3
```
"""
EXPECTED = [
    (5, "wrote a/one.txt"),
    (12, "wrote a/one.txt"),
    (16, "skipped, takes 8 minutes: make everything"),
    (17, "ran echo '# no remark' >>a/one.txt"),
    (18, "skipped, needs a GPU: convert big.h5"),
    (19, "skipped, needs big.h5: cat big.h5"),
    (20, "ran wc -l <a/one.txt >count.txt"),
    (24, "skipped, needs the network: download this"),
    (26, "FAILED false"),
    (27, "FAILED cd a"),
    (28, "FAILED awk 'BEGIN { srand(1); print rand() }' >random.txt"),
    (29, "skipped, needs no_such_module for Python: python3 -m no_such_module"),
    (30, "ran python3 -c 'import sys'"),
    (34, "skipped, needs no_such_module for Python"),
    (39, "skipped, needs made.json: cat made.json"),
    (40, "ran test \"$(cat count.txt)\" = 3"),
]

skipped = []
with tempfile.TemporaryDirectory() as folder:
    reader = Reader(folder, os.environ, skipped.append)
    done = [(line, f"FAILED {str(what).splitlines()[0].partition(':')[0]}" if isinstance(what, Fault) else what)
            for block in blocks(DOCUMENT) for line, what in reader.follow(block)]
if done != EXPECTED:
    sys.exit("\n".join(f"got {got}\nnot {expected}" for got, expected in zip(done, EXPECTED) if got != expected)
             or f"{len(done)} results, not {len(EXPECTED)}")
assert [command.line for command in skipped] == [16, 18, 19, 24, 29, 39], skipped

RESULT = """test accuracy   {} at the best validation epoch, 6 (val 0.5)
                {} after the last epoch, 10
                {} of the test nodes are of the largest class, 1"""
RUN = "fold 2   test {} val 0.5 epoch 6 final_test {} epochs 10 median_ms 1.0 majority {} metric accuracy"
for best, last, share, is_weak in ((0.71, 0.8, 0.356, True), (0.712, 0.8, 0.356, True), (0.72, 0.72, 0.356, False),
                                   (0.8, 0.71, 0.356, True), (0.9, 0.9, 0.45, True), (0.91, 0.91, 0.46, False)):
    for form in (RESULT, RUN, RESULT.replace("accuracy", "macro-F1")):
        assert bool(list(weak_results("x\n" + form.format(best, last, share)))) == is_weak, (form, best, last, share)
RANKED = """test {}        0.7100 at the best validation epoch, 6 (val 0.5)
                {} after the last epoch, 10
test            AUC 0.7199"""
for metric, last, is_weak in (("AUC", 0.7, True), ("AUC", 0.71, False), ("ROC-AUC", 0.6, True), ("MRR", 0.1, False)):
    assert bool(list(weak_results(RANKED.format(metric, last)))) == is_weak, (metric, last)
