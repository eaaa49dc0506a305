#!/usr/bin/env python3
"""Copies a dataset with published splits as its masks: published_splits.py DATASET.h5 SPLITS.npz OUT.h5 [options]

SPLITS.npz has node ids `train`, `valid` (or `val`) and `test`: one split; or `train_masks`, `val_masks` and `test_masks`
[splits, nodes], which become columns of the masks: `--split K` and `--splits all` of rodeo_train.

  --splits N          the first N splits only
  --binary-features   sets every nonzero of x to 1, as PyG does for Amazon and Coauthor

The archives of "Classic GNNs are strong baselines" are medium_graph/data/*_split.npz of its code; those of Minesweeper,
Tolokers, Questions, Roman-empire and Amazon-ratings are the datasets' own archives. Splits of Cora, CiteSeer and PubMed need
no file: `--split class:20/500/1000@123`. Needs h5py and NumPy.
"""
import argparse
import os
import sys

try:
    import h5py
    import numpy as np
except ImportError as error:
    sys.exit(f"published_splits.py: needs the Python packages h5py and numpy (pip install h5py numpy): {error}")

PARTS = ("train", "val", "test")


class Fault(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Fault(text)


def mask_of(nodes, count, name):
    expect(nodes.ndim == 1 and np.issubdtype(nodes.dtype, np.integer), f"{name} must be a list of node ids")
    expect(not nodes.size or (nodes.min() >= 0 and nodes.max() < count), f"{name} has ids outside [0, {count})")
    mask = np.zeros(count, dtype=np.uint8)
    mask[nodes] = 1
    return mask


def masks_of_file(path, count):
    """u8 [nodes, splits] of each part."""
    try:
        archive = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise Fault(f"{path}: not an archive of NumPy: {error}") from None
    expect(hasattr(archive, "files"), f"{path}: expected an .npz archive, got one array")
    names = set(archive.files)
    if names >= {f"{part}_masks" for part in PARTS}:
        masks = [archive[f"{part}_masks"] for part in PARTS]
        for part, mask in zip(PARTS, masks):
            expect(mask.ndim == 2 and mask.shape == masks[0].shape and mask.shape[1] == count,
                   f"{path}: {part}_masks must be [splits, {count}], got {list(mask.shape)}")
        return [np.ascontiguousarray(mask.T).astype(np.uint8) for mask in masks]
    validation = "valid" if "valid" in names else "val"
    expect(names >= {"train", validation, "test"},
           f"{path}: expected train, valid and test, or train_masks, val_masks and test_masks; it has "
           + ", ".join(sorted(names)))
    return [mask_of(archive[name], count, f"{path}: {name}")[:, None] for name in ("train", validation, "test")]


def convert(options):
    expect(os.path.abspath(options.out) != os.path.abspath(options.dataset), "OUT.h5 must be another file than DATASET.h5")
    with h5py.File(options.dataset) as source:
        expect("y" in source, f"{options.dataset}: has no labels /y")
        masks = masks_of_file(options.file, len(source["y"]))
        if options.splits:
            expect(options.splits <= masks[0].shape[1], f"--splits {options.splits}: there are {masks[0].shape[1]}")
            masks = [mask[:, :options.splits] for mask in masks]
        expect(sum(mask.astype(int) for mask in masks).max(initial=0) <= 1, "a node is in two parts of a split")
        with h5py.File(options.out, "w") as out:
            for name, value in source.attrs.items():
                out.attrs[name] = value
            for name in source:
                if name not in {f"{part}_mask" for part in PARTS}:
                    source.copy(name, out)
            for part, mask in zip(PARTS, masks):
                out[f"{part}_mask"] = mask[:, 0] if mask.shape[1] == 1 else mask
            if options.binary_features:
                name = "x" if "x" in out else "x_data"
                expect(name in out, f"{options.dataset}: has no features to make binary")
                out[name][...] = (out[name][()] != 0).astype(out[name].dtype)
    sizes = [int(mask[:, 0].sum()) for mask in masks]
    print(f"{options.out}: {masks[0].shape[1]} splits; the first has {sizes[0]} train, {sizes[1]} val, {sizes[2]} test nodes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("file", metavar="splits")
    parser.add_argument("out")
    parser.add_argument("--splits", type=int, default=0)
    parser.add_argument("--binary-features", action="store_true")
    options = parser.parse_args()
    try:
        expect(options.splits >= 0, "--splits must be a number above 0")
        convert(options)
    except (Fault, OSError) as error:
        sys.exit(f"published_splits.py: {error}")


if __name__ == "__main__":
    main()
