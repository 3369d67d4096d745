// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Faults: an access to a page that was closed beside a block, or with it after its free, comes here as a signal of the
// faulting instruction. It is told which block is meant and what is wrong. With on_misuse=continue the page is opened and the
// program goes on.
//
// Runs in the handler of SIGSEGV and SIGBUS: no allocation, no lock but that of the solo zones (zone.h) and, in a report, that of
// reports; records are read as they are.
#include "check/zone.h"

#include "base/options.h"
#include "os/os.h"

static size_t distance(const lido__checked *record, const char *p) {
    if (p < record->block) return (size_t)(record->block - p);
    const char *end = record->block + record->bytes;
    return p < end ? 0 : (size_t)(p - end);
}

static bool was_used(const lido__checked *record) { return lido__checked_state(record) != LIDO__CHECK_FREE; }

// Behind one block is before the next: the nearer one is meant.
static lido__checked *meant(lido__zone *zone, const char *p) {
    lido__checked *record = lido__zone_record(zone, p), *last = &zone->records[zone->slot_count - 1];
    if (record == last || !was_used(record + 1)) return record;
    if (!was_used(record)) return record + 1;
    return distance(record + 1, p) < distance(record, p) ? record + 1 : record;
}

static const char *what_is_wrong(const lido__checked *record, const char *p, bool write) {
    switch (lido__checked_state(record)) {
        case LIDO__CHECK_RESTING:
        case LIDO__CHECK_BUSY: return write ? "write after free" : "read after free";
        case LIDO__CHECK_FREE: return write ? "write where no block is" : "read where no block is";
        default: break;
    }
    if (p < record->block) return write ? "write before the start" : "read before the start";
    return write ? "write behind the end" : "read behind the end";
}

static bool on_fault(void *address, bool write, const void *context) {
    lido__zone *zone = lido__zone_of(address);
    if (zone == NULL || zone->memory == NULL) return false;
    lido__checked *record = meant(zone, address);
    lido__finding finding = {.what = what_is_wrong(record, address, write),
                             .address = address,
                             .record = was_used(record) ? record : NULL,
                             .context = context,
                             .claimed_bytes = SIZE_MAX};
    lido__check_report(&finding);
    size_t page = lido__os_page_bytes();
    return lido__os_commit((void *)lido__round_down((uintptr_t)address, page), page);
}

void lido__check_watch_faults(void) {
    static _Atomic uint32_t watching;
    if (LIDO_LIKELY(LIDO__ATOMIC_LOAD(&watching, relaxed) != 0)) return;    // once is enough; twice does no harm
    if (LIDO__ATOMIC_EXCHANGE(&watching, 1u, relaxed) == 0) lido__os_watch_faults(on_fault);
}
