#include "frontend/npz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "frontend/file.h"

enum {
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR_SIZE = 20,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    COMMENT_MAX = 65535,
    NAME_MAX_BYTES = 1024,
    MEMBERS_MAX = 65536,
    DIRECTORY_MAX = 1 << 26,
    STORED = 0,
    DEFLATED = 8,
};

typedef struct Member {
    const char *name;  // without ".npy"
    const char *label; // "file.npz:name.npy", for messages
    uint64_t local;    // offset of the local header
    uint64_t data;     // offset of the stored bytes
    uint64_t packed, size;
    uint32_t crc;
    uint16_t method;
} Member;

struct Npz {
    Arena *arena;
    const char *name;
    int file; // -1: in memory
    const uint8_t *bytes;
    uint64_t size;
    Member *members;
    uint32_t count;
};

static uint64_t little_endian(const uint8_t *bytes, unsigned count) {
    uint64_t value = 0;
    while (count-- > 0) value = value << 8 | bytes[count];
    return value;
}

static uint16_t get16(const uint8_t *bytes) {
    return (uint16_t)little_endian(bytes, 2);
}
static uint32_t get32(const uint8_t *bytes) {
    return (uint32_t)little_endian(bytes, 4);
}
static uint64_t get64(const uint8_t *bytes) {
    return little_endian(bytes, 8);
}

static bool fail_at(const Npz *archive, Text *error, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static bool fail_at(const Npz *archive, Text *error, uint64_t offset, const char *format, ...) {
    text_printf(error, "%s: byte %llu: ", archive->name, (unsigned long long)offset);
    va_list args;
    va_start(args, format);
    text_vprintf(error, format, args);
    va_end(args);
    return false;
}

// [offset, offset + size) must have been checked against the size of the file, or is here.
static bool fetch(const Npz *archive, uint64_t offset, void *out, size_t size, Text *error) {
    if (offset > archive->size || size > archive->size - offset)
        return fail_at(archive, error, offset, "%zu bytes wanted, but the file has %llu", size,
                       (unsigned long long)archive->size);
    if (archive->file >= 0)
        return file_read_at(archive->file, archive->name, offset, out, size, error);
    if (size > 0) memcpy(out, archive->bytes + offset, size);
    return true;
}

// ---- the directory ---------------------------------------------------------------------------

typedef struct Directory {
    uint64_t offset, size, count;
} Directory;

// ZIP64's end record, when its locator stands before the plain one at `end`.
static bool read_end64(const Npz *archive, uint64_t end, Directory *out, bool *found, Text *error) {
    uint8_t locator[LOCATOR_SIZE], record[END64_SIZE];
    *found = false;
    if (end < LOCATOR_SIZE) return true;
    if (!fetch(archive, end - LOCATOR_SIZE, locator, sizeof locator, error)) return false;
    if (memcmp(locator, "PK\6\7", 4) != 0) return true;
    uint64_t at = get64(locator + 8);
    if (get32(locator + 4) != 0 || get32(locator + 16) != 1)
        return fail_at(archive, error, end - LOCATOR_SIZE, "an archive in several files");
    if (!fetch(archive, at, record, sizeof record, error)) return false;
    if (memcmp(record, "PK\6\6", 4) != 0)
        return fail_at(archive, error, at, "no ZIP64 end record where its locator points");
    if (get32(record + 16) != 0 || get32(record + 20) != 0)
        return fail_at(archive, error, at, "an archive in several files");
    *out = (Directory){get64(record + 48), get64(record + 40), get64(record + 32)};
    *found = true;
    return true;
}

// Finds the end record, which a comment may follow, and from it the directory.
static bool find_directory(const Npz *archive, Directory *out, uint64_t *end_at, Text *error) {
    uint64_t reach = END_SIZE + COMMENT_MAX;
    if (reach > archive->size) reach = archive->size;
    uint64_t base = archive->size - reach;
    uint8_t *tail = arena_alloc(archive->arena, (size_t)reach);
    if (!fetch(archive, base, tail, (size_t)reach, error)) return false;
    for (uint64_t at = reach < END_SIZE ? 0 : reach - END_SIZE + 1; at-- > 0;) {
        const uint8_t *end = tail + at;
        if (memcmp(end, "PK\5\6", 4) != 0 || get16(end + 20) != reach - at - END_SIZE) continue;
        *end_at = base + at;
        bool found64;
        if (!read_end64(archive, *end_at, out, &found64, error)) return false;
        if (found64) return true;
        if (get16(end + 4) != 0 || get16(end + 6) != 0)
            return fail_at(archive, error, *end_at, "an archive in several files");
        *out = (Directory){get32(end + 16), get32(end + 12), get16(end + 10)};
        return true;
    }
    return fail_at(archive, error, base, "not a .npz file: no end of a ZIP directory");
}

// ZIP64's sizes and offset stand in an extra field, in this order, for those that are all ones.
static bool read_extra(const Npz *archive, const uint8_t *extra, size_t length, uint64_t at,
                       uint64_t *fields[3], Text *error) {
    bool wanted = *fields[0] == UINT32_MAX || *fields[1] == UINT32_MAX ||
                  (fields[2] && *fields[2] == UINT32_MAX);
    for (size_t i = 0; wanted && length - i >= 4;) {
        size_t size = get16(extra + i + 2);
        if (size > length - i - 4)
            return fail_at(archive, error, at + i, "an extra field is longer than its header says");
        if (get16(extra + i) == 1) {
            size_t used = 0;
            for (int field = 0; field < 3; field++) {
                if (!fields[field] || *fields[field] != UINT32_MAX) continue;
                if (size - used < 8)
                    return fail_at(archive, error, at + i, "a ZIP64 field is too short");
                *fields[field] = get64(extra + i + 4 + used);
                used += 8;
            }
            return true;
        }
        i += 4 + size;
    }
    return !wanted || fail_at(archive, error, at, "a ZIP64 field is missing");
}

static bool check_flags(const Npz *archive, const Member *member, uint16_t flags, uint64_t at,
                        Text *error) {
    const unsigned deflate_level = 6, utf8 = 2048;
    if (flags & 1) return fail_at(archive, error, at, "member '%s' is encrypted", member->name);
    if (flags & 8)
        return fail_at(archive, error, at, "member '%s' was streamed: its sizes stand behind it",
                       member->name);
    if (flags & ~(deflate_level | utf8))
        return fail_at(archive, error, at, "member '%s' has flags 0x%x", member->name, flags);
    if (member->method != STORED && member->method != DEFLATED)
        return fail_at(archive, error, at,
                       "member '%s' is packed by method %u: only 0 (stored) and 8 (deflated) are "
                       "read",
                       member->name, member->method);
    return true;
}

// Deflate makes at most 1032 bytes of one, so a member's size is bounded by the file's.
static bool check_sizes(const Npz *archive, const Member *member, uint64_t at, Text *error) {
    bool good = member->packed <= archive->size;
    if (member->method == STORED) good = good && member->size == member->packed;
    if (member->method == DEFLATED) good = good && member->size / 1032 <= member->packed;
    if (good) return true;
    return fail_at(archive, error, at,
                   "member '%s' has %llu bytes packed into %llu, in a file of %llu", member->name,
                   (unsigned long long)member->size, (unsigned long long)member->packed,
                   (unsigned long long)archive->size);
}

static bool check_name(const Npz *archive, const uint8_t *name, size_t length, uint64_t at,
                       Text *error) {
    if (length < 5 || length > NAME_MAX_BYTES)
        return fail_at(archive, error, at, "a member's name has %zu bytes", length);
    for (size_t i = 0; i < length; i++) {
        if (name[i] < ' ' || name[i] == '/' || name[i] == '\\')
            return fail_at(archive, error, at + i, "byte 0x%02x in a member's name", name[i]);
        if (i > 0 && name[i] == '.' && name[i - 1] == '.')
            return fail_at(archive, error, at + i, "'..' in a member's name");
    }
    if (memcmp(name + length - 4, ".npy", 4) != 0)
        return fail_at(archive, error, at, "member '%.*s' is no .npy file", (int)length,
                       (const char *)name);
    return true;
}

// Reads one entry of the directory at `*used` of its bytes.
static bool read_entry(Npz *archive, const uint8_t *directory, const Directory *where,
                       uint64_t *used, Member *out, Text *error) {
    uint64_t at = where->offset + *used;
    const uint8_t *entry = directory + *used;
    if (where->size - *used < ENTRY_SIZE || memcmp(entry, "PK\1\2", 4) != 0)
        return fail_at(archive, error, at, "no entry of the directory where one is counted");
    size_t name = get16(entry + 28), extra = get16(entry + 30), comment = get16(entry + 32);
    if (where->size - *used - ENTRY_SIZE < name + extra + comment)
        return fail_at(archive, error, at, "an entry is longer than the directory");
    if (get16(entry + 34) != 0) return fail_at(archive, error, at, "an archive in several files");
    if (!check_name(archive, entry + ENTRY_SIZE, name, at + ENTRY_SIZE, error)) return false;

    const char *file = (const char *)entry + ENTRY_SIZE;
    out->name = arena_strndup(archive->arena, file, name - 4);
    out->label = arena_printf(archive->arena, "%s:%s.npy", archive->name, out->name);
    out->method = get16(entry + 10);
    out->crc = get32(entry + 16);
    out->packed = get32(entry + 20);
    out->size = get32(entry + 24);
    out->local = get32(entry + 42);
    uint64_t *fields[3] = {&out->size, &out->packed, &out->local};
    *used += ENTRY_SIZE + name + extra + comment;
    return read_extra(archive, entry + ENTRY_SIZE + name, extra, at, fields, error) &&
           check_flags(archive, out, get16(entry + 8), at, error) &&
           check_sizes(archive, out, at, error);
}

// The local header says the same as the directory; finds where the data begins. Members lie one
// behind the other, from `*end` on, which becomes the end of this one.
static bool check_local(Npz *archive, Member *member, uint64_t limit, uint64_t *end, Text *error) {
    uint8_t local[LOCAL_SIZE];
    uint64_t at = member->local;
    if (at < *end)
        return fail_at(archive, error, at, "member '%s' begins before the one before it ends",
                       member->name);
    if (!fetch(archive, at, local, sizeof local, error)) return false;
    if (memcmp(local, "PK\3\4", 4) != 0)
        return fail_at(archive, error, at, "no local header of member '%s'", member->name);
    size_t length = get16(local + 26), extra = get16(local + 28);
    uint8_t *rest = arena_alloc(archive->arena, length + extra);
    if (!fetch(archive, at + LOCAL_SIZE, rest, length + extra, error)) return false;
    uint64_t size = get32(local + 22), packed = get32(local + 18);
    uint64_t *fields[3] = {&size, &packed, NULL};
    if (!read_extra(archive, rest + length, extra, at, fields, error)) return false;
    if (!check_flags(archive, member, get16(local + 6), at, error)) return false;
    bool same = length == strlen(member->name) + 4 && get16(local + 8) == member->method &&
                get32(local + 14) == member->crc && size == member->size &&
                packed == member->packed && memcmp(rest, member->name, length - 4) == 0 &&
                memcmp(rest + length - 4, ".npy", 4) == 0;
    if (!same)
        return fail_at(archive, error, at,
                       "the local header of member '%s' disagrees with the "
                       "directory",
                       member->name);
    member->data = at + LOCAL_SIZE + length + extra;
    if (member->data > limit || member->packed > limit - member->data)
        return fail_at(archive, error, at, "member '%s' of %llu bytes reaches into the directory",
                       member->name, (unsigned long long)member->packed);
    *end = member->data + member->packed;
    return true;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool check_unique(Npz *archive, uint64_t at, Text *error) {
    const char **names = arena_alloc(archive->arena, archive->count * sizeof *names);
    for (uint32_t i = 0; i < archive->count; i++) names[i] = archive->members[i].name;
    if (archive->count > 1) qsort(names, archive->count, sizeof *names, compare_names);
    for (uint32_t i = 1; i < archive->count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return fail_at(archive, error, at, "member '%s' stands twice", names[i]);
    return true;
}

static bool read_directory(Npz *archive, Text *error) {
    Directory where = {0};
    uint64_t end_at = 0, used = 0, data_end = 0;
    if (!find_directory(archive, &where, &end_at, error)) return false;
    if (where.offset > end_at || where.size > end_at - where.offset || where.size > DIRECTORY_MAX)
        return fail_at(archive, error, end_at, "a directory of %llu bytes at byte %llu",
                       (unsigned long long)where.size, (unsigned long long)where.offset);
    if (where.count > MEMBERS_MAX || where.count > where.size / ENTRY_SIZE)
        return fail_at(archive, error, end_at, "%llu members in a directory of %llu bytes",
                       (unsigned long long)where.count, (unsigned long long)where.size);
    uint8_t *directory = arena_alloc(archive->arena, (size_t)where.size);
    if (!fetch(archive, where.offset, directory, (size_t)where.size, error)) return false;
    archive->count = (uint32_t)where.count;
    archive->members = arena_alloc(archive->arena, archive->count * sizeof *archive->members);
    for (uint32_t i = 0; i < archive->count; i++) {
        Member *member = &archive->members[i];
        if (!read_entry(archive, directory, &where, &used, member, error)) return false;
        if (!check_local(archive, member, where.offset, &data_end, error)) return false;
    }
    if (used != where.size)
        return fail_at(archive, error, where.offset + used, "%llu bytes behind the last entry",
                       (unsigned long long)(where.size - used));
    return check_unique(archive, where.offset, error);
}

// ---- opening and reading ---------------------------------------------------------------------

static Npz *create(const char *name) {
    Arena *arena = arena_create();
    Npz *archive = arena_alloc(arena, sizeof *archive);
    archive->arena = arena;
    archive->name = arena_strdup(arena, name);
    archive->file = -1;
    return archive;
}

static bool finish_open(Npz *archive, Npz **out, Text *error) {
    if (read_directory(archive, error)) {
        *out = archive;
        return true;
    }
    npz_close(archive);
    *out = NULL;
    return false;
}

bool npz_open(const char *path, Npz **out, Text *error) {
    uint64_t size;
    *out = NULL;
    int file = file_open(path, &size, error);
    if (file < 0) return false;
    Npz *archive = create(path);
    archive->file = file;
    archive->size = size;
    return finish_open(archive, out, error);
}

bool npz_open_memory(const char *name, const void *bytes, size_t size, Npz **out, Text *error) {
    Npz *archive = create(name);
    archive->bytes = bytes;
    archive->size = size;
    return finish_open(archive, out, error);
}

void npz_close(Npz *archive) {
    if (!archive) return;
    if (archive->file >= 0) close(archive->file);
    arena_destroy(archive->arena);
}

uint32_t npz_count(const Npz *archive) {
    return archive->count;
}

const char *npz_name(const Npz *archive, uint32_t index) {
    return archive->members[index].name;
}

bool npz_find(const Npz *archive, const char *name, uint32_t *index) {
    for (uint32_t i = 0; i < archive->count; i++) {
        if (strcmp(archive->members[i].name, name) != 0) continue;
        *index = i;
        return true;
    }
    return false;
}

// Exactly `size` bytes must come out of exactly `packed`.
static bool inflate_all(const uint8_t *packed, uint64_t packed_size, uint8_t *out, uint64_t size) {
    enum { STEP = 1 << 30 };
    z_stream stream = {0};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
    uint8_t extra; // so that one byte too many is seen
    uint64_t made = 0, taken = 0;
    int status = Z_OK;
    while (status == Z_OK) {
        bool over = made == size;
        uint64_t room = over ? 1 : size - made, left = packed_size - taken;
        stream.next_in = (uint8_t *)(uintptr_t)(packed + taken);
        stream.avail_in = (uInt)(left < STEP ? left : STEP);
        stream.next_out = over ? &extra : out + made;
        stream.avail_out = (uInt)(room < STEP ? room : STEP);
        uInt in = stream.avail_in, space = stream.avail_out;
        status = inflate(&stream, Z_NO_FLUSH);
        taken += in - stream.avail_in;
        made += space - stream.avail_out;
        if (made > size) break;
    }
    inflateEnd(&stream);
    return status == Z_STREAM_END && made == size && taken == packed_size;
}

bool npz_read(const Npz *archive, uint32_t index, Npy *out, Text *error) {
    const Member *member = &archive->members[index];
    bool stored = member->method == STORED;
    *out = (Npy){0};
    uint8_t *packed = malloc(member->packed ? (size_t)member->packed : 1);
    uint8_t *plain = stored ? packed : malloc(member->size ? (size_t)member->size : 1);
    bool good = packed && plain;
    if (!good) {
        text_printf(error, "%s: no memory for %llu bytes", member->label,
                    (unsigned long long)(member->packed + member->size));
    } else {
        good = fetch(archive, member->data, packed, (size_t)member->packed, error);
    }
    if (good && !stored && !inflate_all(packed, member->packed, plain, member->size))
        good = fail_at(archive, error, member->data, "member '%s' does not unpack to %llu bytes",
                       member->name, (unsigned long long)member->size);
    if (good && crc32_z(0, plain, (size_t)member->size) != member->crc)
        good = fail_at(archive, error, member->data, "member '%s' has another checksum than 0x%08x",
                       member->name, member->crc);
    good = good && npy_read_memory(member->label, plain, (size_t)member->size, out, error);
    if (!stored) free(plain);
    free(packed);
    return good;
}
