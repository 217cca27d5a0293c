#!/bin/sh
# adept devices
. tests/cli/lib.sh "$1" "$2"

expect 0 devices
out_has "0: "
out_has "Vulkan 1."
expect 0 devices --dump-profile --device 0
out_has "adept 1 target"
expect 2 devices --device 0
err_has "--device goes with --dump-profile"
expect 2 devices x
expect 3 devices --dump-profile --device no-such-device
err_has "no-such-device"

# Without any driver: exit 3, and what to install.
VK_DRIVER_FILES=/dev/null VK_ICD_FILENAMES=/dev/null expect 3 devices
err_has "mesa-vulkan-drivers"
finish
