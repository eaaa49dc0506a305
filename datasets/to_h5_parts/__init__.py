"""The parts of to_h5.py: common (arrays, labels), write, libraries, archives, tables. Import to_h5 instead."""
