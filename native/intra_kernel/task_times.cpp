#include "intra_kernel/task_times.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "trace/event_args.h"

namespace kinetograph::intra_kernel {

namespace {

using trace::Trace;

// What one record takes in a kernel, about; where shorter ranges were seen, they tell better.
constexpr int64_t usual_record_ns = 20;
constexpr int64_t least_record_ns = 4;

// Durations of garbage may be as long as time itself.
void add(int64_t& sum, int64_t more) {
    if (__builtin_add_overflow(sum, more, &sum)) sum = INT64_MAX;
}

// What the arguments of a row say.
struct Place {
    uint32_t kernel = 0;  // index of the names of kernels
    uint64_t launch = 0;  // unique, whatever was merged
    uint32_t sm = 0;
    uint64_t block = 0;
};

struct OnSm {
    int64_t total_ns = 0;
    int64_t last_end_ns = INT64_MIN;
};

// A trace of a buffer alone has a process for each SM, in their order. Where several were merged, the next
// one begins where that goes back: by process, the first one of its buffer.
std::vector<uint32_t> buffers_of(const Trace& trace) {
    std::vector<uint32_t> buffers;
    uint32_t first = 0;
    long last_sm = -1;
    for (uint32_t process = 0; process < trace.processes.size(); ++process) {
        const std::string& name = trace.processes[process].name;
        if (name.starts_with("SM ")) {
            const long sm = std::atol(name.c_str() + 3);
            if (sm <= last_sm || last_sm < 0) first = process;
            last_sm = sm;
        }
        buffers.push_back(first);
    }
    return buffers;
}

class TaskCounter {
public:
    explicit TaskCounter(const Trace& trace) : trace_(trace), buffers_(buffers_of(trace)) {}

    std::vector<TaskTimes> count() {
        trace::each_row(trace_, [this](size_t row) {
            if (trace_.category[row] == uint8_t(trace::Category::intra_kernel)) see(row);
        });
        for (const auto& [key, block] : blocks_)
            add(kernels_[block.kernel].blocks_ns, block.last_ns - block.first_ns);
        std::vector<TaskTimes> result;
        for (Task& task : tasks_) result.push_back(times_of(task));
        return result;
    }

private:
    struct Kernel {
        std::string name;
        int64_t blocks_ns = 0;
        uint64_t records = 0;
        int64_t shortest_ns = usual_record_ns;
    };
    struct Task {
        uint32_t kernel, name;
        int64_t total_ns = 0;
        std::vector<int64_t> durations;
        std::unordered_map<uint64_t, OnSm> on_sms;  // by launch and SM
    };
    struct Block {
        uint32_t kernel = 0;
        int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    };
    using BlockKey = std::tuple<uint32_t, uint64_t, uint64_t>;  // track, launch and block

    void see(size_t row) {
        const Place place = place_of(row);
        see_block(row, place);
        Kernel& kernel = kernels_[place.kernel];
        kernel.records += trace_.is_span(row) ? 2 : 1;
        if (!trace_.is_span(row)) return;
        const int64_t duration_ns = trace_.duration_ns[row];
        kernel.shortest_ns = std::min(kernel.shortest_ns, duration_ns);
        Task& task = task_of(place.kernel, trace_.name[row]);
        add(task.total_ns, duration_ns);
        task.durations.push_back(duration_ns);
        OnSm& on_sm = task.on_sms[place.launch << 16 | place.sm];
        add(on_sm.total_ns, duration_ns);
        on_sm.last_end_ns = std::max(on_sm.last_end_ns, trace_.end_ns(row));
    }

    // Neighbouring rows mostly share their arguments.
    Place place_of(size_t row) {
        const std::string_view args = trace_.args_of(row);
        if (args.data() == last_args_.data() && trace_.track[row] == last_track_) return last_place_;
        const trace::Track& track = trace_.tracks[trace_.track[row]];
        const std::string& process = trace_.processes[track.process].name;
        const auto sm = uint32_t(trace::integer_argument(args, "sm")) & 0xFFFF;
        // A trace of a buffer alone has a process for each SM, and knows of no kernels.
        const bool is_alone = process == "SM " + std::to_string(sm);
        const auto [kernel, is_new] =
            kernel_numbers_.try_emplace(is_alone ? "" : process, uint32_t(kernels_.size()));
        if (is_new) kernels_.push_back({is_alone ? "" : process});
        const auto number = uint64_t(trace::integer_argument(args, "launch"));
        const auto launch =
            launches_
                .try_emplace({is_alone ? buffers_[track.process] : track.process, number}, launches_.size())
                .first;
        last_args_ = args;
        last_track_ = trace_.track[row];
        last_place_ = {kernel->second, launch->second, sm, uint64_t(trace::integer_argument(args, "block"))};
        return last_place_;
    }

    // Rows of one block mostly stand together; those of launches that overlap do not.
    void see_block(size_t row, const Place& place) {
        const BlockKey key{trace_.track[row], place.launch, place.block};
        if (last_block_ == nullptr || key != last_key_) {
            const auto [known, is_new] = blocks_.try_emplace(key, Block{place.kernel});
            last_block_ = &known->second;
            last_key_ = key;
            if (is_new && sms_.insert(place.launch << 16 | place.sm).second) ++sm_counts_[place.launch];
        }
        last_block_->first_ns = std::min(last_block_->first_ns, trace_.start_ns[row]);
        last_block_->last_ns = std::max(last_block_->last_ns, trace_.end_ns(row));
    }

    Task& task_of(uint32_t kernel, uint32_t name) {
        const auto [known, is_new] = task_numbers_.try_emplace({kernel, name}, tasks_.size());
        if (is_new) tasks_.push_back({kernel, name, 0, {}, {}});
        return tasks_[known->second];
    }

    TaskTimes times_of(Task& task) const {
        const Kernel& kernel = kernels_[task.kernel];
        TaskTimes times;
        times.kernel = kernel.name;
        times.task = trace_.strings[task.name];
        times.count = task.durations.size();
        times.total_ns = task.total_ns;
        std::sort(task.durations.begin(), task.durations.end());
        times.p50_ns = quantile(task.durations, 50);
        times.p99_ns = quantile(task.durations, 99);
        const double blocks_ns = double(std::max<int64_t>(1, kernel.blocks_ns));
        times.share = double(task.total_ns) / blocks_ns;
        times.recording =
            double(kernel.records) * double(std::max(least_record_ns, kernel.shortest_ns)) / blocks_ns;
        compare_sms(task, times);
        return times;
    }

    // The smallest value that so many percent do not exceed.
    static int64_t quantile(const std::vector<int64_t>& sorted, size_t percent) {
        return sorted[std::max<size_t>(1, (sorted.size() * percent + 99) / 100) - 1];
    }

    void compare_sms(const Task& task, TaskTimes& times) const {
        struct InLaunch {
            int64_t most_ns = 0, total_ns = 0, last_end_ns = INT64_MIN;
        };
        std::unordered_map<uint64_t, InLaunch> launches;
        for (const auto& [key, on_sm] : task.on_sms) {
            InLaunch& launch = launches[key >> 16];
            launch.most_ns = std::max(launch.most_ns, on_sm.total_ns);
            add(launch.total_ns, on_sm.total_ns);
            launch.last_end_ns = std::max(launch.last_end_ns, on_sm.last_end_ns);
        }
        double most_ns = 0, mean_ns = 0, idle_ns = 0;
        for (const auto& [number, launch] : launches) {
            most_ns += double(launch.most_ns);
            mean_ns += double(launch.total_ns) / double(sm_counts_.at(number));
        }
        for (const auto& [key, on_sm] : task.on_sms)
            idle_ns += double(launches[key >> 16].last_end_ns - on_sm.last_end_ns);
        if (mean_ns > 0) times.imbalance = most_ns / mean_ns;
        times.tail_ns = int64_t(idle_ns / double(task.on_sms.size()));
    }

    const Trace& trace_;
    const std::vector<uint32_t> buffers_;  // by process
    std::vector<Kernel> kernels_;
    std::vector<Task> tasks_;
    std::map<std::string, uint32_t> kernel_numbers_;
    std::map<std::pair<uint32_t, uint32_t>, size_t> task_numbers_;
    std::map<std::pair<uint32_t, uint64_t>, uint64_t> launches_;  // by process, or buffer, and number
    std::unordered_set<uint64_t> sms_;                            // by launch and SM
    std::unordered_map<uint64_t, uint64_t> sm_counts_;            // by launch
    std::map<BlockKey, Block> blocks_;
    BlockKey last_key_;
    Block* last_block_ = nullptr;
    std::string_view last_args_;
    uint32_t last_track_ = UINT32_MAX;
    Place last_place_;
};

}  // namespace

std::vector<TaskTimes> task_times(const Trace& trace) {
    return TaskCounter(trace).count();
}

}  // namespace kinetograph::intra_kernel
