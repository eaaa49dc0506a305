#!/usr/bin/env python3
"""Runs the tests of the Python package for ctest:  run.py FOLDER  with the built package in FOLDER.

Ends with 77, which is "skipped" for ctest, if NumPy or pytest is missing. Names the cases that pytest skipped.
"""
import importlib.util
import os
import sys

for module in "numpy", "pytest":
    if importlib.util.find_spec(module) is None:
        print(f"skipped: {module} is not installed for {sys.executable}")
        sys.exit(77)
sys.path.insert(0, os.path.abspath(sys.argv[1]))
os.environ["PYTHONPATH"] = os.path.abspath(sys.argv[1])  # of processes that tests start
import pytest  # noqa: E402

here = os.path.dirname(os.path.abspath(__file__))
sys.exit(pytest.main(["-q", "-rs", "-p", "no:cacheprovider", "--rootdir", here, here, *sys.argv[2:]]))
