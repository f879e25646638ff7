#include "format/flows.h"

#include <algorithm>
#include <string_view>

#include "format/kineto_words.h"

namespace kinetograph::format {

namespace {

struct Operator {
    int64_t sequence;
    int64_t start_ns;
    uint32_t row;
    bool operator<(const Operator& other) const {
        return sequence != other.sequence ? sequence < other.sequence : start_ns < other.start_ns;
    }
};

bool is_backward(const trace::Trace& trace, size_t row) {
    if (trace.scope[row] == uint8_t(RecordScope::backward_function)) return true;
    const std::string_view args = trace.args_of(row);
    const size_t at = args.find(forward_thread);
    return at != args.npos && args.substr(at + forward_thread.size(), 1) != "0";
}

bool is_engine(const trace::Trace& trace, size_t row) {
    return trace.strings[trace.name[row]].starts_with(autograd_engine);
}

void sort_if_needed(trace::Column<int64_t>& ids) {
    if (!std::is_sorted(ids.begin(), ids.end())) std::sort(ids.begin(), ids.end());
}

void sort_by_row(std::vector<FlowEnd>& ends) {
    std::sort(ends.begin(), ends.end(), [](FlowEnd a, FlowEnd b) { return a.row < b.row; });
}

}  // namespace

Flows::Flows(const trace::Trace& trace)
    : trace_(trace), launch_side_(trace.storage), device_side_(trace.storage) {
    for (const std::string_view category : trace.categories) {
        is_launch_category_.push_back(category.ends_with("_runtime") || category.ends_with("_driver"));
    }
    collect_correlations();
    collect_sequences();
}

void Flows::collect_correlations() {
    if (trace_.correlation.empty()) return;
    trace::each_row(trace_, [this](size_t row) {
        if (trace_.correlation[row] == 0) return;
        if (is_launch(row)) launch_side_.push_back(trace_.correlation[row]);
        if (on_device(row)) device_side_.push_back(trace_.correlation[row]);
    });
    sort_if_needed(launch_side_);
    sort_if_needed(device_side_);
}

// Several operators may share a number: a forward operator and the ones it calls. The arrow leaves the last
// and reaches the first, as PyTorch draws it, which is not the engine that evaluates it.
void Flows::collect_sequences() {
    std::vector<Operator> forward, backward;
    for (size_t row = 0; row < trace_.sequence.size(); ++row) {
        if (trace_.sequence[row] < 0) continue;
        const Operator op{trace_.sequence[row], trace_.start_ns[row], static_cast<uint32_t>(row)};
        (is_backward(trace_, row) ? backward : forward).push_back(op);
    }
    std::stable_sort(forward.begin(), forward.end());
    std::stable_sort(backward.begin(), backward.end());
    auto target = backward.begin();
    for (auto source = forward.begin(); source != forward.end(); ++source) {
        if (source + 1 != forward.end() && source[1].sequence == source->sequence) continue;
        while (target != backward.end() && target->sequence < source->sequence) ++target;
        if (target == backward.end() || target->sequence != source->sequence) continue;
        if (is_engine(trace_, target->row) && target + 1 != backward.end() &&
            target[1].sequence == target->sequence)
            ++target;
        const auto id = static_cast<uint32_t>(forward_.size() + 1);
        forward_.push_back({source->row, id});
        backward_.push_back({target->row, id});
    }
    sort_by_row(forward_);
    sort_by_row(backward_);
}

bool Flows::is_launch(size_t row) const {
    return is_launch_category_[trace_.category[row]] && !on_device(row);
}

bool Flows::on_device(size_t row) const {
    return trace_.tracks[trace_.track[row]].device_type != 0;
}

bool Flows::in(const trace::Column<int64_t>& correlations, size_t row) const {
    if (correlations.empty()) return false;
    return std::binary_search(correlations.begin(), correlations.end(), trace_.correlation[row]);
}

}  // namespace kinetograph::format
