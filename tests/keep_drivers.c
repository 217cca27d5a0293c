// Linked into programs of the sanitized build: libraries that are closed stay loaded, so that what
// a Vulkan driver never frees has a name that tests/lsan.supp can list.
int dlclose(void *library);

int dlclose(void *library) {
    (void)library;
    return 0;
}
