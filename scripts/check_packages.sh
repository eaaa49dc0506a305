#!/usr/bin/env bash
# Installs the Debian packages of a folder in a clean system, uses, upgrades and purges them. Run as root, it needs debootstrap:
#   check_packages.sh [--native] [--from OLDER] FOLDER [BASE]
#                                       FOLDER has rodeo_*.deb and librodeo-dev_*.deb, as cpack writes them
#                                       BASE: a root folder by debootstrap --variant=minbase, which is copied
#                                       --native: the packages are for this processor alone
#                                       --from OLDER: a folder with those of an older version, which is upgraded from, too
# Prints a line for each step with its seconds. Where qemu-x86_64-static is, training runs on a processor without AVX, too.
# Packages with CUDA code train on the CPU. Their programs are built with the CUDA toolkit of this machine, which is lent read-only.
set -euo pipefail
if [ "${RODEO_IN_NAMESPACE:-}" != 1 ]; then  # mounts end with the script
  [ "$(id -u)" = 0 ] || { echo "check_packages.sh: chroot needs root rights" >&2; exit 2; }
  RODEO_IN_NAMESPACE=1 exec unshare --mount bash "$0" "$@"
fi
fail() { echo "FAILED: $*" >&2; exit 1; }
native='' older=''
if [ "${1:-}" = --native ]; then native=yes; shift; fi
if [ "${1:-}" = --from ]; then older=$(realpath "$2"); shift 2; fi
folder=$(realpath "$1") base=${2:-}
for place in "$folder" $older; do
  for package in rodeo librodeo-dev; do
    [ "$(find "$place" -maxdepth 1 -name "${package}_*.deb" | wc -l)" = 1 ] || fail "$place must have one rodeo_*.deb and one librodeo-dev_*.deb"
  done
done
commands=$(echo "$folder"/rodeo_*.deb) dev=$(echo "$folder"/librodeo-dev_*.deb)
# shellcheck source=/dev/null
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
components=main
! grep -qx ID=ubuntu /etc/os-release || components=main,universe
work=$(mktemp -d "${TMPDIR:-/var/tmp}/rodeo_packages.XXXXXX")
root=$work/root
trap 'umount -lR "$root/proc" "$root/dev" "$root/usr/local/cuda" 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT  # a folder that is not mounted is no failure

step() { # step NAME COMMAND...
  local name=$1 begin=$EPOCHREALTIME
  shift
  ("$@") >"$work/log" 2>&1 || { cat "$work/log"; fail "$name"; }
  awk -v name="$name" -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN {printf "%-64s %6.1f s\n", name, end - begin}'
}
inside() { chroot "$root" env -i PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
user() { chroot --userspec=nobody:nogroup "$root" env -i PATH=/usr/bin:/bin HOME=/home/user LC_ALL=C.UTF-8 bash -ec "cd /home/user; $1"; }
apt() { inside apt-get -y -qq --no-install-recommends "$@"; }
ours() { inside dpkg-query -L rodeo librodeo-dev | grep . | grep -vx /. | sort -u; }

# higher DEB OUT: the package with a higher version, without one of its files and with a new one.
higher() {
  dpkg-deb -R "$1" "$work/next" && sed -i 's/^Version: .*/&+1/' "$work/next/DEBIAN/control"
  local file
  file=$(cd "$work/next" && find usr -type f | sort | tail -n 1)
  mv "$work/next/$file" "$work/next/$file.renamed"
  sed -i "s|  $file\$|&.renamed|" "$work/next/DEBIAN/md5sums"
  echo "/$file" >>"$work/renamed"
  dpkg-deb --root-owner-group -Znone -b "$work/next" "$2" && rm -r "$work/next"
}
upgrade() {
  apt install /packages/next_rodeo.deb /packages/next_librodeo-dev.deb || fail "apt install"
  while read -r file; do
    [ ! -e "$root$file" ] && [ -e "$root$file.renamed" ] || fail "the upgrade keeps $file"
  done <"$work/renamed"
  user 'rodeo_train --version'
}
upgrade_from_older() {
  user 'train_gcn --version'
  apt install /packages/rodeo.deb /packages/librodeo-dev.deb || fail "apt install"
  ours | comm -13 - "$work/older" >"$work/gone"  # files that only the older version had
  while read -r file; do [ ! -e "$root$file" ] || fail "the upgrade keeps $file"; done <"$work/gone"
  inside dpkg --verify rodeo librodeo-dev
  user 'rodeo_train --version; train_gcn a.h5 --epochs 5 --device cpu'
}
nothing_left() {
  local left
  left=$(while read -r path; do
    grep -qxF -- "$path" "$work/before" || ! [ -e "$root$path" ] || inside dpkg-query -S "$path" >/dev/null 2>&1 || echo "$path"
  done <"$work/ours")
  [ -z "$left" ] || fail "purge leaves $left"
  left=$(cd "$root" && find . -xdev -iname '*rodeo*' ! -path './home/*' ! -path './packages/*')
  [ -z "$left" ] || fail "purge leaves $left"
  [ -z "$(inside dpkg-query -f '${Status}\n' -W 'rodeo*' 'librodeo*' 2>/dev/null | grep -v not-installed)" ] || fail "dpkg still knows the packages"
}

if [ -n "$base" ]; then step "copy $base" cp -a "$base" "$root"; else step "debootstrap $suite" debootstrap --variant=minbase --components=$components "$suite" "$root"; fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev"
mkdir -p "$root/packages" && install -d -o nobody -g nogroup "$root/home/user"
cp "$commands" "$root/packages/rodeo.deb" && cp "$dev" "$root/packages/librodeo-dev.deb"
[ -z "$older" ] || for name in rodeo librodeo-dev; do cp "$older"/${name}_*.deb "$root/packages/older_$name.deb"; done
for name in rodeo librodeo-dev; do higher "$root/packages/$name.deb" "$root/packages/next_$name.deb" >/dev/null; done
step "apt-get update" apt update
(cd "$root" && find . -xdev | sed 's/^\.//' | sort) >"$work/before"
step "apt install ./rodeo.deb, with its dependencies" apt install /packages/rodeo.deb
step "a graph is generated and checked, as another user" user \
  'rodeo_data generate --preset cora a.h5; rodeo_data validate a.h5 2>log; ! grep warning log'
step "train_gcn, 5 epochs" user 'train_gcn a.h5 --epochs 5 --device cpu --export w.safetensors'
step "train_gat, 5 epochs" user 'train_gat a.h5 --epochs 5 --device cpu'
step "rodeo_predict, rodeo_gradcheck" user 'rodeo_predict --dataset a.h5 --weights w.safetensors --device cpu; rodeo_gradcheck --layer gcn --dataset a.h5 --device cpu'
[ -n "$native" ] || step "commands share the code of the library" user '[ -z "$(find /usr/bin -name "train_*" -size +1M -o -name "rodeo_*" -size +1M)" ]'
if [ -n "$native" ]; then
  echo "skipped: packages for this processor alone need not run on one without AVX"
elif command -v qemu-x86_64-static >/dev/null; then
  cp "$(command -v qemu-x86_64-static)" "$root/home/user/qemu"
  step "5 epochs on a processor without AVX (qemu -cpu Nehalem)" user \
    './qemu -cpu Nehalem /usr/bin/train_gcn a.h5 --epochs 5 --device cpu --hidden 8 --threads 1; ./qemu -cpu Nehalem /usr/bin/rodeo_data inspect a.h5'
else
  echo "skipped: qemu-user-static is not installed, which has a processor without AVX"
fi
step "apt install man-db bash-completion" apt install man-db bash-completion
step "man finds the page of every command" user 'for c in /usr/bin/train_* /usr/bin/rodeo_*; do man -w ${c##*/}; man ${c##*/} | grep -q -- "--version"; done'
step "bash completes options" user 'source /usr/share/bash-completion/bash_completion; _completion_loader train_gcn || true; complete -p train_gcn'
step "apt install ./librodeo-dev.deb, with its dependencies" apt install /packages/librodeo-dev.deb
step "apt install g++ pkg-config cmake make" apt install g++ pkg-config cmake make
step "files are those of the packages" inside dpkg --verify rodeo librodeo-dev
examples=/usr/share/doc/rodeo/examples
toolkit=$(sed -n 's/.* -L\([^ ]*\) -lcudart_static .*/\1/p' "$(find "$root/usr/lib" -name rodeo.pc)")
if [ -n "$toolkit" ] && ! [ -e /usr/local/cuda/bin/nvcc ]; then
  echo "skipped: programs link to the CUDA toolkit, which is not in /usr/local/cuda"
else
  if [ -n "$toolkit" ]; then
    mkdir -p "$root/usr/local/cuda" && mount --bind "$(realpath /usr/local/cuda)" "$root/usr/local/cuda"
    mount -o remount,bind,ro "$root/usr/local/cuda"
  fi
  step "a program by g++ and pkg-config" user \
    "g++ -std=c++20 -O1 $examples/minimal_training_loop/main.cpp -o loop \$(pkg-config --cflags --libs rodeo); ./loop a.h5 | grep 'test accuracy'"
  step "a program by find_package(rodeo)" user \
    "cp -r $examples/custom_layer app; cmake -S app -B app/build; cmake --build app/build; app/build/custom_layer | grep 'test accuracy'"
  [ -z "$toolkit" ] || { umount "$root/usr/local/cuda" && rmdir "$root/usr/local/cuda"; }
fi
step "upgrade" upgrade
ours >"$work/ours"
step "remove" apt remove rodeo librodeo-dev
if [ -n "$older" ]; then
  version() { inside dpkg-query -f '${Version}' -W rodeo; }
  step "install $(dpkg-deb -f "$root/packages/older_rodeo.deb" Version)" apt install /packages/older_rodeo.deb /packages/older_librodeo-dev.deb
  ours >"$work/older" && cat "$work/older" >>"$work/ours"
  step "upgrade from $(version)" upgrade_from_older
else
  step "install again" apt install /packages/rodeo.deb /packages/librodeo-dev.deb
fi
ours >>"$work/ours"
step "purge" apt purge rodeo librodeo-dev
step "no file is left" nothing_left
for package in "$commands" "$dev"; do
  printf '%s: %d KiB, installed %d KiB, depends on %s\n' "${package##*/}" $(($(stat -c %s "$package") / 1024)) \
    "$(dpkg-deb -f "$package" Installed-Size)" "$(dpkg-deb -f "$package" Depends)"
done
echo "All steps passed"
