// What any schedule must keep to before a family looks at it: plans are also written by hand.
#include "passes/lower.h"
#include "passes/schedule.h"

#include <string.h>

enum { CHECK_ITEMS_MAX = 64, CHECK_TILE_MAX = 1024, CHECK_ROWS_MAX = 1024 };

static bool check_power(uint32_t value) {
    return (value & (value - 1)) == 0;
}

static bool check_wide(const Schedule *s) { // form skinny moves words of several elements
    return s->form && strcmp(s->form, "skinny") == 0 && (s->vec == 8 || s->vec == 16);
}

const char *schedule_refused(const Schedule *s, const Target *target) {
    uint32_t most = target->max_invocations < target->max_local_x ? target->max_invocations
                                                                  : target->max_local_x;
    if (s->local < 1 || s->local > most) return "local must be what the target's limits allow";
    if (s->vec != 0 && s->vec != 1 && s->vec != 2 && s->vec != 4 && !check_wide(s))
        return "vec must be 1, 2 or 4";
    if (s->items > CHECK_ITEMS_MAX || s->unroll > CHECK_ITEMS_MAX)
        return "items and unroll are at most 64";
    if (s->tile_m > CHECK_TILE_MAX || s->tile_n > CHECK_TILE_MAX || s->tile_k > CHECK_TILE_MAX)
        return "a tile's sides are at most 1024";
    if (s->rows > CHECK_ROWS_MAX || s->keep > 2) return "rows are at most 1024, keep is 0, 1 or 2";
    if (s->subgroup && (!check_power(s->subgroup) || s->subgroup < target->subgroup_min ||
                        s->subgroup > target->subgroup_max || s->local % s->subgroup != 0))
        return "subgroup must be a size of the target and divide local";
    return NULL;
}

bool lower_check_schedule(Lower *l, const Schedule *s, const Target *target) {
    const char *wrong = schedule_refused(s, target);
    if (wrong) lower_fail(l, "%s", wrong);
    return !wrong;
}
