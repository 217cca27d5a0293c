#!/bin/sh
# Installs what is missing of Debian's packages (12 and 13); does nothing when nothing is.
# usage: sh tests/install.sh build|test     build: compile and run Adept; test: its tests too
set -eu

packages="gcc g++ libc6-dev make cmake flex bison libvulkan-dev mesa-vulkan-drivers spirv-headers
    spirv-tools libjansson-dev zlib1g-dev"
case "${1:-}" in
build) ;;
test) packages="$packages binutils file libcmocka-dev vulkan-validationlayers libonnx-testdata" ;;
*)
    echo "usage: sh tests/install.sh build|test" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "install.sh: not a Debian system, the packages are yours to find:" $packages >&2
    exit 0
fi
missing=
for package in $packages; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
    echo "install.sh: these packages are missing, and only root can install them:$missing" >&2
    exit 1
fi

echo "installing$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq </dev/null
apt-get install -qq -y --no-install-recommends $missing </dev/null
