// Tests that plant faults in memory accesses, or rely on memory being the host's, run on the
// software device: a fault on a card can end more than the test.
#pragma once

// The number of the first software device, as text for adept_device_open; fails the test where
// there is none. The text is the caller's to copy before the next call.
const char *software_device(void);
