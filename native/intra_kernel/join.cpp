#include "intra_kernel/join.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "intra_kernel/buffer.h"
#include "intra_kernel/segment_rows.h"
#include "trace/event_args.h"
#include "trace/pause_rows.h"

namespace kinetograph::intra_kernel {

namespace {

using trace::Trace;

constexpr uint8_t cuda_device = 1;
constexpr int64_t group_sort_index = 5'100'000;  // behind the devices themselves
constexpr uint64_t lanes_per_sm = 4096;

// "grid":[4,2,1] as a number of blocks.
uint64_t blocks_of(std::string_view args) {
    const std::string_view grid = trace::argument(args, "grid");
    uint64_t blocks = grid.empty() ? 0 : 1;
    for (size_t at = 1; at < grid.size();) {
        uint64_t count = 0;
        const auto [stop, error] = std::from_chars(grid.data() + at, grid.data() + grid.size(), count);
        if (error == std::errc{}) blocks *= count;
        at = grid.find(',', size_t(stop - grid.data()));
        if (at == grid.npos) break;
        ++at;
    }
    return blocks;
}

std::string without_quotes(const std::string& json) {
    return json.size() >= 2 && json.front() == '"' ? json.substr(1, json.size() - 2) : json;
}

// All segments of one device, with what is needed to place them.
struct Segments {
    std::vector<Segment> segments;
    std::vector<SegmentSpan> spans;
    std::vector<double> rates;
    std::vector<uint32_t> buffers;  // which of the contents they come from
    uint64_t launches = 0;

    void keep(const std::vector<bool>& is_kept) {
        size_t to = 0;
        for (size_t i = 0; i < segments.size(); ++i) {
            if (!is_kept[i]) continue;
            segments[to] = segments[i];
            spans[to] = spans[i];
            rates[to] = rates[i];
            buffers[to++] = buffers[i];
        }
        segments.resize(to);
        spans.resize(to);
        rates.resize(to);
        buffers.resize(to);
    }
};

// From being claimed to the last record, as they will be drawn.
SegmentSpan span_of(const Segment& segment, double rate, uint64_t launch) {
    const SegmentHeader& header = segment.header;
    SegmentClock clock(claimed(segment), rate);
    SegmentSpan span{clock.to_ns(header.claimed.clock, header.claimed.value), 0, header.block_count,
                     uint64_t(header.block) << 8 | header.group, launch};
    span.last_ns = span.first_ns;
    SegmentReader reader(segment.slots, header.claimed.sum);
    for (Record record; reader.next(record);) span.last_ns = clock.to_ns(record.clock, record.globaltimer);
    return span;
}

// One group of rows: a launch, or all launches of a kernel on a stream.
struct Group {
    std::string pid, name, labels;
};

class DeviceJoin {
public:
    DeviceJoin(Trace& trace, int32_t device, SegmentRows& rows, const std::vector<BufferContents>& contents)
        : trace_(trace), device_(device), rows_(rows), contents_(contents) {}

    void add_buffer(const Buffer& buffer, uint32_t number);
    void attribute(const std::vector<MeasuredOffset>& measured);
    // Launches in this device that will have rows.
    size_t launch_count() const { return launches_.size(); }
    // `next_launch` counts on, over all devices.
    void write(bool shares_groups, uint64_t& next_launch);
    bool is_empty() const { return found_.segments.empty(); }
    std::string clock_json() const;
    void add_notes();

private:
    // What one launch, as far as we know, left.
    struct Launch {
        uint32_t kernel;  // or no_kernel
        int64_t offset_ns;
        std::vector<uint32_t> segments;
    };

    using Place = std::pair<uint32_t, uint64_t>;  // process, and what is unique in it
    struct Planned {
        std::string name;
        uint32_t track;
    };

    void find_kernels();
    void leave_out_others();
    void group_launches();
    int64_t offset_of(uint32_t kernel, int64_t at_ns) const;
    Group group_of(const Launch& launch, uint64_t number, bool shares) const;
    uint32_t process_of(const Group& group);
    Place place_of(uint32_t segment, uint32_t process, bool is_shared);
    void add_tracks(bool are_shared);
    void write_launch(const Launch& launch, uint64_t number);
    void tie_to_launch(const Launch& launch, size_t first_row, uint64_t number);
    void note(const char* kind, std::string text) { trace_.notes.push_back({kind, std::move(text)}); }
    int64_t step_ns() const;
    bool on_host() const { return device_ < 0; }
    std::string where() const { return on_host() ? "the host" : "GPU " + std::to_string(device_); }

    Trace& trace_;
    const int32_t device_;
    SegmentRows& rows_;
    const std::vector<BufferContents>& contents_;
    Segments found_;
    std::vector<KernelSpan> kernels_;
    Attribution attribution_;
    std::vector<Launch> launches_;
    uint64_t homeless_ = 0;  // segments in the window that no kernel can have made
    int64_t worst_ns_ = 0;   // of launches: by which they contradict their kernels, or are in doubt
    uint32_t task_names_of_ = UINT32_MAX;
    std::map<std::string, uint32_t> processes_;  // by pid
    std::map<Place, Planned> tracks_;
    std::vector<Place> places_;                                             // of each segment
    std::map<std::tuple<uint32_t, uint32_t>, std::vector<int64_t>> lanes_;  // by process and SM: their ends
};

// ---- what there is

void DeviceJoin::add_buffer(const Buffer& buffer, uint32_t number) {
    // Launches as far as the buffer tells them apart; the rate of the clock is looked for within each, and
    // where that is too short, in all.
    std::map<std::tuple<uint32_t, uint8_t, uint32_t>, std::vector<const Segment*>> launches;
    for (const Segment& segment : buffer.segments)
        launches[{segment.header.block_count, segment.header.group_count, segment.launch}].push_back(
            &segment);
    const double usual = rates_of(buffer).rate();
    for (const auto& [key, segments] : launches) {
        RateFinder rates(usual);
        for (const Segment* segment : segments) {
            look_at_clocks(*segment, rates);
            rates.end();
        }
        for (const Segment* segment : segments) {
            look_at_clocks(*segment, rates);
            found_.segments.push_back(*segment);
            found_.spans.push_back(span_of(*segment, rates.rate(), found_.launches));
            found_.rates.push_back(rates.rate());
            found_.buffers.push_back(number);
        }
        ++found_.launches;
    }
}

void DeviceJoin::find_kernels() {
    if (on_host()) return;
    trace::each_row(trace_, [&](size_t row) {
        if (trace_.category[row] != uint8_t(trace::Category::kernel) || !trace_.is_span(row)) return;
        const trace::Track& track = trace_.tracks[trace_.track[row]];
        if (track.device_type != cuda_device || track.device_index != device_) return;
        kernels_.push_back({trace_.start_ns[row], trace_.end_ns(row), blocks_of(trace_.args_of(row)), row});
    });
    std::sort(kernels_.begin(), kernels_.end(),
              [](const KernelSpan& a, const KernelSpan& b) { return a.start_ns < b.start_ns; });
}

void DeviceJoin::attribute(const std::vector<MeasuredOffset>& measured) {
    find_kernels();
    attribution_ = intra_kernel::attribute(found_.spans, kernels_, measured);
    if (on_host()) attribution_.fit.emplace(0, 0);
    if (!attribution_.fit && found_.segments.size() > 0) {
        note("clock", "nothing tells how the clock of " + where() +
                          " and ours are related, so that records of its kernels are at its own times");
        attribution_.fit.emplace(0, INT64_MAX);
    }
    leave_out_others();
    group_launches();
}

// What no kernel made lies outside the window, or in a pause. Where kernels are not recorded at all, the
// window decides.
void DeviceJoin::leave_out_others() {
    const bool knows_time = attribution_.fit && attribution_.fit->error_ns() != INT64_MAX;
    const std::vector<trace::Pause> pauses = trace::pauses_of(trace_);
    const auto is_in_pause = [&](int64_t first_ns, int64_t last_ns) {
        return std::any_of(pauses.begin(), pauses.end(), [&](const trace::Pause& pause) {
            return pause.begin_ns <= first_ns && last_ns <= pause.end_ns;
        });
    };
    std::vector<bool> is_kept(found_.segments.size());
    std::vector<uint32_t> kernels;
    for (size_t i = 0; i < is_kept.size(); ++i) {
        const SegmentSpan& span = found_.spans[i];
        const int64_t offset_ns = attribution_.fit->offset_ns(span.first_ns);
        const int64_t doubt_ns = knows_time ? attribution_.fit->doubt_ns(span.first_ns) : 0;
        const bool is_inside = trace_.window_end_ns == 0 || !knows_time ||
                               (span.last_ns + offset_ns >= trace_.window_start_ns - doubt_ns &&
                                span.first_ns + offset_ns <= trace_.window_end_ns + doubt_ns &&
                                !is_in_pause(span.first_ns + offset_ns, span.last_ns + offset_ns));
        const bool has_kernel = attribution_.kernels[i] != Attribution::no_kernel;
        is_kept[i] = has_kernel || (is_inside && kernels_.empty());
        homeless_ += is_inside && !is_kept[i];
        if (is_kept[i]) kernels.push_back(attribution_.kernels[i]);
    }
    attribution_.kernels = std::move(kernels);
    found_.keep(is_kept);
}

// ---- launches, in the order of their time

void DeviceJoin::group_launches() {
    std::map<std::pair<uint32_t, uint64_t>, size_t> known;
    for (uint32_t i = 0; i < found_.segments.size(); ++i) {
        const uint32_t kernel = attribution_.kernels[i];
        const uint64_t launch = kernel == Attribution::no_kernel ? found_.spans[i].launch : 0;
        const auto [at, is_new] = known.try_emplace({kernel, launch}, launches_.size());
        if (is_new) launches_.push_back({kernel, offset_of(kernel, found_.spans[i].first_ns), {}});
        launches_[at->second].segments.push_back(i);
    }
    const auto first_ns = [&](const Launch& launch) { return found_.spans[launch.segments[0]].first_ns; };
    for (Launch& launch : launches_)
        std::sort(launch.segments.begin(), launch.segments.end(), [&](uint32_t a, uint32_t b) {
            return found_.spans[a].first_ns < found_.spans[b].first_ns;
        });
    std::stable_sort(launches_.begin(), launches_.end(),
                     [&](const Launch& a, const Launch& b) { return first_ns(a) < first_ns(b); });
    for (const Launch& launch : launches_) {
        worst_ns_ = std::max(worst_ns_, attribution_.fit->doubt_ns(first_ns(launch)));
        if (launch.kernel == Attribution::no_kernel) continue;
        const OffsetBounds& bounds = attribution_.bounds[launch.kernel];
        worst_ns_ =
            std::max({worst_ns_, bounds.low_ns - launch.offset_ns, launch.offset_ns - bounds.high_ns});
    }
}

// That of the whole device, as far as the kernel's own start and end allow it.
int64_t DeviceJoin::offset_of(uint32_t kernel, int64_t at_ns) const {
    const int64_t offset_ns = attribution_.fit->offset_ns(at_ns);
    if (kernel == Attribution::no_kernel) return offset_ns;
    const OffsetBounds& bounds = attribution_.bounds[kernel];
    if (bounds.is_possible()) return std::clamp(offset_ns, bounds.low_ns, bounds.high_ns);
    return bounds.high_ns + (bounds.low_ns - bounds.high_ns) / 2;
}

// ---- rows

void DeviceJoin::write(bool shares_groups, uint64_t& next_launch) {
    places_.resize(found_.segments.size());
    uint64_t number = next_launch;
    for (const Launch& launch : launches_) {
        const uint32_t process = process_of(group_of(launch, number++, shares_groups));
        for (const uint32_t i : launch.segments) places_[i] = place_of(i, process, shares_groups);
    }
    add_tracks(shares_groups);
    for (const Launch& launch : launches_) {
        const size_t first_row = trace_.size();
        write_launch(launch, next_launch);
        tie_to_launch(launch, first_row, next_launch++);
    }
}

Group DeviceJoin::group_of(const Launch& launch, uint64_t number, bool shares) const {
    Group group;
    const SegmentSpan& first = found_.spans[launch.segments[0]];
    const std::string blocks = std::to_string(first.blocks) + (first.blocks == 1 ? " block" : " blocks");
    std::string place = where(), id = where(), when = std::to_string(first.first_ns);
    group.name = "kernel of " + blocks;
    if (launch.kernel != Attribution::no_kernel) {
        const KernelSpan& kernel = kernels_[launch.kernel];
        const trace::Track& track = trace_.tracks[trace_.track[kernel.row]];
        group.name = trace_.strings[trace_.name[kernel.row]];
        place += ' ' + (track.name.empty() ? "stream " + track.tid : track.name);
        while (place.ends_with(' ')) place.pop_back();
        id += " stream " + without_quotes(track.tid);
        when = std::to_string(kernel.start_ns);
    }
    // As it stands in JSON, so that a name, which may hold anything, is no part of it; and the same in the
    // next cycle of a profile.
    const std::string name = std::to_string(std::hash<std::string>{}(group.name) % 1'000'000'007);
    group.pid = "\"inside " + id + (shares ? ", kernels " + name : " at " + when) + "\"";
    group.labels = place + (shares ? ", all launches" : ", launch " + std::to_string(number));
    return group;
}

uint32_t DeviceJoin::process_of(const Group& group) {
    const auto [known, is_new] = processes_.try_emplace(group.pid, uint32_t(trace_.processes.size()));
    if (is_new) {
        const std::string order = std::to_string(group_sort_index + int64_t(trace_.processes.size()));
        trace_.processes.push_back({group.pid, group.name, group.labels, order});
    }
    return known->second;
}

// A track for each SM and block; or, where launches share them, the first of an SM that is free then.
DeviceJoin::Place DeviceJoin::place_of(uint32_t segment, uint32_t process, bool is_shared) {
    const SegmentHeader& header = found_.segments[segment].header;
    const SegmentSpan& span = found_.spans[segment];
    const std::string sm = "SM " + std::to_string(header.sm);
    Place place{process, uint64_t(header.sm) << 40 | span.place};
    if (!is_shared) {
        tracks_.try_emplace(place, Planned{sm + " " + block_name(header), 0});
        return place;
    }
    std::vector<int64_t>& ends = lanes_[{process, header.sm}];
    size_t lane = 0;
    while (lane < ends.size() && ends[lane] > span.first_ns) ++lane;
    if (lane == ends.size()) ends.push_back(0);
    ends[lane] = span.last_ns;
    place.second = header.sm * lanes_per_sm + lane;
    tracks_.try_emplace(place, Planned{lane == 0 ? sm : sm + " lane " + std::to_string(lane), 0});
    return place;
}

// Viewers know ids of 31 bits: tracks that are not shared are only counted.
void DeviceJoin::add_tracks(bool are_shared) {
    const uint8_t type = on_host() ? 0 : cuda_device;
    uint32_t process = UINT32_MAX;
    uint64_t count = 0;
    for (auto& [place, planned] : tracks_) {
        if (std::exchange(process, place.first) != place.first) count = 0;
        planned.track = uint32_t(trace_.tracks.size());
        const std::string tid = std::to_string(are_shared ? place.second + 1 : ++count);
        trace_.tracks.push_back({place.first, tid, planned.name, tid, -1, type, device_});
    }
}

void DeviceJoin::write_launch(const Launch& launch, uint64_t number) {
    // Rows of a trace stand by track; those of one track are in the order of time already.
    std::vector<uint32_t> order = launch.segments;
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return places_[a] < places_[b]; });
    const bool has_kernel = launch.kernel != Attribution::no_kernel;
    const int64_t until_ns = has_kernel ? kernels_[launch.kernel].end_ns : 0;
    for (const uint32_t i : order) {
        if (task_names_of_ != found_.buffers[i]) rows_.name_tasks(contents_[found_.buffers[i]].task_names);
        task_names_of_ = found_.buffers[i];
        const std::string args = segment_args(found_.segments[i], number);
        rows_.add(found_.segments[i],
                  {tracks_.at(places_[i]).track, args, found_.rates[i], launch.offset_ns, until_ns});
    }
}

// The kernel says which launch it is, and its first record has the arrow from the call that launched it.
void DeviceJoin::tie_to_launch(const Launch& launch, size_t first_row, uint64_t number) {
    if (launch.kernel == Attribution::no_kernel || first_row == trace_.size()) return;
    const size_t kernel = kernels_[launch.kernel].row;
    std::string args(trace_.args_of(kernel));
    args += (args.empty() ? "\"launch\":" : ",\"launch\":") + std::to_string(number);
    trace_.args[kernel] = {trace_.args_text.size(), args.size()};
    trace_.args_text.append(args.data(), args.size());
    size_t first = first_row;
    for (size_t row = first_row; row < trace_.size(); ++row)
        if (trace_.is_span(row) > trace_.is_span(first) ||
            (trace_.is_span(row) == trace_.is_span(first) && trace_.start_ns[row] < trace_.start_ns[first]))
            first = row;
    if (!trace_.is_span(first)) return;
    if (!trace_.correlation.empty()) {
        trace_.fill(trace_.correlation, int64_t(0));
        trace_.correlation[first] = trace_.correlation[kernel];
    }
    if (!trace_.link.empty()) {
        trace_.fill(trace_.link, int32_t(-1));
        trace_.link[first] = trace_.link[kernel];
    }
}

// ---- what is to be told

void DeviceJoin::add_notes() {
    if (homeless_ > 0)
        note("intra_kernel",
             std::to_string(homeless_) + " blocks on " + where() +
                 " recorded something, but no kernel of this trace can have been theirs: they ran in "
                 "a pause, or CUPTI lost the kernel");
    if (attribution_.is_guessed)
        note("clock",
             "the launches on " + where() +
                 " are so alike that the last one was taken for the last kernel of its grid; if that "
                 "recorded nothing, all of them are shown in the wrong kernel");
    if (attribution_.doubtful > 0)
        note("intra_kernel",
             std::to_string(attribution_.doubtful) + " blocks on " + where() +
                 " may belong to another launch than they are shown in: kernels of the same grid ran at the "
                 "same time, or closer to each other than the clocks are known");
}

// Of the globaltimer, as far as the segments show it.
int64_t DeviceJoin::step_ns() const {
    uint64_t step = 0;
    const uint64_t first = found_.segments[0].header.claimed.value;
    for (const Segment& segment : found_.segments) {
        const uint64_t time = segment.header.claimed.value;
        step = std::gcd(step, time > first ? time - first : first - time);
    }
    return int64_t(std::min<uint64_t>(step, 2'000));
}

std::string DeviceJoin::clock_json() const {
    const OffsetFit& fit = *attribution_.fit;
    const bool is_known = fit.error_ns() != INT64_MAX;
    const char* source = on_host()                 ? "host"
                         : attribution_.is_bounded ? "kernels"
                         : is_known                ? "calibration"
                                                   : "none";
    char drift[32];
    std::snprintf(drift, sizeof drift, "%.3f", fit.drift_ppm());
    std::string json = "{\"device\":" + std::to_string(device_) + ",\"source\":\"" + source + "\"";
    if (is_known) {
        const int64_t error_ns = std::max(fit.error_ns(), worst_ns_) + (on_host() ? 0 : step_ns());
        json += ",\"error_ns\":" + std::to_string(error_ns);
        const int64_t at_ns = found_.spans.empty() ? 0 : found_.spans[0].first_ns;
        json += ",\"offset_ns\":" + std::to_string(fit.offset_ns(at_ns));
    }
    if (attribution_.is_bounded) json += std::string(",\"drift_ppm\":") + drift;
    return json + ",\"launches\":" + std::to_string(launches_.size()) + "}";
}

// Columns that not every trace has go on with what means nothing.
void fill_optional(Trace& trace) {
    if (!trace.correlation.empty()) trace.fill(trace.correlation, int64_t(0));
    if (!trace.link.empty()) trace.fill(trace.link, int32_t(-1));
    if (!trace.sequence.empty()) trace.fill(trace.sequence, int64_t(-1));
    if (!trace.record_function.empty()) trace.fill(trace.record_function, uint32_t(0));
}

}  // namespace

void join(Trace& trace, const std::vector<BufferContents>& buffers,
          const std::map<int32_t, std::vector<MeasuredOffset>>& measured, size_t most_own_groups) {
    SegmentRows rows(trace);
    std::map<int32_t, DeviceJoin> devices;
    std::vector<std::vector<Slot>> copies(buffers.size());
    uint64_t refused = 0, damaged = 0;
    for (uint32_t i = 0; i < buffers.size(); ++i) {
        const Buffer buffer = find_segments(aligned_slots(buffers[i].bytes, copies[i]));
        const int32_t device = buffers[i].device_index;
        devices.try_emplace(device, trace, device, rows, buffers).first->second.add_buffer(buffer, i);
        refused += buffer.refused;
        damaged += buffer.damaged + !buffer.is_known;
    }
    size_t launches = 0;
    for (auto& [device, part] : devices) {
        const auto known = measured.find(device);
        part.attribute(known == measured.end() ? std::vector<MeasuredOffset>{} : known->second);
        launches += part.launch_count();
    }
    std::string clocks;
    uint64_t next_launch = 0;
    for (auto& [device, part] : devices) {
        part.add_notes();
        if (part.is_empty()) continue;
        part.write(launches > most_own_groups, next_launch);
        clocks += clocks.empty() ? '[' : ',';
        clocks += part.clock_json();
    }
    if (!clocks.empty()) trace.metadata.emplace_back("intra_kernel_clock", clocks + "]");
    note_losses(trace, refused, damaged + rows.damage().torn);
    rows.add_notes();
    fill_optional(trace);
    trace::sort_events(trace);
}

}  // namespace kinetograph::intra_kernel
