#!/usr/bin/env bash
# Builds the CPU variant of docker/Dockerfile and trains in the image as another user.
#   check_container.sh [BASE]
# With Docker's daemon as a user does. Without one it needs root rights, buildah and debootstrap, which makes debian:12-slim; BASE is a
# root folder by debootstrap --variant=minbase bookworm, which is copied instead. Nothing but the image rodeo:cpu of Docker is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d "${TMPDIR:-/var/tmp}/rodeo_container.XXXXXX")
mkdir -m 777 "$work/data"
try='rodeo_data generate --preset cora a.h5; train_gcn --dataset a.h5 --epochs 5; train_gat --dataset a.h5 --epochs 5 --export w.safetensors
  rodeo_predict --dataset a.h5 --weights w.safetensors'
begin=$SECONDS
if docker info >/dev/null 2>&1; then
  trap 'rm -rf "$work"' EXIT
  docker build -f docker/Dockerfile -t rodeo:cpu --build-arg VARIANT=cpu .
  built=$((SECONDS - begin))
  docker run --rm rodeo:cpu | head -n 1
  docker run --rm --user 65534 -v "$work/data:/data" rodeo:cpu sh -ec "$try"
else
  b() { buildah --root "$work/root" --runroot "$work/run" --storage-driver vfs "$@"; }
  trap 'b rm --all >/dev/null; rm -rf "$work"' EXIT
  base=${1:-$work/base}
  [ -n "${1:-}" ] || debootstrap --variant=minbase bookworm "$base" >"$work/log" || { cat "$work/log"; exit 1; }
  container=$(b from scratch)
  cp -a "$base/." "$(b mount "$container")"
  # What Debian's image leaves out, too.
  printf 'path-exclude /usr/share/doc/*\npath-include /usr/share/doc/*/copyright\npath-exclude /usr/share/man/*\n' \
    >"$(b mount "$container")/etc/dpkg/dpkg.cfg.d/docker"
  b commit -q --rm "$container" docker.io/library/debian:12-slim >/dev/null
  # buildah looks for the images of the other variant, but does not use them.
  for image in $(sed -n 's/^FROM \(nvidia[^ ]*\) .*/\1/p' docker/Dockerfile); do b tag docker.io/library/debian:12-slim "docker.io/$image"; done
  begin=$SECONDS
  b build --isolation chroot --pull-never --ignorefile docker/Dockerfile.dockerignore -f docker/Dockerfile -t rodeo:cpu --build-arg VARIANT=cpu .
  built=$((SECONDS - begin))
  container=$(b from --pull-never localhost/rodeo:cpu)
  b run --isolation chroot "$container" rodeo_train --help | head -n 1
  b run --isolation chroot --user 65534 -v "$work/data:/data" "$container" sh -ec "$try"
  b images
fi
echo "The image was built in $built s, and trains"
