#include "inject/nested_ranges.h"

#include <utility>
#include <vector>

#include "inject/record_table.h"
#include "inject/thread_state.h"

namespace kinetograph::inject {

namespace {

DomainRanges& ranges_of(const Domain& domain) {
    std::vector<DomainRanges>& domains = this_thread().domains;
    for (DomainRanges& ranges : domains)
        if (ranges.domain == &domain) return ranges;
    return domains.emplace_back(DomainRanges{&domain, {}});
}

void append_members(std::string& members, std::string_view more) {
    if (!members.empty() && !more.empty()) members += ',';
    members += more;
}

int push(DomainRanges& ranges, uint32_t name, uint64_t number, std::string&& args) {
    const size_t level = ranges.open.size() + ranges.beyond;
    if (ranges.open.size() < ranges.most)
        ranges.open.emplace_back(name, number, std::move(args));
    else
        ++ranges.beyond;
    return int(level);
}

void end(const OpenRange& range) {
    if (range.args.empty())
        recorder->end(range.name);
    else
        recorder->end_with(range.name, range.args.data(), range.args.size());
}

// nullptr where none is recorded.
OpenRange* innermost(DomainRanges& ranges) {
    const bool has_one = !ranges.open.empty() && ranges.beyond == 0 && ranges.open.back().name != 0;
    return has_one ? &ranges.open.back() : nullptr;
}

}  // namespace

int push_range(Annotation&& annotation, uint64_t number) {
    const Domain& domain = annotation.domain;
    DomainRanges& ranges = ranges_of(domain);
    const bool has_room = ranges.open.size() < ranges.most;
    const bool is_recorded = has_room && annotation.name != 0 &&
                             recorder->begin(annotation.name, domain.category(), domain.scope()) != 0;
    return push(ranges, is_recorded ? annotation.name : 0, number, std::move(annotation.args));
}

int push_unrecorded(const Domain& domain) {
    return push(ranges_of(domain), 0, 0, {});
}

int pop_range(const Domain& domain, std::string_view more_args) {
    DomainRanges& ranges = ranges_of(domain);
    if (OpenRange* range = innermost(ranges)) {
        append_members(range->args, more_args);
        end(*range);
    }
    if (ranges.beyond != 0)
        --ranges.beyond;
    else if (ranges.open.empty())
        return -1;
    else
        ranges.open.pop_back();
    return int(ranges.open.size() + ranges.beyond);
}

void describe_range(const Domain& domain, std::string_view args) {
    if (OpenRange* range = innermost(ranges_of(domain))) append_members(range->args, args);
}

uint64_t innermost_number(const Domain& domain) {
    const OpenRange* range = innermost(ranges_of(domain));
    return range ? range->number : 0;
}

}  // namespace kinetograph::inject
