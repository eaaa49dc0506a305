#!/usr/bin/env python3
"""scripts/dblp_csv.py on the DBLP files of the shared data folder: dblp_csv_test.py ROOT RODEO_DATA. Exit code 77 without them."""
import os
import shlex
import subprocess
import sys
import tempfile

ROOT, RODEO_DATA = map(os.path.abspath, sys.argv[1:3])
RAW = os.path.join(os.environ.get("RODEO_SHARED_DATA", f"{ROOT}/../shared/data"), "raw/dblp")
if not os.path.isdir(RAW):
    print(f"skipped: no shared data: {RAW}")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-B", f"{ROOT}/scripts/dblp_csv.py", RAW, folder], check=True)
    with open(f"{folder}/import.txt", encoding="utf-8") as file:
        words = shlex.split(file.read())
    subprocess.run([RODEO_DATA, *words[1:]], check=True, cwd=folder)
    subprocess.run([RODEO_DATA, "validate", "dblp.h5"], check=True, cwd=folder)
    seen = subprocess.run([RODEO_DATA, "inspect", "dblp.h5"], check=True, cwd=folder, stdout=subprocess.PIPE, text=True).stdout
want = "dblp, 4 node types, 27204 nodes, 3 relations, 119876 edges; learns author, 4 classes"
sys.exit(0 if want in seen and "split 400 train, 400 val, 3257 test" in seen else f"expected '{want}', got:\n{seen}")
