#include "trace/pause_rows.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "trace/event_args.h"

namespace kinetograph::trace {

namespace {

constexpr std::string_view track_name = "recording", paused = "Recording paused";

Track pause_track(int64_t tid) {
    Track track;
    track.tid = std::to_string(tid);
    track.sort_index = track.tid;
    track.name = track_name;
    return track;
}

void write_pause_event(RowWriter& rows, std::string_view name, int64_t at_ns, int64_t paused_ns) {
    const size_t row = rows.add_row();
    Trace& trace = rows.trace();
    trace.start_ns[row] = at_ns;
    trace.name[row] = trace.strings.intern(name);
    trace.track[row] = uint32_t(trace.tracks.size() - 1);
    trace.category[row] = uint8_t(Category::cpu_instant_event);
    trace.kind[row] = uint8_t(EventKind::instant);
    rows.write_args(row, "\"paused_ns\":" + std::to_string(paused_ns));
}

Note pause_note(size_t count, int64_t paused_ns) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "recording was paused %zu time%s, %.3f ms in all: nothing of that is here", count,
                  count == 1 ? "" : "s", double(paused_ns) / 1e6);
    return {"paused", text};
}

}  // namespace

bool write_pauses(const record::Recording& recording, int64_t tid, RowWriter& rows) {
    size_t count = 0;
    int64_t paused_ns = 0;
    for (const record::Window& pause : recording.pauses) {
        const record::Window seen{std::max(pause.begin, recording.window.begin),
                                  std::min(pause.end, recording.window.end)};
        if (seen.begin > seen.end) continue;  // a ring has passed it
        if (count++ == 0) rows.trace().tracks.push_back(pause_track(tid));
        const int64_t length_ns = rows.wall(seen.end) - rows.wall(seen.begin);
        paused_ns += length_ns;
        write_pause_event(rows, paused, rows.wall(seen.begin), length_ns);
        if (pause.end <= recording.window.end)
            write_pause_event(rows, "Recording resumed", rows.wall(seen.end), length_ns);
    }
    if (count == 0) return false;
    rows.trace().notes.push_back(pause_note(count, paused_ns));
    return true;
}

std::vector<Pause> pauses_of(const Trace& trace) {
    std::vector<Pause> pauses;
    const auto is_ours = [](const Track& track) { return track.name == track_name; };
    if (std::none_of(trace.tracks.begin(), trace.tracks.end(), is_ours)) return pauses;
    each_row(trace, [&](size_t row) {
        if (!is_ours(trace.tracks[trace.track[row]]) || trace.strings[trace.name[row]] != paused) return;
        const int64_t length_ns = integer_argument(trace.args_of(row), "paused_ns");
        pauses.push_back({trace.start_ns[row], trace.start_ns[row] + length_ns});
    });
    return pauses;
}

}  // namespace kinetograph::trace
