#include "record/losses.h"

#include <cstdio>

namespace kinetograph::record {

void add_loss_notes(Notes& notes, const Losses& losses, const char* why_dropped) {
    add_count(notes, "dropped", losses.dropped, std::string("events were dropped: ") + why_dropped);
    add_count(notes, "unbalanced", losses.unbalanced,
              "scopes ended without having begun in this session and thread");
    add_count(notes, "too_deep", losses.too_deep, "scopes were nested too deeply to be recorded");
    add_count(notes, "oversized", losses.oversized,
              "events lost their arguments, which were larger than 60 KiB");
}

void add_ring_note(Notes& notes, double kept_ns, double whole_ns) {
    char text[128];
    std::snprintf(text, sizeof text, "the newest %.3g s of %.3g s are here: a ring lets go of what is older",
                  kept_ns / 1e9, whole_ns / 1e9);
    notes.emplace_back("ring", text);
}

void add_name_notes(Notes& notes, uint64_t refused, uint64_t shortened) {
    add_count(notes, "names", refused,
              "events lost their name: too many distinct names for the memory limit");
    add_count(notes, "names", shortened, "names were longer than 32 KiB and were cut");
}

void add_other_threads_note(Notes& notes, uint64_t scopes) {
    add_count(
        notes, "threads", scopes,
        "scopes of other threads were not recorded: this session is of chosen threads, all_threads=True "
        "records all");
}

}  // namespace kinetograph::record
