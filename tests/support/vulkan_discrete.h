// A Vulkan loader that makes the device look like a card whose memory the host cannot reach: what
// is device-local is not host-visible. So the copies that such cards need are tested without one.
#pragma once

#include <vulkan/vulkan.h>

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vulkan_discrete(VkInstance instance, const char *name);
