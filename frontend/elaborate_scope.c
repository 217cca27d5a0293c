// Names in scopes, and the watch on names that nothing uses.
#include "frontend/elaborate_state.h"

#include <stdlib.h>
#include <string.h>

// ---- scopes ----

Scope *scope_create(Arena *arena, Scope *outer) {
    Scope *scope = arena_alloc(arena, sizeof *scope);
    scope->outer = outer;
    return scope;
}

static uint32_t slot_of(const Scope *scope, const char *name) {
    uint32_t mask = scope->capacity - 1;
    uint32_t slot = (uint32_t)hash_bytes(0, name, strlen(name)) & mask;
    while (scope->slots[slot] && strcmp(scope->slots[slot]->name, name) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

static void scope_grow(Arena *arena, Scope *scope) {
    scope->capacity = scope->capacity ? scope->capacity * 2 : 16;
    scope->slots = arena_alloc(arena, scope->capacity * sizeof *scope->slots);
    for (uint32_t i = 0; i < scope->names.len; i++)
        scope->slots[slot_of(scope, scope->names.at[i]->name)] = scope->names.at[i];
}

Binding *scope_find_here(const Scope *scope, const char *name) {
    return scope->capacity ? scope->slots[slot_of(scope, name)] : NULL;
}

Binding *scope_find(const Scope *scope, const char *name) {
    for (; scope; scope = scope->outer) {
        Binding *found = scope_find_here(scope, name);
        if (found) return found;
    }
    return NULL;
}

Binding *scope_add(Elab *e, Scope *scope, const char *name, Span span, BindKind kind, Item item,
                   const char *what) {
    Binding *binding = scope_find_here(scope, name);
    if (!binding) {
        if (scope->names.len * 2 >= scope->capacity) scope_grow(e->arena, scope);
        binding = arena_alloc(e->arena, sizeof *binding);
        binding->name = name;
        binding->number = e->bindings++;
        scope->slots[slot_of(scope, name)] = binding;
        vec_push(e->arena, &scope->names, binding);
    }
    binding->span = span;
    binding->kind = kind;
    binding->item = item;
    binding->site = what ? site_at(e, span, what, name) : NULL;
    return binding;
}

Binding *scope_define(Elab *e, const Word *name, BindKind kind, Item item, const char *what) {
    Binding *old = scope_find_here(e->scope, name->text);
    if (old && old->kind != BIND_LOST) {
        item = elab_error_noted(e, name->span, old->span, "it was defined here",
                                "%s is defined already", name->text);
    }
    return scope_add(e, e->scope, name->text, name->span, kind, item, what);
}

// ---- suggestions ----

const char *scope_nearest(Elab *e, const Scope *scope, const char *name) {
    VEC(const char *) names = {0};
    for (; scope; scope = scope->outer)
        for (uint32_t i = 0; i < scope->names.len && names.len < LIST_MAX; i++)
            vec_push(e->arena, &names, scope->names.at[i]->name);
    vec_push(e->arena, &names, NULL);
    return elab_nearest(name, names.at);
}

// Any one-letter name is near any other; that is no help.
const char *elab_nearest(const char *name, const char *const *names) {
    return strlen(name) > 1 ? nearest_name(name, names) : NULL;
}

// ---- unused names ----
// A body is elaborated at each call; a name in it is unused if no elaboration uses it.

struct SiteMap {
    VEC(Site *) all;
    Site **slots; // by position in the file
    uint32_t capacity;
};

static uint32_t site_slot(const SiteMap *map, uint32_t begin) {
    uint32_t mask = map->capacity - 1;
    uint32_t slot = (uint32_t)hash_bytes(1, &begin, sizeof begin) & mask;
    while (map->slots[slot] && map->slots[slot]->span.begin != begin) slot = (slot + 1) & mask;
    return slot;
}

Site *site_at(Elab *e, Span span, const char *what, const char *name) {
    if (e->dump || name[0] == '_') return NULL;
    if (!e->sites) e->sites = arena_alloc(e->arena, sizeof *e->sites);
    SiteMap *map = e->sites;
    if (map->all.len * 2 >= map->capacity) {
        map->capacity = map->capacity ? map->capacity * 2 : 64;
        map->slots = arena_alloc(e->arena, map->capacity * sizeof *map->slots);
        for (uint32_t i = 0; i < map->all.len; i++)
            map->slots[site_slot(map, map->all.at[i]->span.begin)] = map->all.at[i];
    }
    Site **slot = &map->slots[site_slot(map, span.begin)];
    if (!*slot) {
        *slot = arena_alloc(e->arena, sizeof **slot);
        **slot = (Site){.span = span, .what = what, .name = name};
        vec_push(e->arena, &map->all, *slot);
    }
    return *slot;
}

void sites_report(Elab *e) {
    for (uint32_t i = 0; e->sites && i < e->sites->all.len; i++) {
        const Site *site = e->sites->all.at[i];
        if (!site->used)
            diag_warning(e->diags, site->span, "%s %s is never used", site->what, site->name);
    }
}
