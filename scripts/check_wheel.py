#!/usr/bin/env python3
"""Builds the wheel of the Python package once, and tests it beside several versions of PyTorch and without any.

    scripts/check_wheel.py --torch 2.11.0,2.15.0 --pythons python3.12,python3.13

Each environment is a new venv with the wheel, NumPy, pytest and one PyTorch; it needs the network, and about 5 GB for each
PyTorch. The first of --pythons builds; from Python 3.12 on the wheel has the stable ABI (abi3), which abi3audit checks, and all
of --pythons get the same file. Prints a row for each environment, and ends with 1 if one failed.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def say(*words):
    print(*words, flush=True)


def call(command, **options):
    """The output of a command that must succeed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}")
    return done.stdout


def venv(python, path, *packages):
    """The interpreter of a new environment with these packages."""
    call([python, "-m", "venv", path])
    interpreter = os.path.join(path, "bin", "python")
    if packages:
        call([interpreter, "-m", "pip", "install", "-q", *packages], cwd=path)
    return interpreter


def build(python, folder, build_folder, defines):
    interpreter = venv(python, os.path.join(folder, "build-env"))
    options = [word for define in defines for word in ("-C", f"cmake.define.{define}")]
    call([interpreter, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, os.path.join(ROOT, "python"), *options, "-C",
          f"build-dir={build_folder or folder + '/build'}"], cwd=folder)
    return glob.glob(os.path.join(folder, "rodeo-*.whl"))[0]


def check_binary(wheel, python, folder):
    """The stable ABI where the tag promises it, and no library of PyTorch."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if re.search(r"/_core\..*so$", n))
        extension = archive.extract(name, os.path.join(folder, "unpacked"))
    needed = re.findall(r"NEEDED.*\[(.*)\]", call(["readelf", "-d", extension]))
    say("needs:", ", ".join(sorted(needed)))
    forbidden = [lib for lib in needed if re.search(r"torch|c10|python", lib)]
    if forbidden:
        sys.exit(f"{wheel} must not link to {', '.join(forbidden)}")
    if "-abi3-" not in wheel:
        return "one Python version"
    tool = venv(python, os.path.join(folder, "audit-env"), "abi3audit")
    report = call([os.path.join(os.path.dirname(tool), "abi3audit"), "--strict", "--verbose", wheel], cwd=folder)
    say(report.strip().splitlines()[-1])
    return "abi3, no violation found by abi3audit"


def test(python, wheel, torch, folder):
    path = tempfile.mkdtemp(dir=folder)
    interpreter = venv(python, path, wheel, "pytest", *([f"torch=={torch}"] if torch else []))
    names = ["test_ops.py", "test_train.py", "test_hetero.py", "test_objects.py", "test_faults.py", "test_types.py"] + \
        (["test_torch.py", "test_recording.py", "test_versions.py", "test_streams.py"] if torch else [])
    command = [interpreter, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command + [os.path.join(ROOT, "python", "tests", name) for name in names], capture_output=True,
                          text=True, cwd=path, check=False, env={**os.environ, "PYTHONPATH": ""})
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr[-300:]
    if done.returncode:
        say(done.stdout[-3000:])
    shutil.rmtree(path)
    return done.returncode == 0, last


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pythons", default=sys.executable, help="interpreters; the first one builds")
    parser.add_argument("--torch", default="2.11.0,2.15.0", help="versions of PyTorch; the wheel is also tested without any")
    parser.add_argument("--wheel", help="test this one, instead of building it")
    parser.add_argument("--define", action="append", default=[], help="for CMake, as in RODEO_CUDA=OFF")
    parser.add_argument("--build-folder", help="kept, for the next time; default: a temporary one")
    options = parser.parse_args()
    pythons = options.pythons.split(",")
    failures = 0
    with tempfile.TemporaryDirectory(prefix="rodeo-wheel-") as folder:
        wheel = os.path.abspath(options.wheel) if options.wheel else build(pythons[0], folder, options.build_folder, options.define)
        say("wheel:", os.path.basename(wheel), f"{os.path.getsize(wheel) / 1e6:.1f} MB")
        say("ABI:", check_binary(wheel, pythons[0], folder))
        for python in pythons if "-abi3-" in wheel else pythons[:1]:
            version = call([python, "--version"]).strip()
            for torch in ["", *filter(None, options.torch.split(","))]:
                passed, text = test(python, wheel, torch, folder)
                failures += not passed
                say(f"{version:15} {'PyTorch ' + torch if torch else 'no PyTorch':16} {'passed' if passed else 'FAILED'}: {text}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
