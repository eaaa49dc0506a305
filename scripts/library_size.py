#!/usr/bin/env python3
"""What fills the library of a build, by folder of sources, and its CUDA code by GPU architecture.

    scripts/library_size.py build-wheel/build

Reads the object files. CUDA code is counted as it is stored, compressed; other code without symbols and debug information.
"""
import collections
import os
import re
import struct
import subprocess
import sys

FATBIN, KINDS = 0xBA55ED50, {1: "PTX", 2: "machine code"}


def sections(path):
    """Name, offset and size of the sections that are loaded into memory."""
    for line in subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout.splitlines():
        found = re.match(r"\s*\[ *\d+\] (\S+)\s+(\S+)\s+[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) [0-9a-f]+\s+(\w*A\w*) ", line)
        if found and found[2] != "NOBITS":
            yield found[1], int(found[3], 16), int(found[4], 16)


def device_code(data):
    """Kind, architecture and stored bytes of each entry of the fat binaries in a section."""
    at = 0
    while at + 16 <= len(data):
        magic, _, header, size = struct.unpack_from("<IHHQ", data, at)
        if magic != FATBIN:  # padding between two
            at += 8
            continue
        entry, end = at + header, at + header + size
        while entry < end:
            kind, _, entry_header, entry_size = struct.unpack_from("<HHIQ", data, entry)
            yield KINDS.get(kind, "other"), struct.unpack_from("<I", data, entry + 28)[0], entry_header + entry_size
            entry += entry_header + entry_size
        at = end


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1] + "/CMakeFiles"):
        sys.exit(__doc__)
    host, device, architectures = collections.Counter(), collections.Counter(), collections.Counter()
    for folder, _, files in os.walk(os.path.join(sys.argv[1], "CMakeFiles")):
        target = re.search(r"/(rodeo(?:_glue|_hopper|_cpu_v\d)?)\.dir/?(.*)", folder)
        if not target:
            continue
        level = re.search(r"_cpu_(v\d)", target[1])
        room = target[2] + (f", x86-64-{level[1]}" if level else "")
        for path in (os.path.join(folder, name) for name in files if name.endswith(".o")):
            for name, offset, size in sections(path):
                if name in (".nv_fatbin", "__nv_relfatbin"):
                    with open(path, "rb") as file:
                        file.seek(offset)
                        for kind, architecture, stored in device_code(file.read(size)):
                            architectures[f"{kind} for {architecture / 10:.1f}"] += stored
                    device[room] += size
                else:
                    host[room] += size
    print("| sources | for processors, MB | for GPUs, MB |\n| --- | ---: | ---: |")
    for room in sorted(host | device):
        print(f"| {room} | {host[room] / 1e6:.2f} | {device[room] / 1e6:.2f} |")
    print(f"| all | {sum(host.values()) / 1e6:.2f} | {sum(device.values()) / 1e6:.2f} |")
    if architectures:
        print("\n| CUDA code | MB |\n| --- | ---: |")
    for name, size in sorted(architectures.items()):
        print(f"| {name} | {size / 1e6:.2f} |")


if __name__ == "__main__":
    main()
