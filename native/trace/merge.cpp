#include "trace/merge.h"

#include <algorithm>
#include <utility>

namespace kinetograph::trace {

namespace {

// Above every process and thread of Linux, apart from what other parts make up, below 2^31.
constexpr int64_t first_made_up_pid = 1'200'000'000;
constexpr int64_t first_made_up_tid = 1'300'000'000;

bool is_device(const Trace& trace, uint32_t process) {
    bool has_device = false;
    for (const Track& track : trace.tracks) {
        if (track.process != process) continue;
        if (track.device_type == 0) return false;
        has_device = true;
    }
    return has_device;
}

std::string without_digits(const Note& note) {
    std::string text = note.kind + '\0';
    for (const char c : note.text)
        if (c < '0' || c > '9') text += c;
    return text;
}

// Appends `n` rows to a column that not every trace has.
template <class T, class Value>
void append_optional(Trace& merged, Column<T>& column, const Column<T>& source, T filler, size_t rows,
                     Value&& value_of) {
    if (source.empty() && column.empty()) return;
    merged.fill(column, filler);
    column.reserve(column.size() + rows);
    for (size_t i = 0; i < rows; ++i) column.push_back(source.empty() ? filler : value_of(i));
}

// Two JSON arrays as one.
std::string joined(const std::string& a, const std::string& b) {
    if (b == "[]" || a == b) return a;
    if (a == "[]") return b;
    return a.substr(0, a.size() - 1) + "," + b.substr(1);
}

}  // namespace

void Merger::append(const Trace& source, const Origin& origin) {
    ++sources_;
    const Mapping mapping = map(source, origin);
    append_tracks(source, mapping);
    append_rows(source, mapping);
    append_text(source);
    merge_header(source);
    fold_notes(source, origin);
}

Merger::Mapping Merger::map(const Trace& source, const Origin& origin) {
    Mapping mapping{};
    mapping.first_track = uint32_t(merged_.tracks.size());
    mapping.first_row = merged_.size();
    mapping.first_text = merged_.args_text.size();
    mapping.correlations_before = last_correlation_;
    mapping.sequences_before = last_sequence_ + 1;
    for (uint32_t id = 0; id < source.strings.size(); ++id)
        mapping.names.push_back(merged_.strings.intern(source.strings[id]));
    for (const std::string& name : source.categories) mapping.categories.push_back(merged_.category_id(name));
    for (uint32_t i = 0; i < source.processes.size(); ++i)
        mapping.processes.push_back(process(source, i, origin));
    return mapping;
}

// ---- processes and tracks

uint32_t Merger::process(const Trace& source, uint32_t index, const Origin& origin) {
    const Process& process = source.processes[index];
    KnownProcess next{
        process.pid, origin, source.window_start_ns, source.window_end_ns, is_device(source, index), false};
    std::vector<uint32_t>& namesakes = by_pid_[process.pid];
    for (const uint32_t known : namesakes) {
        if (!continues(known_[known], next)) continue;
        continue_process(known, process, next.end_ns);
        return known;
    }
    const auto number = uint32_t(merged_.processes.size());
    next.is_renamed = !namesakes.empty();
    namesakes.push_back(number);
    merged_.processes.push_back(process);
    if (next.is_renamed) merged_.processes.back().pid = free_pid(process.pid);
    known_.push_back(std::move(next));
    return number;
}

bool Merger::continues(const KnownProcess& known, const KnownProcess& next) const {
    if (known.is_device || next.is_device || known.origin.host != next.origin.host) return false;
    return known.end_ns != 0 && next.end_ns != 0 &&
           (known.end_ns <= next.start_ns || next.end_ns <= known.start_ns);
}

void Merger::continue_process(uint32_t index, const Process& next, int64_t end_ns) {
    Process& process = merged_.processes[index];
    if (process.name != next.name) process.name += ", then " + next.name;
    known_[index].end_ns = std::max(known_[index].end_ns, end_ns);
}

std::string Merger::free_pid(const std::string& pid) {
    for (next_pid_ = std::max(next_pid_, first_made_up_pid);; ++next_pid_) {
        std::string made_up = std::to_string(next_pid_);
        if (made_up == pid || !by_pid_.try_emplace(made_up).second) continue;
        by_pid_[made_up].push_back(uint32_t(merged_.processes.size() - 1));
        return made_up;
    }
}

std::string Merger::free_tid(uint32_t process, const std::string& tid) {
    const std::string place = std::to_string(process) + '/';
    if (tids_.insert(place + tid).second) return tid;
    for (next_tid_ = std::max(next_tid_, first_made_up_tid);; ++next_tid_) {
        std::string made_up = std::to_string(next_tid_);
        if (tids_.insert(place + made_up).second) return made_up;
    }
}

void Merger::append_tracks(const Trace& source, const Mapping& mapping) {
    for (const Track& track : source.tracks) {
        Track& own = merged_.tracks.emplace_back(track);
        own.process = mapping.processes[track.process];
        own.tid = free_tid(own.process, track.tid);
        if (track.parent >= 0) own.parent = int32_t(mapping.first_track) + track.parent;
    }
}

// ---- rows

void Merger::append_rows(const Trace& source, const Mapping& mapping) {
    for (size_t begin = 0; begin < source.size(); begin += rows_between_drops) {
        const size_t end = std::min(begin + rows_between_drops, source.size());
        append_stretch(source, mapping, begin, end);
        source.drop_pages(begin, end);
        merged_.drop_pages(mapping.first_row + begin, mapping.first_row + end);
    }
}

void Merger::append_stretch(const Trace& source, const Mapping& mapping, size_t begin, size_t end) {
    append_links(source, mapping, begin, end);  // before the rows: an optional column is filled up to here
    const size_t rows = end - begin;
    merged_.start_ns.append(source.start_ns.data() + begin, rows);
    merged_.duration_ns.append(source.duration_ns.data() + begin, rows);
    merged_.kind.append(source.kind.data() + begin, rows);
    merged_.scope.append(source.scope.data() + begin, rows);
    merged_.flags.append(source.flags.data() + begin, rows);
    for (size_t row = begin; row < end; ++row) {
        merged_.name.push_back(mapping.names[source.name[row]]);
        merged_.track.push_back(mapping.first_track + source.track[row]);
        merged_.category.push_back(mapping.categories[source.category[row]]);
    }
}

void Merger::append_links(const Trace& source, const Mapping& mapping, size_t begin, size_t end) {
    const size_t rows = end - begin;
    append_optional<int64_t>(merged_, merged_.correlation, source.correlation, 0, rows, [&](size_t i) {
        const int64_t own = source.correlation[begin + i];
        if (own <= 0) return own;
        last_correlation_ = std::max(last_correlation_, own + mapping.correlations_before);
        return own + mapping.correlations_before;
    });
    append_optional<int64_t>(merged_, merged_.sequence, source.sequence, -1, rows, [&](size_t i) {
        const int64_t own = source.sequence[begin + i];
        if (own < 0) return own;
        last_sequence_ = std::max(last_sequence_, own + mapping.sequences_before);
        return own + mapping.sequences_before;
    });
    append_optional<uint32_t>(merged_, merged_.record_function, source.record_function, 0, rows,
                              [&](size_t i) { return source.record_function[begin + i]; });
    append_optional<int32_t>(merged_, merged_.link, source.link, -1, rows, [&](size_t i) {
        const int32_t own = source.link[begin + i];
        return own < 0 ? own : int32_t(mapping.first_row) + own;
    });
    append_optional<TextRange>(merged_, merged_.args, source.args, TextRange{}, rows, [&](size_t i) {
        const TextRange own = source.args[begin + i];
        return TextRange{own.offset + mapping.first_text, own.length};
    });
}

void Merger::append_text(const Trace& source) {
    constexpr size_t piece = size_t(8) << 20;
    for (size_t begin = 0; begin < source.args_text.size(); begin += piece) {
        const size_t bytes = std::min(piece, source.args_text.size() - begin);
        merged_.args_text.append(source.args_text.data() + begin, bytes);
        source.args_text.drop_pages(begin, begin + bytes);
        merged_.args_text.drop_pages(0, merged_.args_text.size());
    }
}

// ---- what stands around the rows

void Merger::merge_header(const Trace& source) {
    if (source.window_end_ns != 0) {
        const bool is_first = merged_.window_end_ns == 0;
        merged_.window_start_ns =
            is_first ? source.window_start_ns : std::min(merged_.window_start_ns, source.window_start_ns);
        merged_.window_end_ns = std::max(merged_.window_end_ns, source.window_end_ns);
    }
    for (const auto& member : source.metadata) {
        const auto same_key = [&](const auto& known) { return known.first == member.first; };
        if (std::none_of(merged_.metadata.begin(), merged_.metadata.end(), same_key))
            merged_.metadata.push_back(member);
    }
    merged_.device_properties = joined(merged_.device_properties, source.device_properties);
    if (merged_.base_time_ns == 0) merged_.base_time_ns = source.base_time_ns;
}

// A pool of a hundred workers says most things a hundred times, with other numbers.
void Merger::fold_notes(const Trace& source, const Origin& origin) {
    for (const Note& note : source.notes) {
        const auto [known, is_new] = note_index_.try_emplace(without_digits(note), notes_.size());
        if (is_new)
            notes_.push_back({note, origin.whose, 1});
        else
            ++notes_[known->second].sources;
    }
}

void Merger::label_processes() {
    for (size_t i = 0; i < known_.size(); ++i) {
        const KnownProcess& known = known_[i];
        if (known.origin.whose.empty() || !(known.is_renamed || known.is_device || known.origin.is_labelled))
            continue;
        std::string& labels = merged_.processes[i].labels;
        const std::string pid = known.is_renamed && !known.is_device ? "pid " + known.pid + " of " : "";
        labels += (labels.empty() ? "(" : " (") + pid + known.origin.whose + ")";
    }
}

Trace Merger::finish() {
    if (sources_ > 1) label_processes();
    for (FoldedNote& folded : notes_) {
        std::string text;
        if (folded.sources > 1) text = std::to_string(folded.sources) + " times, first for ";
        if (sources_ > 1 && !folded.whose.empty()) text += folded.whose + ": ";
        merged_.notes.push_back({folded.first.kind, text + folded.first.text});
    }
    return std::move(merged_);
}

}  // namespace kinetograph::trace
