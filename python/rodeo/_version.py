"""The version of the package: that of the library, which python/tests/test_ops.py compares."""

__version__ = "0.3.0"
