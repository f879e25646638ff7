// The numbers of Perfetto's protobuf fields that we write or read, by message.
#pragma once

#include <cstdint>
#include <string_view>

namespace kinetograph::format::perfetto {

namespace trace_file {
inline constexpr uint32_t packet = 1;
}
namespace packet {
inline constexpr uint32_t clock_snapshot = 6, timestamp = 8, sequence_id = 10, track_event = 11,
                          interned_data = 12, sequence_flags = 13, compressed = 50, clock_id = 58,
                          defaults = 59, track_descriptor = 60, first_on_sequence = 87;
inline constexpr uint64_t state_cleared = 1, needs_state = 2;  // of sequence_flags
}  // namespace packet
namespace defaults {
inline constexpr uint32_t track_event = 11, clock_id = 58;
}
namespace clock_snapshot {
inline constexpr uint32_t clocks = 1, primary = 2;
}
namespace clock {
inline constexpr uint32_t id = 1, timestamp = 2, is_incremental = 3, unit_ns = 4;
// Ids from first_private up to last_private mean something in one sequence only.
inline constexpr uint64_t realtime = 1, boottime = 6, first_private = 64, last_private = 127;
}  // namespace clock
namespace interned {
inline constexpr uint32_t categories = 1, names = 2, annotation_names = 3, annotation_strings = 29;
inline constexpr uint32_t iid = 1, text = 2;  // of each entry
}  // namespace interned
namespace track {
inline constexpr uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8,
                          child_ordering = 11, rank = 12, merge_behavior = 15;
inline constexpr uint64_t explicit_order = 3, merge_none = 2;
}  // namespace track
namespace process {
inline constexpr uint32_t pid = 1, name = 6, labels = 8;
}
namespace thread {
inline constexpr uint32_t pid = 1, tid = 2, name = 5;
}
namespace event {
inline constexpr uint32_t category_iids = 3, annotations = 4, type = 9, name_iid = 10, track_uuid = 11,
                          extra_values = 12, categories = 22, name = 23, counter_value = 30,
                          extra_tracks = 31, real_counter_value = 44, extra_real_tracks = 45,
                          extra_real_values = 46, flow_ids = 47, ended_flow_ids = 48;
inline constexpr uint64_t begin = 1, end = 2, instant = 3, counter = 4;  // of type
}  // namespace event
namespace annotation {
inline constexpr uint32_t name_iid = 1, boolean = 2, natural = 3, integer = 4, real = 5, text = 6,
                          pointer = 7, nested = 8, json = 9, name = 10, members = 11, elements = 12,
                          text_iid = 17;
inline constexpr uint32_t nested_type = 1, nested_keys = 2;  // of nested
inline constexpr uint64_t nested_object = 1;
inline constexpr int deepest = 100;  // values that lie deeper are written as JSON
}  // namespace annotation

// What our files say of themselves stands in the arguments of one instant, on a track of its own.
namespace about {
inline constexpr std::string_view track = "kinetograph", version = "version", notes = "notes",
                                  metadata = "metadata", devices = "deviceProperties", rows = "rows",
                                  base_time = "baseTimeNanoseconds", window_start = "window_start_ns",
                                  window_end = "window_end_ns", links = "links", shift = "shift_ns",
                                  events = "events";
inline constexpr int64_t newest_version = 1;
}  // namespace about

}  // namespace kinetograph::format::perfetto
