// Runs what `adept compile --emit=spirv` writes, with libvulkan and jansson and nothing of Adept's:
// the .spv files and manifest.json are all there is.
// usage: run_spirv FOLDER WEIGHTS.safetensors INPUT=FILE.npy.. [OUTPUT==REFERENCE.npy..]
//
// Prints the device and, for each reference (f32), the largest difference; exits 1 when one is
// above 2e-5. Kept simple: all memory is visible to the host, everything stays until the end.
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

enum { INPUTS_MAX = 16, ALIGN = 256 };

_Noreturn static void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "run_spirv: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

static void check(VkResult result, const char *what) {
    if (result != VK_SUCCESS) die("%s: Vulkan error %d", what, result);
}

static unsigned char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) die("cannot read %s", path);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size) die("cannot read %s", path);
    fclose(file);
    return bytes;
}

static int64_t number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) die("no number '%s' in the manifest", key);
    return json_integer_value(value);
}

static const char *string(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    if (!value) die("no string '%s' in the manifest", key);
    return value;
}

// ---- Vulkan ----------------------------------------------------------------------------------

typedef struct Memory {
    VkBuffer buffer;
    VkDeviceAddress address;
    unsigned char *data; // as the host sees it
} Memory;

typedef struct Device {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice handle;
    VkQueue queue;
    uint32_t family;
    VkCommandPool pool;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkDescriptorPool descriptors;
} Device;

static void open_device(Device *d) {
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                     .pApplicationInfo = &app};
    check(vkCreateInstance(&instance, NULL, &d->instance), "instance");
    uint32_t count = 1;
    if (vkEnumeratePhysicalDevices(d->instance, &count, &d->physical) < 0 || count == 0)
        die("no Vulkan device");
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(d->physical, &properties);
    printf("device: %s\n", properties.deviceName);

    VkQueueFamilyProperties families[16];
    count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(d->physical, &count, families);
    while (d->family < count && !(families[d->family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        d->family++;

    // Whatever the device has is switched on; the manifest lists what each kernel needs.
    VkPhysicalDeviceVulkan13Features v13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = properties.apiVersion >= VK_API_VERSION_1_3 ? &v13 : NULL};
    VkPhysicalDeviceVulkan11Features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &v12};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &v11};
    vkGetPhysicalDeviceFeatures2(d->physical, &features);
    features.features.robustBufferAccess = VK_FALSE;
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = d->family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                 .pNext = &features,
                                 .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queue};
    check(vkCreateDevice(d->physical, &device, NULL, &d->handle), "device");
    vkGetDeviceQueue(d->handle, d->family, 0, &d->queue);
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = d->family};
    check(vkCreateCommandPool(d->handle, &pool, NULL, &d->pool), "command pool");
}

// The one descriptor there is: a dynamic uniform buffer that holds each dispatch's arguments.
static void make_layout(Device *d, const json_t *block) {
    VkDescriptorType type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
    VkDescriptorSetLayoutBinding binding = {.binding = (uint32_t)number(block, "binding"),
                                            .descriptorType = type,
                                            .descriptorCount = 1,
                                            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set = {.sType =
                                               VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = 1,
                                           .pBindings = &binding};
    check(vkCreateDescriptorSetLayout(d->handle, &set, NULL, &d->set_layout), "set layout");
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &d->set_layout};
    check(vkCreatePipelineLayout(d->handle, &layout, NULL, &d->layout), "pipeline layout");
    VkDescriptorPoolSize size = {type, 1024};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1024,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    check(vkCreateDescriptorPool(d->handle, &pool, NULL, &d->descriptors), "descriptor pool");
}

static Memory make_memory(const Device *d, uint64_t size) {
    Memory memory = {0};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = size ? size : 1,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                        VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                                        VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    check(vkCreateBuffer(d->handle, &info, NULL, &memory.buffer), "buffer");
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(d->handle, memory.buffer, &needs);
    VkPhysicalDeviceMemoryProperties types;
    vkGetPhysicalDeviceMemoryProperties(d->physical, &types);
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;
    while (type < types.memoryTypeCount &&
           (!(needs.memoryTypeBits >> type & 1) ||
            (types.memoryTypes[type].propertyFlags & wanted) != wanted))
        type++;
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .pNext = &flags,
                                     .allocationSize = needs.size,
                                     .memoryTypeIndex = type};
    VkDeviceMemory device_memory;
    check(vkAllocateMemory(d->handle, &allocate, NULL, &device_memory), "memory");
    check(vkBindBufferMemory(d->handle, memory.buffer, device_memory, 0), "memory");
    void *data;
    check(vkMapMemory(d->handle, device_memory, 0, VK_WHOLE_SIZE, 0, &data), "mapping");
    memset(data, 0, needs.size);
    memory.data = data;
    VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                         .buffer = memory.buffer};
    memory.address = vkGetBufferDeviceAddress(d->handle, &address);
    return memory;
}

static VkPipeline make_pipeline(const Device *d, const char *folder, const json_t *kernel) {
    char path[4096];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, string(kernel, "file"));
    uint32_t *words = (uint32_t *)read_file(path, &size);
    VkShaderModuleCreateInfo shader = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = words};
    VkShaderModule module;
    check(vkCreateShaderModule(d->handle, &shader, NULL, &module), path);
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = (uint32_t)number(kernel, "subgroup_size")};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .pNext = subgroup.requiredSubgroupSize ? &subgroup : NULL,
                  .flags = subgroup.requiredSubgroupSize
                               ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT
                               : 0,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = string(kernel, "entry")},
        .layout = d->layout};
    VkPipeline pipeline;
    check(vkCreateComputePipelines(d->handle, VK_NULL_HANDLE, 1, &info, NULL, &pipeline), path);
    vkDestroyShaderModule(d->handle, module, NULL);
    free(words);
    return pipeline;
}

// ---- the model -------------------------------------------------------------------------------

typedef struct Model {
    Device device;
    const json_t *manifest;
    VkPipeline *pipelines;
    Memory param, state, constants, arena, raw;
    Memory input[INPUTS_MAX], output[INPUTS_MAX];
} Model;

static const Memory *memory_of(const Model *m, const json_t *arg) {
    const char *kind = string(arg, "buffer");
    int64_t index = number(arg, "index");
    if (index < 0 || index >= INPUTS_MAX) die("buffer number %lld", (long long)index);
    if (strcmp(kind, "input") == 0) return &m->input[index];
    if (strcmp(kind, "output") == 0) return &m->output[index];
    if (strcmp(kind, "param") == 0) return &m->param;
    if (strcmp(kind, "state") == 0) return &m->state;
    if (strcmp(kind, "const") == 0) return &m->constants;
    if (strcmp(kind, "raw") == 0) return &m->raw;
    return &m->arena;
}

// Writes a dispatch's arguments, 8 bytes each.
static void put_args(const Model *m, const json_t *args, uint64_t *slots) {
    size_t i;
    const json_t *arg;
    json_array_foreach(args, i, arg) {
        if (json_object_get(arg, "scalar"))
            slots[i] = (uint64_t)number(arg, "scalar");
        else
            slots[i] = memory_of(m, arg)->address + (uint64_t)number(arg, "offset");
    }
}

static VkDescriptorSet make_set(const Device *d, const Memory *block, uint64_t range) {
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = d->descriptors,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &d->set_layout};
    VkDescriptorSet set;
    check(vkAllocateDescriptorSets(d->handle, &allocate, &set), "descriptor set");
    VkDescriptorBufferInfo buffer = {block->buffer, 0, range};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = set,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
                                  .pBufferInfo = &buffer};
    vkUpdateDescriptorSets(d->handle, 1, &write, 0, NULL);
    return set;
}

// Records the dispatches of a list, submits them and waits.
static void run_list(const Model *m, const json_t *list) {
    const Device *d = &m->device;
    const json_t *dispatch;
    size_t i, most = 1;
    json_array_foreach(list, i, dispatch) {
        size_t args = json_array_size(json_object_get(dispatch, "args"));
        if (args > most) most = args;
    }
    uint64_t slice = (8 * most + ALIGN - 1) / ALIGN * ALIGN;
    Memory block = make_memory(d, slice * (json_array_size(list) + 1));
    VkDescriptorSet set = make_set(d, &block, slice);

    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = d->pool,
                                            .commandBufferCount = 1};
    VkCommandBuffer commands;
    check(vkAllocateCommandBuffers(d->handle, &allocate, &commands), "command buffer");
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    check(vkBeginCommandBuffer(commands, &begin), "recording");
    json_array_foreach(list, i, dispatch) {
        uint32_t offset = (uint32_t)(slice * i), grid[3];
        put_args(m, json_object_get(dispatch, "args"), (uint64_t *)(block.data + offset));
        for (int axis = 0; axis < 3; axis++)
            grid[axis] = (uint32_t)json_integer_value(
                json_array_get(json_object_get(dispatch, "grid"), (size_t)axis));
        VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                   .dstAccessMask =
                                       VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
        if (json_is_true(json_object_get(dispatch, "barrier")))
            vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                 VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, NULL, 0,
                                 NULL);
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                          m->pipelines[number(dispatch, "kernel")]);
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, d->layout, 0, 1, &set, 1,
                                &offset);
        vkCmdDispatch(commands, grid[0], grid[1], grid[2]);
    }
    VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                         0, 1, &to_host, 0, NULL, 0, NULL);
    check(vkEndCommandBuffer(commands), "recording");
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &commands};
    check(vkQueueSubmit(d->queue, 1, &submit, VK_NULL_HANDLE), "submission");
    check(vkQueueWaitIdle(d->queue), "wait");
}

// Copies each weight of a prepare unit (-1: those used as they are) to where the manifest says.
static void load_weights(Model *m, int64_t unit, const json_t *header, const unsigned char *data,
                         size_t size) {
    const json_t *weight, *weights = json_object_get(m->manifest, "weights");
    size_t i;
    json_array_foreach(weights, i, weight) {
        if (number(weight, "unit") != unit) continue;
        const json_t *entry = json_object_get(header, string(weight, "key"));
        const json_t *offsets = json_object_get(entry, "data_offsets");
        uint64_t begin = (uint64_t)json_integer_value(json_array_get(offsets, 0));
        uint64_t end = (uint64_t)json_integer_value(json_array_get(offsets, 1));
        if (!entry || end > size || begin > end || end - begin != (uint64_t)number(weight, "bytes"))
            die("no fitting weight '%s'", string(weight, "key"));
        Memory *to = strcmp(string(weight, "buffer"), "raw") == 0 ? &m->raw : &m->param;
        memcpy(to->data + number(weight, "offset"), data + begin, end - begin);
    }
}

// What constants and states begin as.
static void fill(Model *m, const char *folder) {
    const json_t *state, *constants = json_object_get(m->manifest, "constants");
    size_t i, size;
    if (json_is_string(constants)) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, json_string_value(constants));
        unsigned char *file = read_file(path, &size);
        if (size > (uint64_t)number(json_object_get(m->manifest, "memory"), "const"))
            die("%s is too large", path);
        memcpy(m->constants.data, file, size);
        free(file);
    }
    json_array_foreach(json_object_get(m->manifest, "states"), i, state) {
        float value = (float)json_number_value(json_object_get(state, "fill"));
        if (value == 0) continue; // as it is
        if (strcmp(string(state, "dtype"), "f32") != 0) die("a state that begins as no f32");
        for (int64_t at = 0; at < number(state, "bytes"); at += 4)
            memcpy(m->state.data + number(state, "offset") + at, &value, 4);
    }
}

static void prepare(Model *m, const char *path) {
    size_t size, i;
    unsigned char *file = read_file(path, &size);
    uint64_t length = 0, raw = 0;
    if (size >= 8) memcpy(&length, file, 8);
    if (size < 8 || length > size - 8) die("%s is no safetensors file", path);
    json_t *header = json_loadb((const char *)file + 8, length, 0, NULL);
    const json_t *weight, *unit;
    json_array_foreach(json_object_get(m->manifest, "weights"), i, weight) {
        uint64_t end = (uint64_t)(number(weight, "offset") + number(weight, "bytes"));
        if (strcmp(string(weight, "buffer"), "raw") == 0 && end > raw) raw = end;
    }
    m->raw = make_memory(&m->device, raw);
    load_weights(m, -1, header, file + 8 + length, size - 8 - length);
    json_array_foreach(json_object_get(m->manifest, "prepare"), i, unit) {
        load_weights(m, (int64_t)i, header, file + 8 + length, size - 8 - length);
        run_list(m, unit);
    }
    json_decref(header);
    free(file);
}

// The index of the tensor called like the start of `argument`, up to its '='; -1: none.
static int find_tensor(const json_t *tensors, const char *argument) {
    size_t i, length = strcspn(argument, "=");
    const json_t *tensor;
    json_array_foreach(tensors, i, tensor) {
        const char *name = string(tensor, "name");
        if (strlen(name) == length && memcmp(name, argument, length) == 0) return (int)i;
    }
    return -1;
}

// The data of a .npy file of version 1, which must be `bytes` long.
static unsigned char *read_npy(const char *path, uint64_t bytes, unsigned char **file) {
    size_t size;
    *file = read_file(path, &size);
    size_t start = size >= 10 ? 10 + ((*file)[8] | (size_t)(*file)[9] << 8) : size + 1;
    if (start > size || size - start != bytes)
        die("%s does not hold %llu bytes of data", path, (unsigned long long)bytes);
    return *file + start;
}

static bool compare(const char *argument, const Memory *got, uint64_t bytes) {
    unsigned char *file;
    float *wanted = (float *)malloc(bytes), *values = (float *)got->data;
    memcpy(wanted, read_npy(strchr(argument, '=') + 2, bytes, &file), bytes);
    double largest = 0;
    for (uint64_t i = 0; i < bytes / 4; i++) {
        double difference = fabs((double)values[i] - wanted[i]);
        if (isnan(difference) || difference > largest) largest = difference;
    }
    printf("%.*s: largest difference %g\n", (int)strcspn(argument, "="), argument, largest);
    free(wanted);
    free(file);
    return largest <= 2e-5;
}

int main(int argc, char **argv) {
    if (argc < 3) die("usage: run_spirv FOLDER WEIGHTS INPUT=FILE.npy.. [OUTPUT==REFERENCE.npy..]");
    char path[4096];
    snprintf(path, sizeof path, "%s/manifest.json", argv[1]);
    json_error_t error;
    json_t *manifest = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!manifest) die("%s:%d: %s", path, error.line, error.text);
    Model m = {.manifest = manifest};
    const json_t *item, *memory = json_object_get(manifest, "memory");
    const json_t *inputs = json_object_get(manifest, "inputs");
    const json_t *outputs = json_object_get(manifest, "outputs");
    if (json_array_size(inputs) > INPUTS_MAX || json_array_size(outputs) > INPUTS_MAX)
        die("more than %d inputs or outputs", INPUTS_MAX);

    open_device(&m.device);
    make_layout(&m.device, json_object_get(manifest, "run_block"));
    m.param = make_memory(&m.device, (uint64_t)number(memory, "param"));
    m.state = make_memory(&m.device, (uint64_t)number(memory, "state"));
    m.constants = make_memory(&m.device, (uint64_t)number(memory, "const"));
    m.arena = make_memory(&m.device, (uint64_t)number(memory, "arena"));
    size_t i;
    json_array_foreach(inputs, i, item) {
        m.input[i] = make_memory(&m.device, (uint64_t)number(item, "bytes"));
    }
    json_array_foreach(outputs, i, item) {
        m.output[i] = make_memory(&m.device, (uint64_t)number(item, "bytes"));
    }
    const json_t *kernels = json_object_get(manifest, "kernels");
    m.pipelines = calloc(json_array_size(kernels) + 1, sizeof *m.pipelines);
    json_array_foreach(kernels, i, item) {
        m.pipelines[i] = make_pipeline(&m.device, argv[1], item);
    }
    fill(&m, argv[1]);
    prepare(&m, argv[2]);

    for (int at = 3; at < argc; at++) {
        const char *equals = strchr(argv[at], '=');
        if (!equals || equals[1] == '=') continue;
        int index = find_tensor(inputs, argv[at]);
        if (index < 0) die("no input of the name in '%s'", argv[at]);
        uint64_t bytes = (uint64_t)number(json_array_get(inputs, (size_t)index), "bytes");
        unsigned char *file;
        memcpy(m.input[index].data, read_npy(equals + 1, bytes, &file), bytes);
        free(file);
    }
    run_list(&m, json_object_get(manifest, "run"));
    bool good = true;
    for (int at = 3; at < argc; at++) {
        const char *equals = strchr(argv[at], '=');
        if (!equals || equals[1] != '=') continue;
        int index = find_tensor(outputs, argv[at]);
        if (index < 0) die("no output of the name in '%s'", argv[at]);
        uint64_t bytes = (uint64_t)number(json_array_get(outputs, (size_t)index), "bytes");
        good = compare(argv[at], &m.output[index], bytes) && good;
    }
    return good ? 0 : 1;
}
