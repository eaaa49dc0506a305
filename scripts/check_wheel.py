#!/usr/bin/env python3
"""Installs a wheel as a stranger does, and tests it beside several versions of PyTorch and without any.

    scripts/check_wheel.py --torch 2.11.0,2.15.0 --pythons python3.12,python3.13
    scripts/check_wheel.py --wheel dist/rodeo_gnn-0.3.0-*.whl --torch= --roots /srv/bookworm,/srv/trixie
    scripts/check_wheel.py --native --wheel build/wheel/rodeo_gnn-0.3.0-*.whl --torch= --tests test_train.py

Without --wheel, build_wheel.sh builds one for --pythons, and for the CPU alone with --cpu. Each environment is a new venv with the
wheel, NumPy, pytest and one PyTorch; it needs the network, and about 5 GB for each PyTorch. --roots are systems with Python alone
(debootstrap --include=python3,python3-venv), where a library that is not in the wheel would be missed; chroot needs root.
Where qemu-x86_64 is installed, a model is trained on a processor without AVX. With --native the wheel is for this machine alone: its
libraries and other processors are not looked at. Prints a row for each environment, and ends with 1
if a test failed, installation took a minute, or Cora two. With --libraries PyPI's packages of the extra `cuda` are installed, too, and the
loader is to find the CUDA libraries there, for which no GPU is needed; it downloads more than 1 GB.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LARGEST = 200e6  # bytes
SYSTEM = r"lib(z|c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so|ld-linux"  # what a wheel may count on: PEP 600
TRAIN = """set -e
cd "$1"
rodeo_data generate --preset cora cora.h5 >/dev/null
train_gcn --dataset cora.h5 --epochs 100 | grep 'test accuracy'
rodeo_train --model gat --dataset cora.h5 --epochs 5 --export cora.safetensors >/dev/null
rodeo_predict --dataset cora.h5 --weights cora.safetensors --out cora.csv >/dev/null
"""
LEVELS = """
import os, subprocess, sys
train = "import rodeo; print(rodeo.train(rodeo.Dataset.generate('cora'), model='gcn', epochs=20).history[-1]['loss'])"
for level in "v2", "v3", "v4":
    done = subprocess.run([sys.executable, "-c", train], env={**os.environ, "RODEO_CPU_LEVEL": level}, capture_output=True, text=True)
    print(f"kernels for x86-64-{level}: loss", done.stdout.strip() or done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0 or "this processor" in done.stderr
"""
OPEN = """
import ctypes, os, sys
import rodeo
here = os.path.dirname(rodeo.__file__)
for name in "libcublasLt.so." + sys.argv[2], "libcusparse.so.12", "libnccl.so.2":
    files = [f.replace("$ORIGIN", here) + "/" + name for f in sys.argv[1].split(":")]
    file = next(iter(filter(os.path.exists, files)), None)
    assert file, f"{name} is in none of {sys.argv[1]}"
    ctypes.CDLL(file)
    print("opened", os.path.relpath(file, here))
"""
IMPORT = """
import sys, time, numpy
begin = time.perf_counter()
import rodeo
print(f"import rodeo after NumPy: {time.perf_counter() - begin:.3f} s,", rodeo.build_info()["cpu"])
"""


def say(*words):
    print(*words, flush=True)


def call(command, **options):
    """The output of a command that must succeed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed ({done.returncode}):\n{done.stdout[-3000:]}")
    return done.stdout


def venv(python, path, *packages):
    """The interpreter of a new environment with these packages."""
    call([python, "-m", "venv", path])
    interpreter = os.path.join(path, "bin", "python")
    if packages:
        call([interpreter, "-m", "pip", "install", "-q", *packages], cwd=path)
    return interpreter


def check_binaries(wheel, python, folder, libraries):
    """No file needs CUDA, Python, PyTorch or a library that is not inside; licences are listed; the stable ABI holds; it is small."""
    if os.path.getsize(wheel) >= LARGEST:
        sys.exit(f"{wheel} has {os.path.getsize(wheel) / 1e6:.0f} MB, not less than {LARGEST / 1e6:.0f}: scripts/library_size.py "
                 "tells what fills it")
    unpacked = os.path.join(folder, "unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    files = [f for f in glob.glob(unpacked + "/**", recursive=True) if os.path.isfile(f) and open(f, "rb").read(4) == b"\x7fELF"]
    needed = {lib for f in files for lib in re.findall(r"NEEDED.*\[(.*)\]", call(["readelf", "-d", f]))}
    missing = sorted(lib for lib in needed - {os.path.basename(f) for f in files} if not re.match(SYSTEM, lib))
    if missing:
        sys.exit(f"{wheel} lacks {', '.join(missing)}: build it with build_wheel.sh")
    if not glob.glob(unpacked + "/*.dist-info/licenses/LICENSES-of-libraries.txt"):
        sys.exit(f"{wheel} has no list of licences: build it with build_wheel.sh")
    say("inside:", ", ".join(sorted(os.path.basename(f) for f in files)))
    folders, version = check_cuda(wheel, unpacked)
    if libraries:
        say(call([venv(python, os.path.join(folder, "libraries"), wheel + "[cuda]"), "-c", OPEN, folders, version]).strip())
    stable = [f for f in files if f.endswith("_core.abi3.so")]
    if stable:
        tool = venv(python, os.path.join(folder, "audit-env"), "abi3audit")
        report = call([os.path.join(os.path.dirname(tool), "abi3audit"), "--strict", "--verbose", "--assume-minimum-abi3", "3.12",
                       *stable], cwd=folder)
        say(report.strip().splitlines()[-1])


def check_cuda(wheel, unpacked):
    """The file's name and its extra `cuda` name the CUDA whose folders of PyPI the loader looks into: they, and its version."""
    library = glob.glob(unpacked + "/rodeo/librodeo.so")[0]
    folders = re.search(r"R(?:UN)?PATH.*\[(.*)\]|$", call(["readelf", "-d", library]))[1] or ""
    with open(glob.glob(unpacked + "/*.dist-info/METADATA")[0], encoding="utf-8") as file:
        named = re.findall(r"^Requires-Dist: (nvidia-cublas\S*?)[<>=;,].*extra == .cuda.$", file.read(), re.MULTILINE)
    expected, version, folder = ("nvidia-cublas-cu12", "12", "cublas") if "+cu12-" in os.path.basename(wheel) else ("nvidia-cublas", "13", "cu13")
    if named != [expected] or f"nvidia/{folder}/lib" not in folders:
        sys.exit(f"{wheel} looks for CUDA libraries in {folders or 'no folder'}, its extra `cuda` names {named}, and its version means "
                 f"{expected}: build it with build_wheel.sh")
    return folders, version


def install(wheel, python, folder, root="", native=False):
    """Installs the wheel in a new environment and trains Cora there. What was measured, and whether it was in time."""
    inside = ["chroot", root] if root else []
    path = tempfile.mkdtemp(prefix="rodeo-", dir=root + "/tmp" if root else folder)
    here = path.removeprefix(root)
    shutil.copy(wheel, path)
    offline = []
    if root and not os.path.exists(root + "/proc/self"):
        call(["mount", "-t", "proc", "proc", root + "/proc"])  # where the loader reads a program's $ORIGIN
    if root:  # without the network, certificates and settings of this system
        version = call([*inside, python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()
        call([sys.executable, "-m", "pip", "download", "-q", "-d", path, "--only-binary=:all:", "--python-version", version, "numpy"])
        offline = ["--no-index", "--find-links", here]
    begin = time.monotonic()
    call([*inside, python, "-m", "venv", here + "/env"])
    call([*inside, here + "/env/bin/python", "-m", "pip", "install", "-q", *offline, f"{here}/{os.path.basename(wheel)}"])
    installed = time.monotonic() - begin
    environment = {**os.environ, "PATH": f"{here}/env/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": ""}
    begin = time.monotonic()
    say(call([*inside, "bash", "-c", TRAIN, "-", here], env=environment).strip())
    trained = time.monotonic() - begin
    say(call([*inside, here + "/env/bin/python", "-c", IMPORT]).strip())
    if not native:
        say(call([*inside, here + "/env/bin/python", "-c", LEVELS]).strip())
    emulator = shutil.which("qemu-x86_64")
    if emulator and not root and not native:
        old = "import rodeo; print(rodeo.build_info()['cpu'], rodeo.train(rodeo.Dataset.generate('cora'), model='gcn', epochs=2).best)"
        say("Nehalem:", call([emulator, "-cpu", "Nehalem", os.path.realpath(path + "/env/bin/python"), "-c", old],
                             env={**environment, "PYTHONPATH": glob.glob(path + "/env/lib/python*/site-packages")[0]}).strip().splitlines()[-1])
    shutil.rmtree(path)
    return installed < 60 and trained < 120, f"installed in {installed:.1f} s, Cora in {trained:.1f} s"


def test(python, wheel, torch, folder, tests):
    path = tempfile.mkdtemp(dir=folder)
    interpreter = venv(python, path, wheel, "pytest", *([f"torch=={torch}"] if torch else []))
    done = subprocess.run([interpreter, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.join(ROOT, "python", "tests", tests)],
                          capture_output=True, text=True, cwd=path, check=False, env={**os.environ, "PYTHONPATH": ""})
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr[-300:]
    if done.returncode:
        say(done.stdout[-3000:])
    shutil.rmtree(path)
    return done.returncode == 0, last


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pythons", default=sys.executable, help="interpreters that the wheel is tested with")
    parser.add_argument("--torch", default="2.11.0,2.15.0", help="versions of PyTorch; the wheel is also tested without any")
    parser.add_argument("--wheel", help="test this one, instead of building it")
    parser.add_argument("--cpu", action="store_true", help="build without CUDA code")
    parser.add_argument("--native", action="store_true", help="the wheel is for this machine alone")
    parser.add_argument("--tests", default="", help="a file of python/tests; default: all of them")
    parser.add_argument("--libraries", action="store_true", help="whether it finds the CUDA libraries of PyPI")
    parser.add_argument("--roots", default="", help="folders with systems, where the wheel is installed, too")
    options = parser.parse_args()
    pythons = options.pythons.split(",")
    rows = []
    with tempfile.TemporaryDirectory(prefix="rodeo-wheel-") as folder:
        build = [os.path.join(ROOT, "scripts/build_wheel.sh"), "--pythons", options.pythons, *["--cpu"] * options.cpu]
        wheel = os.path.abspath(options.wheel) if options.wheel else os.path.join(ROOT, call(build).split()[-1])
        say("wheel:", os.path.basename(wheel), f"{os.path.getsize(wheel) / 1e6:.1f} MB")
        if not options.native:
            check_binaries(wheel, pythons[0], folder, options.libraries)
        for root in filter(None, options.roots.split(",")):
            rows.append((root, "no PyTorch", *install(wheel, "python3", folder, root.rstrip("/"))))
        for python in pythons:
            version = call([python, "--version"]).strip()
            rows.append((version, "no PyTorch", *install(wheel, python, folder, native=options.native)))
            for torch in ["", *filter(None, options.torch.split(","))]:
                rows.append((version, "PyTorch " + torch if torch else "no PyTorch", *test(python, wheel, torch, folder, options.tests)))
    for where, torch, passed, text in rows:
        say(f"{where:15} {torch:16} {'passed' if passed else 'FAILED'}: {text}")
    sys.exit(not all(row[2] for row in rows))


if __name__ == "__main__":
    main()
