#include "format/trace_filler.h"

#include <algorithm>
#include <charconv>

#include "format/json_number.h"
#include "format/kineto_words.h"

namespace kinetograph::format {

using trace::EventKind;

namespace {

// PyTorch's numbers.
constexpr uint8_t device_cuda = 1, device_xpu = 12, device_hpu = 15, device_mtia = 19;

constexpr char negative_duration[] = "with a negative duration (taken as 0)";

uint8_t device_of_category(uint8_t category) {
    switch (static_cast<Category>(category)) {
        case Category::kernel:
        case Category::gpu_memcpy:
        case Category::gpu_memset:
        case Category::gpu_user_annotation:
        case Category::cuda_sync:
        case Category::cuda_event:
        case Category::cuda_profiler_range:
            return device_cuda;
        case Category::xpu_sync:
        case Category::xpu_scope_profiler:
            return device_xpu;
        case Category::hpu_op:
            return device_hpu;
        case Category::mtia_ccp_events:
        case Category::mtia_insight:
            return device_mtia;
        default:
            return 0;
    }
}

}  // namespace

TraceFiller::TraceFiller(const trace::Storage& storage)
    : trace_(storage), tracks_(trace_), owners_(storage), references_(storage), begin_ends_(storage) {
    for (size_t i = 0; i < trace_.categories.size(); ++i) {
        categories_.emplace(trace_.categories[i], static_cast<uint8_t>(i));
    }
    last_category_ = trace_.categories[0];
}

void TraceFiller::add(const ParsedEvent& event) {
    if (event.has_odd_member) skip("with members of an unexpected type (left out)");
    // Kineto of PyTorch 2.6 wrote one, of an operator that ran when a capture ended.
    if (event.has_time_out_of_range && event.phase != 'M') return skip("with a time that is out of range");
    switch (event.phase) {
        case 'X':
            return add_span(event);
        case 'i':
        case 'I':
            return add_instant(event);
        case 'C':
            return add_row(event, EventKind::counter);
        case 'M':
            return add_name(event);
        case 'B':
            return add_begin(event);
        case 'E':
            return add_end(event);
        case 's':
        case 't':
        case 'f':
            return add_flow(event);
        case '\0':
            return skip("without a phase");
        default:
            return skip(std::string("of phase ") + event.phase);
    }
}

std::string TraceFiller::text_of(const StringToken& token) {
    return std::string(token.meaning(scratch_));
}

uint8_t TraceFiller::category_of(const StringToken& token) {
    const std::string_view text = token.meaning(scratch_);
    if (text == last_category_) return last_category_id_;
    last_category_ = text;
    const auto [found, is_new] = categories_.try_emplace(last_category_, 0);
    if (is_new) found->second = trace_.category_id(text);
    is_last_category_lost_ = trace_.categories[found->second] != last_category_;
    return last_category_id_ = found->second;
}

// Counters of one name and several ids are several counters.
std::string_view TraceFiller::name_of(const ParsedEvent& event) {
    if (event.phase != 'C' || !event.id) return event.name.meaning(scratch_);
    name_ = text_of(event.name) + '[' + text_of(*event.id) + ']';
    return name_;
}

void TraceFiller::count_left_out(const ParsedEvent& event) {
    if (event.id && event.phase != 'C') ++left_out_[0];
    if (event.left_out.none()) return;
    for (size_t member = 1; member < left_out_.size(); ++member) left_out_[member] += event.left_out[member];
}

void TraceFiller::add_span(const ParsedEvent& event) {
    if (take_window(event)) return;
    add_row(event, EventKind::span);
}

void TraceFiller::add_instant(const ParsedEvent& event) {
    if (take_marker(event)) return;
    add_row(event, EventKind::instant);
}

void TraceFiller::add_row(const ParsedEvent& event, EventKind kind) {
    if (!event.start_ns) return skip("without a time");
    const uint8_t category = category_of(event.category);
    if (is_last_category_lost_) skip("of one category too many (kept as \"other\")");
    const std::string_view name = name_of(event);
    if (kind == EventKind::instant && category == uint8_t(Category::cpu_instant_event) &&
        is_memory_name(name)) {
        kind = EventKind::memory;
    }
    const auto row = static_cast<uint32_t>(trace_.size());
    trace_.start_ns.push_back(*event.start_ns);
    trace_.duration_ns.push_back(event.phase == 'X' ? in_range(*event.start_ns, event.duration_ns.value_or(0))
                                                    : 0);
    trace_.name.push_back(trace_.strings.intern(name));
    trace_.track.push_back(tracks_.track(event.pid, event.tid));
    trace_.category.push_back(category);
    trace_.kind.push_back(uint8_t(kind));
    trace_.scope.push_back(event.scope ? static_cast<uint8_t>(*event.scope) : usual_scope(category));
    // Kineto calls every allocation unfinished, which tells nothing.
    const bool is_unfinished = event.is_unfinished && kind != EventKind::memory;
    trace_.flags.push_back(static_cast<uint8_t>((is_unfinished ? trace::event_unfinished : 0) |
                                                (event.is_async ? trace::event_async : 0) |
                                                (event.is_resumed ? trace::event_resumed : 0)));
    add_optional_columns(event);
    count_left_out(event);
    if (!event.external_id) return;
    (owns_external_id(category, uint8_t(kind)) ? owners_ : references_).push_back({*event.external_id, row});
}

// A duration that keeps the end, like every time of a trace, within latest_ns.
int64_t TraceFiller::in_range(int64_t start_ns, int64_t duration_ns) {
    if (duration_ns < 0) skip(negative_duration);
    const int64_t longest_ns = latest_ns - start_ns;
    if (duration_ns > longest_ns) skip("that end out of range (cut there)");
    return std::clamp<int64_t>(duration_ns, 0, longest_ns);
}

// One row was added to the columns that every trace has; the others follow if they exist or are needed now.
void TraceFiller::add_optional_columns(const ParsedEvent& event) {
    const size_t row = trace_.size() - 1;
    if (event.correlation != 0 || !trace_.correlation.empty()) {
        trace_.fill<int64_t>(trace_.correlation, 0);
        trace_.correlation[row] = event.correlation;
    }
    if (event.sequence >= 0 || !trace_.sequence.empty()) {
        trace_.fill<int64_t>(trace_.sequence, -1);
        trace_.sequence[row] = event.sequence;
    }
    if (event.record_function != 0 || !trace_.record_function.empty()) {
        trace_.fill<uint32_t>(trace_.record_function, 0);
        trace_.record_function[row] = event.record_function;
    }
    if (!event.members.empty() || !trace_.args.empty()) {
        trace_.fill<trace::TextRange>(trace_.args, {});
        trace_.args[row] = {trace_.args_text.size(), event.members.size()};
        trace_.args_text.append(event.members.data(), event.members.size());
    }
}

void TraceFiller::add_begin(const ParsedEvent& event) {
    const size_t before = trace_.size();
    add_row(event, EventKind::span);
    if (trace_.size() == before) return;
    begin_ends_.begin(trace_.track.back(), *event.start_ns, static_cast<uint32_t>(before));
}

void TraceFiller::add_end(const ParsedEvent& event) {
    if (!event.start_ns) return skip("without a time");
    count_left_out(event);
    begin_ends_.end(tracks_.track(event.pid, event.tid), *event.start_ns, event.members);
}

void TraceFiller::end_span(uint32_t row, int64_t end_ns, std::string_view members) {
    trace_.duration_ns[row] = in_range(trace_.start_ns[row], end_ns - trace_.start_ns[row]);
    if (members.empty()) return;
    std::string all(trace_.args_of(row));
    if (!all.empty()) all += ',';
    all += members;
    trace_.fill<trace::TextRange>(trace_.args, {});
    trace_.args[row] = {trace_.args_text.size(), all.size()};
    trace_.args_text.append(all.data(), all.size());
}

// Kineto's own flows follow from correlation ids and sequence numbers; they are made again when written.
void TraceFiller::add_flow(const ParsedEvent& event) {
    const std::string_view category = event.category.inside;
    if (category != "ac2g" && category != "fwdbwd" && category != "async_cpu_to_gpu") skip("of a flow");
}

bool TraceFiller::take_window(const ParsedEvent& event) {
    if (event.pid != spans_pid || event.category.inside != "Trace" || !event.start_ns) return false;
    const int64_t start = *event.start_ns, end = std::min(start + event.duration_ns.value_or(0), latest_ns);
    trace_.window_start_ns = has_window_start_ ? std::min(trace_.window_start_ns, start) : start;
    trace_.window_end_ns = std::max(trace_.window_end_ns, end);
    has_window_start_ = true;
    return true;
}

bool TraceFiller::take_marker(const ParsedEvent& event) {
    if (event.pid == markers_pid) return event.name.inside.starts_with(marker_name);
    if (event.pid != window_end_pid || event.name.inside != window_end_name) return false;
    trace_.window_end_ns = std::max(trace_.window_end_ns, event.start_ns.value_or(0));
    return true;
}

void TraceFiller::add_name(const ParsedEvent& event) {
    const std::string_view what = event.name.inside;
    if (event.pid == spans_pid && what == "process_sort_index") return;  // of the row of the window
    if (what == "thread_name" && !event.lane_of.empty()) {
        return tracks_.alias(event.pid, event.tid, tracks_.track(event.pid, event.lane_of));
    }
    if (what == "thread_name" || what == unnamed_thread) {
        return add_thread_name(event, tracks_.track(event.pid, event.tid));
    }
    if (what == "thread_sort_index") {
        trace_.tracks[tracks_.track(event.pid, event.tid)].sort_index = event.sort_index;
        return;
    }
    if (!what.starts_with("process_") && what != unnamed_process) return skip("of metadata");
    trace::Process& process = trace_.processes[tracks_.process(event.pid)];
    if (what == "process_name" && event.label) process.name = text_of(*event.label);
    if (what == "process_labels" && event.label) process.labels = text_of(*event.label);
    if (what == "process_sort_index") process.sort_index = event.sort_index;
}

void TraceFiller::add_thread_name(const ParsedEvent& event, uint32_t index) {
    trace::Track& track = trace_.tracks[index];
    if (event.label) track.name = text_of(*event.label);
    if (event.device_type) track.device_type = static_cast<uint8_t>(*event.device_type);
    if (event.device_index) track.device_index = static_cast<int32_t>(*event.device_index);
    if (event.framework_thread) track.framework_thread = static_cast<uint32_t>(*event.framework_thread);
    if (!event.task_of.empty()) tasks_.push_back({index, std::string(event.task_of)});
}

void TraceFiller::set_metadata(std::string key, std::string json) {
    const auto [found, is_new] = metadata_index_.try_emplace(key, trace_.metadata.size());
    if (is_new) {
        trace_.metadata.emplace_back(std::move(key), std::move(json));
    } else {
        trace_.metadata[found->second].second = std::move(json);
    }
}

bool TraceFiller::finish() {
    match_begins();
    close_unfinished();
    resolve_links();
    resolve_tasks();
    if (!has_track_arguments_) infer_devices();
    if (!shift_to_base()) return false;
    note_what_was_skipped();
    trace::sort_events(trace_);
    return true;
}

void TraceFiller::match_begins() {
    const size_t lonely_ends = begin_ends_.match(
        [this](const BeginEnds::Matched& span) { end_span(span.row, span.end_ns, span.members); });
    if (lonely_ends != 0) skip("that end what did not begin", lonely_ends);
    for (const auto& rows : begin_ends_.open())
        unfinished_.insert(unfinished_.end(), rows.begin(), rows.end());
}

void TraceFiller::close_unfinished() {
    int64_t last_ns = trace_.window_end_ns;
    for (size_t row = 0; row < trace_.size(); ++row) last_ns = std::max(last_ns, trace_.end_ns(row));
    for (const uint32_t row : unfinished_) {
        trace_.duration_ns[row] = last_ns - trace_.start_ns[row];
        trace_.flags[row] |= trace::event_unfinished;
    }
}

void TraceFiller::resolve_links() {
    if (references_.empty() || owners_.empty()) return;
    const auto by_id = [](const ExternalId& a, const ExternalId& b) { return a.id < b.id; };
    if (!std::is_sorted(owners_.begin(), owners_.end(), by_id)) {
        std::stable_sort(owners_.begin(), owners_.end(), by_id);
    }
    trace_.fill<int32_t>(trace_.link, -1);
    for (const ExternalId& reference : references_) {
        const auto* owner = std::lower_bound(owners_.begin(), owners_.end(), reference, by_id);
        if (owner != owners_.end() && owner->id == reference.id) {
            trace_.link[reference.row] = static_cast<int32_t>(owner->row);
        }
    }
}

void TraceFiller::resolve_tasks() {
    for (const Task& task : tasks_) {
        const std::string pid = trace_.processes[trace_.tracks[task.track].process].pid;
        const uint32_t thread = tracks_.track(pid, task.thread);
        trace_.tracks[task.track].parent = static_cast<int32_t>(thread);
    }
}

void TraceFiller::infer_devices() {
    for (size_t row = 0; row < trace_.size(); ++row) {
        const uint8_t type = device_of_category(trace_.category[row]);
        if (type != 0) trace_.tracks[trace_.track[row]].device_type = type;
    }
    for (trace::Track& track : trace_.tracks) {
        if (track.device_type == 0) continue;
        const std::string& pid = trace_.processes[track.process].pid;
        int32_t index = -1;
        const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), index);
        if (error == std::errc{} && end == pid.data() + pid.size()) track.device_index = index;
    }
}

bool TraceFiller::shift_to_base() {
    const int64_t base = trace_.base_time_ns;
    if (base == 0) return true;
    const auto shifted = [base](int64_t time_ns) {
        return std::clamp(time_ns + base, -latest_ns, latest_ns);
    };
    if (trace_.window_end_ns != 0 || has_window_start_) {
        trace_.window_start_ns = shifted(trace_.window_start_ns);
        trace_.window_end_ns = shifted(trace_.window_end_ns);
    }
    bool all_in_range = true;
    for (size_t row = 0; row < trace_.size(); ++row) {
        const int64_t start_ns = trace_.start_ns[row] + base;
        all_in_range &= start_ns == shifted(trace_.start_ns[row]);
        trace_.start_ns[row] = start_ns;
        if (all_in_range) trace_.duration_ns[row] = in_range(start_ns, trace_.duration_ns[row]);
    }
    return all_in_range;
}

void TraceFiller::note_what_was_skipped() {
    for (size_t member = 0; member < left_out_.size(); ++member) {
        if (left_out_[member] == 0) continue;
        skip("with " + std::string(left_out_members[member]) + " (left out)", left_out_[member]);
    }
    if (skipped_.empty()) return;
    std::string text;
    for (const auto& [what, count] : skipped_) {
        text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
    }
    add_note("unread", "events of the file that could not be kept as they are: " + text);
}

}  // namespace kinetograph::format
