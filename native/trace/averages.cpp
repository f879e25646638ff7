#include "trace/averages.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/dense_ids.h"
#include "trace/event_args.h"
#include "trace/memory_use.h"
#include "trace/name_rules.h"

namespace kinetograph::trace {

namespace {

constexpr uint32_t no_group = UINT32_MAX;

bool is_python(const Trace& trace, size_t row) {
    return trace.category[row] == uint8_t(Category::python_function);
}

struct Key {
    uint32_t name;
    uint32_t detail;  // id of shapes, overload and stack; 0 when nobody asked for them
    uint8_t category;
    uint8_t device_type;
    bool operator==(const Key&) const = default;
};

struct KeyHash {
    size_t operator()(const Key& key) const {
        uint64_t bits = (uint64_t(key.name) << 32 | key.detail) * 0x9e3779b97f4a7c15u;
        bits ^= uint64_t(key.category) << 8 | key.device_type;
        return bits ^ bits >> 32;
    }
};

// Finds the group of a key. Neighbouring spans of one name mostly share it, so the last one is asked first.
class Groups {
public:
    explicit Groups(size_t names) : last_of_name_(names, no_group) {}

    uint32_t find(const Key& key, size_t row) {
        uint32_t& last = last_of_name_[key.name];
        if (last != no_group && keys_[last] == key) return last;
        const auto [group, is_new] = keys_.find_or_add(key);
        if (is_new) add(row);
        return last = group;
    }
    Average& operator[](uint32_t group) { return groups_[group]; }
    uint32_t& depth(uint32_t group) { return depths_[group]; }
    std::vector<Average> take() { return std::move(groups_); }

private:
    void add(size_t row) {
        depths_.push_back(0);
        Average group{};
        group.row = static_cast<int64_t>(row);
        group.min_ns = INT64_MAX;
        groups_.push_back(group);
    }
    std::vector<uint32_t> last_of_name_;
    DenseIds<Key, KeyHash> keys_;
    std::vector<uint32_t> depths_;  // spans of the group that are open, on the track at hand
    std::vector<Average> groups_;
};

// A span that is open at the row being looked at.
struct Open {
    int32_t row;
    uint32_t group;   // its own, or that of the event around it when it is not shown itself
    int32_t frame;    // place in the stack of the innermost Python function at or around it, -1: none
    bool is_counted;  // it has a group of its own
};

// A list of tensors among the inputs counts as one input without sizes, as for PyTorch.
void append_shapes(std::string& key, std::string_view dims) {
    int depth = 0;
    size_t input = 0;  // where the one at hand begins in the key
    bool is_list = false;
    for (const char c : dims) {
        depth -= c == ']';
        key += c;
        if (c == ']' && depth == 1 && is_list) key.replace(input, std::string::npos, "[]");
        depth += c == '[';
        if (c != '[') continue;
        if (depth == 2) {
            input = key.size() - 1;
            is_list = false;
        }
        is_list |= depth > 2;
    }
}

// Numbers texts, from 1 on.
class Details {
public:
    uint32_t id(const std::string& text) {
        return ids_.try_emplace(text, static_cast<uint32_t>(ids_.size() + 1)).first->second;
    }

private:
    std::unordered_map<std::string, uint32_t> ids_;
};

class Averager {
public:
    Averager(const Trace& trace, const Nesting& nesting, const DeviceWork& work,
             const AverageOptions& options)
        : trace_(trace),
          nesting_(nesting),
          work_(work),
          options_(options),
          rules_(trace),
          groups_(trace.strings.size()),
          memory_(attribute_memory(trace, nesting)),
          is_seen_function_(trace.strings.size()) {
        for (const Track& track : trace.tracks) device_types_.push_back(track.device_type);
        has_details_ = options.by_shapes || options.by_overload || options.stack_frames > 0;
        has_flops_ = std::string_view(trace.args_text.data(), trace.args_text.size()).find("\"flops\":") !=
                     std::string_view::npos;
        if (!memory_.host_bytes.empty()) sum_up_memory();
        count_children();
    }

    Averages run() {
        each_row(trace_, [this](size_t row) {
            if (trace_.is_span(row)) add(row);
        });
        averages_.groups = groups_.take();
        sort_by_first_start();
        return std::move(averages_);
    }

private:
    void sum_up_memory() {
        host_bytes_ = with_children(nesting_, memory_.host_bytes);
        device_bytes_ = with_children(nesting_, memory_.device_bytes);
    }

    // Up to 2, which is all that matters.
    void count_children() {
        children_ = Column<uint8_t>(trace_.storage);
        children_.resize(trace_.size());
        each_row(trace_, [this](size_t row) {
            const int32_t parent = nesting_.parent[row];
            if (parent < 0 || !trace_.is_span(row) || rules_.is_hidden(trace_.name[row])) return;
            if (children_[parent] < 2) ++children_[parent];
        });
    }

    void add(size_t row) {
        if (device_types_[trace_.track[row]] != 0) return add_device_span(row);
        if (trace_.is_beside(row)) return add_async_span(row);
        close_until(nesting_.parent[row]);
        const bool hidden = rules_.is_hidden(trace_.name[row]);
        if (hidden || (is_python(trace_, row) && !options_.with_python)) return open_uncounted(row, hidden);
        open_counted(row);
    }

    void close_until(int32_t parent) {
        while (!open_.empty() && open_.back().row != parent) {
            if (open_.back().is_counted) --groups_.depth(open_.back().group);
            open_.pop_back();
        }
    }

    void open(size_t row, uint32_t group, bool is_counted) {
        const int32_t around = open_.empty() ? -1 : open_.back().frame;
        const int32_t frame = is_python(trace_, row) ? static_cast<int32_t>(open_.size()) : around;
        open_.push_back({static_cast<int32_t>(row), group, frame, is_counted});
    }

    void open_uncounted(size_t row, bool hidden) {
        const uint32_t around = open_.empty() ? no_group : open_.back().group;
        if (!hidden) count_function(row, around);
        if (around != no_group) add_self(around, row);
        open(row, around, false);
    }

    void count_function(size_t row, uint32_t around) {
        const uint32_t name = trace_.name[row];
        if (!is_seen_function_[name]) ++averages_.python_functions;
        is_seen_function_[name] = true;
        averages_.python_calls += is_call(row);
        if (around == no_group) averages_.python_ns += nesting_.self_ns[row];
    }

    void open_counted(size_t row) {
        const bool again = is_dispatched_again(row);
        const uint32_t group = again ? open_.back().group : group_of(row);
        Average& average = groups_[group];
        if (!again) count(average, row);
        if (open_.empty() || open_.back().group == no_group) average.outermost += !again;
        if (groups_.depth(group)++ == 0) add_total(average, row);
        add_self(group, row);
        open(row, group, true);
    }

    bool is_dispatched_again(size_t row) const {
        const int32_t parent = nesting_.parent[row];
        return parent >= 0 && trace_.category[row] == uint8_t(Category::cpu_op) &&
               trace_.category[parent] == uint8_t(Category::cpu_op) &&
               trace_.name[row] == trace_.name[parent] && children_[parent] == 1;
    }

    bool is_call(size_t row) const { return !(trace_.flags[row] & event_resumed); }

    void count(Average& average, size_t row) {
        const int64_t duration = trace_.duration_ns[row];
        average.count += is_call(row);
        average.min_ns = std::min(average.min_ns, duration);
        average.max_ns = std::max(average.max_ns, duration);
        if (starts_before(row, average.row)) average.row = static_cast<int64_t>(row);
        if (has_flops_) average.flops += integer_argument(trace_.args_of(row), "flops");
    }

    void add_total(Average& average, size_t row) {
        average.total_ns += trace_.duration_ns[row];
        if (!work_.total_ns.empty()) average.device_total_ns += work_.total_ns[row];
        if (host_bytes_.empty()) return;
        average.host_bytes += host_bytes_[row];
        average.device_bytes += device_bytes_[row];
    }

    void add_self(uint32_t group, size_t row) {
        Average& average = groups_[group];
        average.self_ns += nesting_.self_ns[row];
        if (!work_.self_ns.empty()) average.self_device_ns += work_.self_ns[row];
        if (memory_.host_bytes.empty()) return;
        average.self_host_bytes += memory_.host_bytes[row];
        average.self_device_bytes += memory_.device_bytes[row];
    }

    void add_device_span(size_t row) {
        if (rules_.is_hidden(trace_.name[row])) return;
        Average& average = groups_[group_of(row)];
        count(average, row);
        ++average.outermost;
        average.device_total_ns += trace_.duration_ns[row];
        average.self_device_ns += trace_.duration_ns[row];
    }

    // It may cross anything: it has a duration, but no place among the others.
    void add_async_span(size_t row) {
        Average& average = groups_[group_of(row)];
        count(average, row);
        ++average.outermost;
        average.total_ns += trace_.duration_ns[row];
    }

    uint32_t group_of(size_t row) {
        const uint32_t detail = has_details_ ? detail_of(row) : 0;
        return groups_.find({rules_.counted_as(trace_.name[row]), detail, trace_.category[row],
                             device_types_[trace_.track[row]]},
                            row);
    }

    uint32_t detail_of(size_t row) {
        const std::string_view args = trace_.args_of(row);
        detail_.clear();
        if (options_.by_shapes) append_shapes(detail_, argument(args, "Input Dims"));
        if (options_.by_overload) detail_.append("\n").append(argument(args, "Overload name"));
        if (options_.stack_frames > 0) append_stack(row, args);
        return details_.id(detail_);
    }

    void append_stack(size_t row, std::string_view args) {
        const bool is_host = device_types_[trace_.track[row]] == 0 && !trace_.is_beside(row);
        int32_t frame = is_host && !open_.empty() ? open_.back().frame : -1;
        detail_ += '\n';
        if (frame < 0) return append_recorded_stack(args);
        for (uint32_t left = options_.stack_frames; left > 0 && frame >= 0; --left) {
            const uint32_t name = trace_.name[open_[frame].row];
            detail_.append(reinterpret_cast<const char*>(&name), sizeof name);
            frame = frame > 0 ? open_[frame - 1].frame : -1;
        }
    }

    void append_recorded_stack(std::string_view args) {
        std::string_view stack = string_argument(args, "Call stack");
        for (uint32_t left = options_.stack_frames; left > 0 && !stack.empty(); --left) {
            const size_t end = std::min(stack.find(';'), stack.size());
            detail_.append(stack.substr(0, end)).append(";");
            stack.remove_prefix(std::min(end + 1, stack.size()));
        }
    }

    bool starts_before(size_t row, int64_t other) const {
        return trace_.start_ns[row] < trace_.start_ns[other];
    }

    void sort_by_first_start() {
        std::stable_sort(averages_.groups.begin(), averages_.groups.end(),
                         [this](const Average& a, const Average& b) {
                             const int64_t first = trace_.start_ns[a.row], second = trace_.start_ns[b.row];
                             return first != second ? first < second
                                                    : trace_.duration_ns[a.row] > trace_.duration_ns[b.row];
                         });
    }

    const Trace& trace_;
    const Nesting& nesting_;
    const DeviceWork& work_;
    const AverageOptions options_;
    const NameRules rules_;
    Groups groups_;
    const MemoryUse memory_;
    Column<int64_t> host_bytes_, device_bytes_;  // with children
    Column<uint8_t> children_;
    std::vector<uint8_t> device_types_;  // of tracks
    std::vector<bool> is_seen_function_;
    std::vector<Open> open_;
    Details details_;
    std::string detail_;
    bool has_details_ = false;
    bool has_flops_ = false;
    Averages averages_;
};

}  // namespace

Averages average(const Trace& trace, const Nesting& nesting, const DeviceWork& work,
                 const AverageOptions& options) {
    return Averager(trace, nesting, work, options).run();
}

}  // namespace kinetograph::trace
