#!/usr/bin/env python3
"""Runs the steps of docker/Dockerfile, CPU variant, without Docker: debootstrap makes debian:12-slim, and RUN is chroot.

  scripts/check_dockerfile.py [--base FOLDER] [--ccache FOLDER] [TARGET...]

TARGET is a stage (default: run). In the stage run the commands are tried as `docker run` would. It needs root rights and
debootstrap. --base is a folder made by `debootstrap --variant=minbase bookworm`, which is copied; --ccache is kept between
builds, as BuildKit keeps its cache mounts. Prints the seconds of each step; the first that fails ends the script with exit code 1.
"""
import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SLIM = "path-exclude /usr/share/doc/*\npath-include /usr/share/doc/*/copyright\npath-exclude /usr/share/man/*\n"
TRIED = """set -e; cd /data; rodeo_data generate --preset cora a.h5; train_gcn --dataset a.h5 --epochs 5 --device cpu
rodeo_train --model gat --dataset a.h5 --epochs 5 --device cpu --export w.safetensors
rodeo_predict --dataset a.h5 --weights w.safetensors --device cpu"""


def sh(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout[-4000:]}\nFAILED: {' '.join(words)}")


def parse(path):
    """{stage: (the stage or image it begins from, [(instruction, arguments)])}, with the default of VARIANT replaced by cpu."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^#.*\n", "", file.read(), flags=re.MULTILINE).replace("\\\n", " ").replace("${VARIANT}", "cpu")
    stages = {}
    for line in filter(str.strip, text.splitlines()):
        word, rest = line.split(maxsplit=1)
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            stages[name] = (image, [])
        elif word != "ARG":
            stages[name][1].append((word, rest.strip()))
    return stages


class Builder:
    def __init__(self, folder, options):
        self.folder, self.options, self.built = folder, options, {}
        self.stages = parse(f"{ROOT}/docker/Dockerfile")
        with open(f"{ROOT}/docker/Dockerfile.dockerignore", encoding="utf-8") as file:
            self.ignored = [line.strip("/\n") for line in file]
        assert not any("/" in pattern for pattern in self.ignored), "only patterns of the top folder are understood"

    def build(self, name):
        """The root folder and the environment of a stage, after its steps."""
        if name in self.built:
            return self.built[name]
        root, env, folder = f"{self.folder}/{name}", {"PATH": "/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin"}, "/"
        image, steps = self.stages[name]
        begin = time.time()
        if image in self.stages:
            before, env, folder = self.build(image)
            sh("cp", "-a", before, root)
            env = dict(env)
        elif image == "debian:12-slim":
            sh(*(("cp", "-a", self.options.base) if self.options.base else ("debootstrap", "--variant=minbase", "bookworm")), root)
            with open(f"{root}/etc/dpkg/dpkg.cfg.d/docker", "w", encoding="utf-8") as file:
                file.write(SLIM)
            shutil.copy("/etc/resolv.conf", f"{root}/etc/resolv.conf")
        else:
            sys.exit(f"FAILED: the image {image} cannot be made here")
        print(f"{time.time() - begin:7.1f} s  {name}: FROM {image}", flush=True)
        for word, rest in steps:
            begin = time.time()
            if word == "ENV":
                key, _, value = rest.partition("=")
                env[key] = value
            elif word == "WORKDIR":
                folder = rest
                os.makedirs(root + folder, exist_ok=True)
            elif word == "COPY":
                self.copy(*rest.split(), root + folder)
            elif word == "RUN":
                self.run(rest, root, env, folder)
            elif word != "CMD":
                sys.exit(f"FAILED: {word} is not understood")
            print(f"{time.time() - begin:7.1f} s  {name}: {word} {rest}", flush=True)
        self.built[name] = root, env, folder
        return self.built[name]

    def copy(self, source, target, folder):
        if source != ".":
            shutil.copy2(f"{ROOT}/{source}", os.path.normpath(folder + target if target.startswith("/") else f"{folder}/{target}"))
            return
        for name in os.listdir(ROOT):
            if not any(fnmatch.fnmatch(name, pattern) for pattern in self.ignored):
                sh("cp", "-a", f"{ROOT}/{name}", f"{folder}/{name}")

    def run(self, command, root, env, folder):
        mounted = [f"{root}/proc", f"{root}/dev"]
        sh("mount", "-t", "proc", "proc", mounted[0])
        sh("mount", "--rbind", "/dev", mounted[1])
        while command.startswith("--mount="):
            mount, command = command.split(maxsplit=1)
            fields = dict(field.split("=", 1) for field in mount[len("--mount="):].split(","))
            source = self.options.ccache if fields["type"] == "cache" else self.build(fields["from"])[0] + fields["source"]
            os.makedirs(source, exist_ok=True)
            os.makedirs(root + fields["target"], exist_ok=True)
            sh("mount", "--bind", source, root + fields["target"])
            mounted.append(root + fields["target"])
        sh("chroot", root, "env", "-i", *(f"{key}={value}" for key, value in env.items()), "HOME=/root",
           "DEBIAN_FRONTEND=noninteractive", "sh", "-c", f"cd {folder} && {command}")
        for path in reversed(mounted):
            sh("umount", "-lR", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base")
    parser.add_argument("--ccache")
    parser.add_argument("targets", nargs="*", default=["run"])
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("check_dockerfile.py: chroot needs root rights")
    if "RODEO_IN_NAMESPACE" not in os.environ:  # mounts end with the script
        os.environ["RODEO_IN_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="rodeo_docker.") as folder:
        options.ccache = options.ccache or f"{folder}/ccache"
        builder = Builder(folder, options)
        for target in options.targets:
            root, env, _ = builder.build(target)
            if target == "run":
                builder.run(" ".join(json.loads(dict(builder.stages[target][1])["CMD"])), root, env, "/data")
                begin = time.time()
                builder.run(TRIED, root, env, "/data")
                print(f"{time.time() - begin:7.1f} s  generate, train GCN and GAT, predict")
                size = subprocess.run(["du", "-smx", root], text=True, stdout=subprocess.PIPE, check=True).stdout.split()[0]
                print(f"the image has {size} MiB")
    print("All steps passed")


if __name__ == "__main__":
    main()
