#include "format/sequence_arrows.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <ranges>
#include <span>
#include <string_view>
#include <tuple>

#include "format/kineto_words.h"

namespace kinetograph::format {

namespace {

// Each thread of a process counts for itself.
struct Number {
    uint32_t process;
    int64_t sequence;
    auto operator<=>(const Number&) const = default;
};

struct Operator {
    Number number;
    uint32_t thread;  // that of the forward pass, by the framework's numbers; 0: not known
    int64_t start_ns;
    uint32_t row;
};

bool is_forward_before(const Operator& a, const Operator& b) {
    return std::tie(a.number, a.start_ns) < std::tie(b.number, b.start_ns);
}

bool is_backward_before(const Operator& a, const Operator& b) {
    return std::tie(a.number, a.thread, a.start_ns) < std::tie(b.number, b.thread, b.start_ns);
}

bool are_of_one_node(const Operator& a, const Operator& b) {
    return a.number == b.number && a.thread == b.thread;
}

uint32_t told_forward_thread(const trace::Trace& trace, size_t row) {
    const std::string_view args = trace.args_of(row);
    const size_t at = args.find(forward_thread);
    uint32_t thread = 0;
    if (at != args.npos) {
        const std::string_view digits = args.substr(at + forward_thread.size());
        std::from_chars(digits.data(), digits.data() + digits.size(), thread);
    }
    return thread;
}

uint32_t own_thread(const trace::Trace& trace, size_t row) {
    const trace::Track& track = trace.tracks[trace.track[row]];
    return track.parent >= 0 ? trace.tracks[size_t(track.parent)].framework_thread : track.framework_thread;
}

Operator operator_of(const trace::Trace& trace, size_t row, uint32_t thread) {
    const uint32_t process = trace.tracks[trace.track[row]].process;
    return {{process, trace.sequence[row]}, thread, trace.start_ns[row], static_cast<uint32_t>(row)};
}

// Those in front that belong to one node of the backward pass.
std::span<const Operator> take_node(std::span<const Operator>& backward) {
    const auto is_other = [&](const Operator& op) { return !are_of_one_node(backward.front(), op); };
    const auto end = std::find_if(backward.begin(), backward.end(), is_other);
    const std::span<const Operator> node(backward.begin(), end);
    backward = {end, backward.end()};
    return node;
}

// Those of a number, without those in front of them: several nodes may have the same.
std::span<const Operator> take_numbered(std::span<const Operator>& forward, const Number& number) {
    const auto is_before = [&](const Operator& op) { return op.number < number; };
    forward = {std::find_if_not(forward.begin(), forward.end(), is_before), forward.end()};
    const auto is_of_it = [&](const Operator& op) { return op.number == number; };
    return {forward.begin(), std::find_if_not(forward.begin(), forward.end(), is_of_it)};
}

// The last one of the thread that is told of; where no thread fits, of those that are not known.
const Operator* source_of(const Operator& backward, std::span<const Operator> forward) {
    const Operator* unknown = nullptr;
    for (const Operator& op : std::views::reverse(forward)) {
        if (op.thread == backward.thread || backward.thread == 0) return &op;
        if (op.thread == 0 && !unknown) unknown = &op;
    }
    return unknown;
}

bool is_engine(const trace::Trace& trace, size_t row) {
    return trace.strings[trace.name[row]].starts_with(autograd_engine);
}

void sort_by_row(std::vector<FlowEnd>& ends) {
    std::sort(ends.begin(), ends.end(), [](FlowEnd a, FlowEnd b) { return a.row < b.row; });
}

void draw(const trace::Trace& trace, std::span<const Operator> forward, std::span<const Operator> backward,
          SequenceArrows& arrows) {
    std::vector<bool> has_arrow(trace.sequence.size());
    while (!backward.empty()) {
        const std::span<const Operator> node = take_node(backward);
        const Operator* source = source_of(node.front(), take_numbered(forward, node.front().number));
        if (!source || has_arrow[source->row]) continue;
        has_arrow[source->row] = true;
        const bool is_within_engine = is_engine(trace, node.front().row) && node.size() > 1;
        const auto id = static_cast<uint32_t>(arrows.forward.size() + 1);
        arrows.forward.push_back({source->row, id});
        arrows.backward.push_back({node[is_within_engine ? 1 : 0].row, id});
    }
}

}  // namespace

SequenceArrows sequence_arrows(const trace::Trace& trace) {
    std::vector<Operator> forward, backward;
    for (size_t row = 0; row < trace.sequence.size(); ++row) {
        if (trace.sequence[row] < 0) continue;
        const uint32_t told = told_forward_thread(trace, row);
        const bool is_backward = told != 0 || trace.scope[row] == uint8_t(RecordScope::backward_function);
        const uint32_t thread = is_backward ? told : own_thread(trace, row);
        (is_backward ? backward : forward).push_back(operator_of(trace, row, thread));
    }
    std::stable_sort(forward.begin(), forward.end(), is_forward_before);
    std::stable_sort(backward.begin(), backward.end(), is_backward_before);
    SequenceArrows arrows;
    draw(trace, forward, backward, arrows);
    sort_by_row(arrows.forward);
    sort_by_row(arrows.backward);
    return arrows;
}

}  // namespace kinetograph::format
