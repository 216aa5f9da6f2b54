#!/usr/bin/env bash
# Builds the image of a folder, on a folder of Debian in the place of python:slim, and fits in it.
#
#   build_image.sh BASE_FOLDER IMAGE_FOLDER DATA_FOLDER         as root on Debian; needs buildah
set -euo pipefail
base=$1 image=$2 data=$3

storage=$(mktemp -d)
trap 'rm -rf "$storage"' EXIT
builder=(buildah --root "$storage/root" --runroot "$storage/run" --storage-driver vfs)

# The build trusts the servers that this machine trusts.
printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n' >"$storage/pip.conf"
mounts=(--volume /etc/ssl/certs:/etc/ssl/certs:ro --volume "$storage/pip.conf:/etc/pip.conf:ro")

container=$("${builder[@]}" from scratch)
"${builder[@]}" add --quiet "$container" "$base" / >/dev/null
"${builder[@]}" commit --quiet "$container" base >/dev/null
"${builder[@]}" build --isolation chroot --network host "${mounts[@]}" \
    --build-arg BASE=localhost/base --tag bigtensor "$image"

container=$("${builder[@]}" from --pull-never localhost/bigtensor)
chown -R 1000 "$data"
"${builder[@]}" run --isolation chroot --network host --user 1000 --volume "$data:/data" "$container" -- \
    bigtensor fit rows.zarr --components 3 --out model.zarr --scheduler threads
