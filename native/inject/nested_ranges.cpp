#include "inject/nested_ranges.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "inject/record_table.h"
#include "inject/thread_state.h"

namespace kinetograph::inject {

namespace {

using OpenRanges = std::vector<OpenRange>;

// Mostly the last one.
OpenRanges::reverse_iterator innermost(OpenRanges& ranges, const Domain& domain) {
    return std::find_if(ranges.rbegin(), ranges.rend(),
                        [&](const OpenRange& open) { return open.domain == &domain; });
}

void append_members(std::string& members, std::string_view more) {
    if (!members.empty() && !more.empty()) members += ',';
    members += more;
}

int push(const Domain& domain, uint32_t name, std::string args) {
    OpenRanges& ranges = this_thread().open_ranges;
    const auto around = innermost(ranges, domain);
    const int level = around == ranges.rend() ? 0 : around->level + 1;
    ranges.push_back({&domain, level, name, std::move(args)});
    return level;
}

void end(const OpenRange& range) {
    if (range.args.empty())
        recorder->end(range.name);
    else
        recorder->end_with(range.name, range.args.data(), range.args.size());
}

}  // namespace

int push_range(Annotation annotation) {
    const Domain& domain = annotation.domain;
    const bool is_recorded = recorder->begin(annotation.name, domain.category(), domain.scope()) != 0;
    return is_recorded ? push(domain, annotation.name, std::move(annotation.args)) : push_unrecorded(domain);
}

int push_unrecorded(const Domain& domain) {
    return push(domain, 0, {});
}

int pop_range(const Domain& domain, std::string_view more_args) {
    OpenRanges& ranges = this_thread().open_ranges;
    const auto range = innermost(ranges, domain);
    if (range == ranges.rend()) return -1;
    if (range->name != 0) {
        append_members(range->args, more_args);
        end(*range);
    }
    const int level = range->level;
    ranges.erase(std::prev(range.base()));
    return level;
}

void describe_range(const Domain& domain, std::string_view args) {
    OpenRanges& ranges = this_thread().open_ranges;
    const auto range = innermost(ranges, domain);
    if (range != ranges.rend() && range->name != 0) append_members(range->args, args);
}

}  // namespace kinetograph::inject
