"""The parts of to_h5.py: common (arrays, labels), write, libraries, archives, csv_file, tables, sparse. Import to_h5 instead."""
