// adept devices [--device D] [--dump-profile]: the Vulkan devices that are here.
#include <stdlib.h>

#include "frontend/commands.h"
#include "frontend/targets.h"

typedef struct Options {
    bool dump_profile;
    const char *device;
} Options;

static const CliOption options_table[] = {
    {"device", 0, CLI_TEXT, offsetof(Options, device), "D",
     "Number or part of the name; default: ADEPT_DEVICE, or the best"},
    {"dump-profile", 0, CLI_FLAG, offsetof(Options, dump_profile), NULL,
     "Print that device's target profile, which compile --target reads"},
    {0},
};

static const char *kind_name(AdeptDeviceKind kind) {
    switch (kind) {
    case ADEPT_DEVICE_DISCRETE: return "discrete";
    case ADEPT_DEVICE_INTEGRATED: return "integrated";
    case ADEPT_DEVICE_SOFTWARE: return "software";
    default: return "other";
    }
}

static int fail(const AdeptError *error) {
    Text text = {0};
    text_printf(&text, "%s: %s", adept_result_string(error->result), error->detail);
    int code = cli_fail(CLI_DEVICE, text.data);
    text_free(&text);
    return code;
}

static int list_devices(void) {
    AdeptError error = {0};
    uint32_t count = 0;
    if (adept_device_list(NULL, 0, &count, &error) != ADEPT_OK) return fail(&error);
    AdeptDeviceInfo *infos = calloc(count ? count : 1, sizeof *infos);
    if (!infos) return cli_fail(CLI_INPUT, "out of memory");
    uint32_t room = count;
    int code;
    if (adept_device_list(infos, room, &count, &error) != ADEPT_OK) {
        code = fail(&error);
    } else {
        Text text = {0};
        for (uint32_t i = 0; i < count && i < room; i++) {
            const AdeptDeviceInfo *info = &infos[i];
            text_printf(&text, "%u: %s, %s, Vulkan %u.%u, %llu MiB, driver %s\n", info->index,
                        info->name, kind_name(info->kind), VK_API_VERSION_MAJOR(info->api_version),
                        VK_API_VERSION_MINOR(info->api_version),
                        (unsigned long long)(info->memory >> 20), info->driver);
            if (!info->usable) text_printf(&text, "   cannot be used: %s\n", info->missing);
        }
        code = cli_print(&text);
        text_free(&text);
    }
    free(infos);
    return code;
}

static int dump_profile(const char *choice) {
    AdeptDevice *device;
    AdeptError error = {0};
    if (adept_device_open(choice, &device, &error) != ADEPT_OK) return fail(&error);
    Target target;
    Text text = {0};
    target_of_device(device, &target);
    target_print(&target, &text);
    int code = cli_print(&text);
    text_free(&text);
    adept_device_close(device);
    return code;
}

static int run(int argc, char **argv) {
    Arena *arena = arena_create();
    Options options = {0};
    CliList words = {0};
    Text error = {0};
    int code;
    if (!cli_parse(arena, options_table, argc, argv, &options, &words, &error))
        code = cli_usage_error(&cmd_devices, error.data);
    else if (words.len > 0)
        code = cli_usage_error(&cmd_devices, "only options are read");
    else if (options.dump_profile)
        code = dump_profile(options.device);
    else if (options.device)
        code = cli_usage_error(&cmd_devices, "--device goes with --dump-profile");
    else
        code = list_devices();
    text_free(&error);
    arena_destroy(arena);
    return code;
}

const CliCommand cmd_devices = {"devices", "", "List the Vulkan devices, or describe one",
                                options_table, run};
