#include "tests/support/software_device.h"

#include "runtime/adept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

const char *software_device(void) {
    static char number[16];
    AdeptDeviceInfo infos[16];
    uint32_t count;
    AdeptError error;
    if (adept_device_list(infos, 16, &count, &error) != ADEPT_OK) fail_msg("%s", error.detail);
    for (uint32_t i = 0; i < count && i < 16; i++) {
        if (infos[i].kind != ADEPT_DEVICE_SOFTWARE) continue;
        snprintf(number, sizeof number, "%u", i);
        return number;
    }
    fail_msg("no software device (Debian: mesa-vulkan-drivers)");
    return NULL;
}
