// The profiles that come with the compiler, as the text that target_parse reads. "portable" is what
// every Vulkan 1.2 device with buffer addresses is taken to offer.
#pragma once

extern const char *const target_profile_names[]; // NULL-terminated
extern const char *const target_profile_texts[]; // in the order of the names
