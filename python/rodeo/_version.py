"""The version of the package: that of the library, which tests/test_package.py compares."""

__version__ = "0.2.0"
