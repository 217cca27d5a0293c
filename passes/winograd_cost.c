// Which form of a convolution is fastest: by the products that each makes and the bytes that each
// moves, at the rates of the target's profile.
#include <math.h>
#include <string.h>

#include "passes/product_cost.h"
#include "passes/winograd.h"

// Errors against the direct form that are let pass unasked (winograd_error).
enum { ERROR_MOST_16 = 8, ERROR_MOST_32 = 10 };

// Winograd's form must take at most this much of the direct form's time, as it takes memory too.
static const double worth_it = 0.9;

// Shares, sizes and times that were fitted to products and convolutions on an H200. Of the rate of
// products, what remains where one operand is read through windows: into registers, into fragments
// along channels, and one by one.
static const double share_scalar = 0.65, share_fragments = 0.65, share_apart = 0.35;
static const double transform_start = 3; // microseconds, besides its dispatch
// Of the rate of moves, what transforms reach: along tiles, and along channels (next to fragments).
static const double share_tiles = 0.85, share_channels = 0.35;
enum {
    ELEMENTS_UNIT = 4096, // results that a compute unit works on at a time
    RESULTS_SIDE = 16,    // results come in squares of so many rows
    DEPTH_START = 48,     // what starting and ending a sum costs, in its terms
    DEPTH_PART = 1152,    // of sums of fragments that fill a device by being split
};

enum { TILES_MORE = 8, NUMBERS_SPARE = 1 << 20 }; // tiles of zeros, invocations past the last

typedef struct Sizes {
    double images, groups, inner, outer, input, output; // input, output: pixels
} Sizes;

// What products with fragments read has its channels last (passes/layout.h), unless the host gave
// it.
static bool has_channels_apart(const WinogradSite *site) {
    return site->dtype == DT_F32 || site->given;
}

static double share_windows(const WinogradSite *site) {
    if (site->dtype == DT_F32) return share_scalar;
    return has_channels_apart(site) ? share_apart : share_fragments;
}

// Microseconds of `batch` products of m x k by k x n, and of moving so many bytes meanwhile.
static double product_time(const WinogradSite *site, double share, double batch, double m, double n,
                           double k, double bytes) {
    const Target *target = site->ctx->target;
    double results =
        batch * ceil(m / RESULTS_SIDE) * ceil(n / RESULTS_SIDE) * RESULTS_SIDE * RESULTS_SIDE;
    double rate = target_product(target, site->dtype)->along_n * share;
    double parts = site->dtype == DT_F32 ? 1 : fmax(1, k / DEPTH_PART);
    double filled = 1 + (double)ELEMENTS_UNIT * target->compute_units / (results * parts);
    double work = 2 * results * (k + DEPTH_START) / (rate * 1e6) * filled;
    return fmax(work, cost_move(target, bytes)) + cost_dispatch(target);
}

static double moving_time(const WinogradSite *site, double bytes) {
    double share = has_channels_apart(site) ? share_tiles : share_channels;
    double moving = cost_move(site->ctx->target, bytes) / share;
    return moving + cost_dispatch(site->ctx->target) + transform_start;
}

static Sizes sizes_of(const WinogradSite *site, CostEnd end) {
    Sizes s = {.images = cost_size(site->dims, site->images, end),
               .groups = cost_size(site->dims, site->groups, end),
               .inner = cost_size(site->dims, site->inner, end),
               .outer = cost_size(site->dims, site->outer, end),
               .input = 1,
               .output = 1};
    for (unsigned i = 0; i < site->axes; i++) {
        s.input *= cost_size(site->dims, site->input[i], end);
        s.output *= cost_size(site->dims, site->output[i], end);
    }
    return s;
}

static double direct_time(const WinogradSite *site, CostEnd end) {
    Sizes s = sizes_of(site, end);
    double bytes = dtype_bytes(site->dtype), taps = pow(WINOGRAD_TAPS, site->axes);
    double image = s.images * s.groups * (s.inner * s.input + s.outer * s.output);
    return product_time(site, share_windows(site), s.groups, s.outer, s.images * s.output,
                        s.inner * taps, bytes * image);
}

static double winograd_time(const WinogradSite *site, const Winograd *w, bool wide, CostEnd end) {
    Sizes s = sizes_of(site, end);
    double bytes = dtype_bytes(site->dtype), products = wide ? 4 : bytes;
    double places = pow(w->size, site->axes), tiles = s.images;
    for (unsigned i = 0; i < site->axes; i++)
        tiles *= cost_size(site->dims, winograd_count(site, w->tile, i), end);
    double in = places * s.groups * s.inner * tiles * bytes;
    double out = places * s.groups * s.outer * tiles * products;
    double weight = places * s.groups * s.outer * s.inner * bytes;
    double image = s.images * s.groups * bytes;
    double time =
        moving_time(site, image * s.inner * s.input + in) +
        moving_time(site, image * s.outer * s.output + out) +
        product_time(site, 1, places * s.groups, s.outer, tiles, s.inner, in + out + weight);
    return site->weights_known ? time : time + moving_time(site, 2 * weight);
}

// Of sizes known at run time only, both ends count the same.
static double middle(double least, double most) {
    return sqrt(least * most);
}

static double largest(const WinogradSite *site, Dim size) {
    return (double)dim_bounds(site->dims, size).hi;
}

// The most tiles that there may be, of all images.
static double most_tiles(const WinogradSite *site, const Winograd *w) {
    double tiles = largest(site, site->images);
    for (unsigned i = 0; i < site->axes; i++)
        tiles *= largest(site, winograd_count(site, w->tile, i));
    return tiles * largest(site, site->groups);
}

// Bytes of the larger of the two transformed tensors.
static double largest_copy(const WinogradSite *site, const Winograd *w, bool wide) {
    double in = largest(site, site->inner) * dtype_bytes(site->dtype);
    double out = largest(site, site->outer) * (wide ? 4 : (double)dtype_bytes(site->dtype));
    return pow(w->size, site->axes) * most_tiles(site, w) * fmax(in, out);
}

// Whether the tiles of all channels can be numbered in 32 bits.
static bool can_be_numbered(const WinogradSite *site, const Winograd *w) {
    double channels = fmax(largest(site, site->inner), largest(site, site->outer));
    return (most_tiles(site, w) + TILES_MORE) * channels < INT32_MAX - NUMBERS_SPARE;
}

// Whether products must be kept in f32 for the error to stay within bounds.
static bool wants_wide(const WinogradSite *site, const Winograd *w) {
    return site->dtype != DT_F32 && winograd_error(w, site->axes, false) > ERROR_MOST_16;
}

static const char *form_name(Arena *arena, const WinogradSite *site, unsigned tile) {
    if (site->axes == 1) return arena_printf(arena, "F(%u, 3)", tile);
    return arena_printf(arena, "F(%ux%u, 3x3)", tile, tile);
}

static const char *describe(Arena *arena, const WinogradSite *site, const Winograd *w, bool wide,
                            const char *why) {
    const char *most = site->dtype == DT_F32 ? "at most " : "";
    return arena_printf(arena, "Winograd %s%s: %s; error %s%.2g times the direct form's",
                        form_name(arena, site, w->tile), wide ? ", products kept in f32" : "", why,
                        most, winograd_error(w, site->axes, wide));
}

// The tile that the option asks for by name; 0: none.
static unsigned forced_tile(const char *mode) {
    return strcmp(mode, "f2") == 0   ? 2
           : strcmp(mode, "f4") == 0 ? 4
           : strcmp(mode, "f6") == 0 ? 6
                                     : 0;
}

static WinogradChoice choose_by_time(Arena *arena, const WinogradSite *site) {
    WinogradChoice choice = {0};
    double direct = middle(direct_time(site, COST_LEAST), direct_time(site, COST_MOST));
    double best = direct * worth_it, other = INFINITY;
    unsigned nearest = 0;
    for (unsigned tile = 2; tile <= 4; tile += 2) {
        Winograd w;
        winograd_matrices(tile, &w);
        bool wide = wants_wide(site, &w);
        double most = site->dtype == DT_F32 ? ERROR_MOST_32 : ERROR_MOST_16;
        if (winograd_error(&w, site->axes, wide) > most) continue;
        if (largest_copy(site, &w, wide) > (double)site->ctx->max_workspace ||
            !can_be_numbered(site, &w))
            continue;
        double time = middle(winograd_time(site, &w, wide, COST_LEAST),
                             winograd_time(site, &w, wide, COST_MOST));
        if (time < other) other = time, nearest = tile;
        if (time >= best) continue;
        best = time;
        choice.tile = tile, choice.wide_products = wide;
    }
    if (choice.tile) {
        Winograd w;
        winograd_matrices(choice.tile, &w);
        const char *why = arena_printf(arena, "about %.3g us, implicit product %.3g", best, direct);
        choice.reason = describe(arena, site, &w, choice.wide_products, why);
    } else if (nearest) {
        choice.reason = arena_printf(arena, "implicit product: about %.3g us, Winograd %s %.3g",
                                     direct, form_name(arena, site, nearest), other);
    } else {
        choice.reason = "implicit product: Winograd would take more than --max-workspace";
    }
    return choice;
}

WinogradChoice winograd_choose(Arena *arena, const WinogradSite *site) {
    const char *mode = site->ctx->winograd;
    const Target *target = site->ctx->target;
    unsigned forced = forced_tile(mode);
    if (site->ctx->strict_rounding)
        return (WinogradChoice){.reason = "implicit product: --strict-rounding"};
    if (strcmp(mode, "off") == 0)
        return (WinogradChoice){.reason = "implicit product: --winograd=off"};
    if (forced) {
        Winograd w;
        winograd_matrices(forced, &w);
        bool wide = wants_wide(site, &w);
        if (!can_be_numbered(site, &w))
            return (WinogradChoice){.reason = "implicit product: too many tiles for Winograd"};
        return (WinogradChoice){forced, wide, describe(arena, site, &w, wide, "asked for")};
    }
    if (!cost_is_known(target, site->dtype) || !target->compute_units)
        return (WinogradChoice){.reason = "implicit product: the target's rates are not known"};
    return choose_by_time(arena, site);
}
