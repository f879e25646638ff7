#include "format/perfetto_places.h"

#include "format/json_text.h"
#include "format/kineto_words.h"

namespace kinetograph::format::perfetto {

namespace {

// Tracks that belong to no process.
constexpr const char* no_process = "\"tracks\"";
constexpr int longest_line_of_parents = 64;

}  // namespace

void Places::read_process(const ProtoField& message, Track& track) {
    ProtoReader reader(message);
    track.process_pid = 0;
    for (ProtoField field; reader.next(field);) {
        if (field.number == process::pid) track.process_pid = field.value;
        if (field.number == process::name) track.process_name = text_of(field);
        if (field.number == process::labels) track.labels = text_of(field);
    }
}

void Places::read_thread(const ProtoField& message, Track& track) {
    ProtoReader reader(message);
    track.pid = track.tid = 0;
    for (ProtoField field; reader.next(field);) {
        if (field.number == thread::pid) track.pid = field.value;
        if (field.number == thread::tid) track.tid = field.value;
        if (field.number == thread::name) track.thread_name = text_of(field);
    }
}

Places::Track Places::read(const ProtoField& descriptor, uint64_t& uuid) {
    Track track;
    ProtoReader reader(descriptor);
    for (ProtoField field; reader.next(field);) {
        if (field.number == track::uuid) uuid = field.value;
        if (field.number == track::name) track.name = text_of(field);
        if (field.number == track::parent) track.parent = field.value;
        if (field.number == track::process && !field.is_number()) read_process(field, track);
        if (field.number == track::thread && !field.is_number()) read_thread(field, track);
    }
    return track;
}

// The first word counts: a descriptor may come again, but what was read under it cannot move.
void Places::describe(const ProtoField& descriptor) {
    uint64_t uuid = 0;
    Track track = read(descriptor, uuid);
    if (track.process_pid) processes_.try_emplace(std::to_string(*track.process_pid), uuid);
    tracks_.try_emplace(uuid, std::move(track));
}

bool Places::is_about(uint64_t uuid) const {
    return name_of(uuid) == about::track;
}

const std::string& Places::name_of(uint64_t uuid) const {
    static const std::string none;
    const auto found = tracks_.find(uuid);
    return found == tracks_.end() ? none : found->second.name;
}

void Places::number_tracks() {
    first_numbered_ = 1 + filler_.trace().processes.size();
    last_numbered_ = filler_.trace().processes.size() + filler_.trace().tracks.size();
    places_.clear();
}

const Place& Places::of(uint64_t uuid) {
    const auto found = places_.find(uuid);
    if (found != places_.end()) return found->second;
    return places_.emplace(uuid, find(uuid)).first->second;
}

Place Places::find(uint64_t uuid) {
    for (uint64_t at = uuid, steps = 0; steps < longest_line_of_parents; ++steps) {
        if (last_numbered_ != 0 && at >= first_numbered_ && at <= last_numbered_) {
            const trace::Track& track = filler_.trace().tracks[at - first_numbered_];
            return {filler_.trace().processes[track.process].pid, track.tid};
        }
        const auto found = tracks_.find(at);
        if (found == tracks_.end() || last_numbered_ == 0) break;
        at = found->second.parent;
    }
    return foreign(uuid);
}

std::string Places::pid_of(uint64_t uuid) const {
    for (int steps = 0; steps < longest_line_of_parents; ++steps) {
        const auto found = tracks_.find(uuid);
        if (found == tracks_.end()) break;
        const Track& track = found->second;
        if (track.pid) return std::to_string(*track.pid);
        if (track.process_pid) return std::to_string(*track.process_pid);
        uuid = track.parent;
    }
    return no_process;
}

Place Places::foreign(uint64_t uuid) {
    const auto found = tracks_.find(uuid);
    const Track track = found == tracks_.end() ? Track{} : found->second;
    Place place;
    place.pid = pid_of(uuid);
    place.tid = track.tid           ? std::to_string(*track.tid)
                : track.process_pid ? std::to_string(0)
                                    : quoted("track " + std::to_string(uuid));
    if (const auto process = processes_.find(place.pid); process != processes_.end()) {
        const Track& described = tracks_[process->second];
        name("process_name", place, described.process_name);
        name("process_labels", place, described.labels);
    }
    const std::string& shown = track.tid ? track.thread_name : track.name;
    name(shown.empty() ? unnamed_thread : "thread_name", place, shown);
    return place;
}

void Places::name(std::string_view what, const Place& place, const std::string& text) {
    if (text.empty() && what != unnamed_thread) return;
    ParsedEvent event;
    event.phase = 'M';
    event.name.inside = what;
    event.pid = place.pid;
    event.tid = place.tid;
    event.label = StringToken{text, true};
    filler_.add(event);
}

}  // namespace kinetograph::format::perfetto
