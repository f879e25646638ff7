#include "trace/collectives.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "trace/event_args.h"
#include "trace/launches.h"

namespace kinetograph::trace {

namespace {

constexpr std::string_view tells_of_collective = "record_param_comms";

// Those that Kineto gives to kernels, in its order.
constexpr std::array<std::string_view, 14> keys{"Collective name",
                                                "In msg nelems",
                                                "Out msg nelems",
                                                "Group size",
                                                "dtype",
                                                "Input Tensors start",
                                                "Output Tensors start",
                                                "In split size",
                                                "Out split size",
                                                "Process Group Name",
                                                "Process Group Description",
                                                "Process Group Ranks",
                                                "Dst Rank",
                                                "Src Rank"};

uint32_t find_name(const Strings& strings, std::string_view wanted) {
    for (uint32_t id = 1; id < strings.size(); ++id)
        if (strings[id] == wanted) return id;
    return 0;
}

void add(std::string& members, std::string_view member) {
    if (!members.empty()) members += ',';
    members += member;
}

std::string on_collective(std::string_view of_operator) {
    std::array<std::string_view, keys.size()> found;
    for (Arguments each(of_operator); each.next();) {
        const auto key = std::find(keys.begin(), keys.end(), each.key());
        if (key != keys.end()) found[size_t(key - keys.begin())] = each.member();
    }
    std::string members;
    for (const std::string_view member : found)
        if (!member.empty()) add(members, member);
    return members;
}

std::string joined(std::string_view of_kernel, const std::string& of_collective) {
    std::string members;
    for (Arguments each(of_kernel); each.next();)
        if (argument(of_collective, each.key()).empty()) add(members, each.member());
    add(members, of_collective);
    return members;
}

class Descriptions {
public:
    explicit Descriptions(Trace& trace) : trace_(trace) {}

    void describe(size_t kernel, size_t operation) {
        const auto [known, is_new] = texts_.try_emplace({place(kernel), place(operation)});
        if (is_new) known->second = written(trace_.args_of(kernel), trace_.args_of(operation));
        if (known->second.length != 0) trace_.args[kernel] = known->second;
    }

private:
    using Place = std::pair<uint64_t, uint64_t>;

    Place place(size_t row) const { return {trace_.args[row].offset, trace_.args[row].length}; }

    TextRange written(std::string_view of_kernel, std::string_view of_operator) {
        const std::string collective = on_collective(of_operator);
        if (collective.empty()) return {};
        const std::string text = joined(of_kernel, collective);
        const TextRange range{trace_.args_text.size(), text.size()};
        trace_.args_text.append(text.data(), text.size());
        return range;
    }

    Trace& trace_;
    std::map<std::pair<Place, Place>, TextRange> texts_;  // many kernels share one, as operators do
};

int32_t operator_around(const Trace& trace, const Nesting& nesting, int32_t row) {
    while (row >= 0 && trace.category[row] != uint8_t(Category::cpu_op)) row = nesting.parent[row];
    return row;
}

}  // namespace

void describe_collectives(Trace& trace) {
    if (trace.correlation.empty() || trace.args.empty()) return;
    const uint32_t name = find_name(trace.strings, tells_of_collective);
    if (name == 0) return;
    const Nesting nesting = nest(trace);
    const Launches launches(trace);
    Descriptions descriptions(trace);
    each_row(trace, [&](size_t row) {
        if (trace.category[row] != uint8_t(Category::kernel) || trace.correlation[row] == 0) return;
        const int32_t around = operator_around(trace, nesting, launches.find(trace.correlation[row]));
        if (around >= 0 && trace.name[around] == name) descriptions.describe(row, size_t(around));
    });
}

}  // namespace kinetograph::trace
