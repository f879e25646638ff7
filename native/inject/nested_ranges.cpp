#include "inject/nested_ranges.h"

#include <utility>
#include <vector>

#include "inject/counted_note.h"
#include "inject/record_table.h"
#include "inject/thread_state.h"

namespace kinetograph::inject {

namespace {

constexpr const char* without_room = "ranges lay within 65,536 others of their domain, and were not recorded";
static_assert(DomainRanges::most == 65'536);
CountedNote too_long{"partial", "arguments of ranges were left out: with them a range had more than 48 KiB"};
static_assert(longest_args == 48 * 1024);

DomainRanges& ranges_of(const Domain& domain) {
    std::vector<DomainRanges>& domains = this_thread().domains;
    for (DomainRanges& ranges : domains)
        if (ranges.domain == &domain) return ranges;
    return domains.emplace_back(DomainRanges{&domain, {}});
}

// Apart from the rest: most ranges have none, and whoever calls it would have to save more.
[[gnu::noinline]] void end_with_args(OpenRange& range, std::string_view more) {
    if (!append_args(range.args, more, longest_args_at_end)) too_long.count();
    recorder->end_with(range.name, range.args.data(), range.args.size());
}

int push(DomainRanges& ranges, uint32_t name, uint64_t number) {
    const size_t level = ranges.open.size() + ranges.beyond;
    if (ranges.open.size() < ranges.most) [[likely]]
        ranges.open.emplace_back(name, number);
    else
        ++ranges.beyond;
    return int(level);
}

// nullptr where none is recorded.
OpenRange* innermost(DomainRanges& ranges) {
    const bool has_one = !ranges.open.empty() && ranges.beyond == 0 && ranges.open.back().name != 0;
    return has_one ? &ranges.open.back() : nullptr;
}

}  // namespace

bool append_args(std::string& args, std::string_view more, size_t most) {
    if (args.size() + more.size() >= most) return false;
    if (!args.empty() && !more.empty()) args += ',';
    args += more;
    return true;
}

bool append_args(std::string& args, std::string&& more) {
    if (!args.empty() || more.size() >= longest_args) return append_args(args, std::string_view(more));
    args = std::move(more);
    return true;
}

int push_range(const Domain& domain, uint32_t name, uint64_t number) {
    DomainRanges& ranges = ranges_of(domain);
    const bool has_room = ranges.open.size() < ranges.most;
    if (!has_room && name != 0) [[unlikely]]
        recorder->note("too_deep", without_room, 1);
    const bool is_recorded =
        has_room && name != 0 && recorder->begin(name, domain.category(), domain.scope()) != 0;
    return push(ranges, is_recorded ? name : 0, number);
}

int push_range(Annotation&& annotation) {
    const int level = push_range(annotation.domain, annotation.name);
    describe_range(annotation.domain, std::move(annotation.args));
    return level;
}

int push_unrecorded(const Domain& domain, uint64_t number) {
    return push(ranges_of(domain), 0, number);
}

int pop_range(const Domain& domain, std::string_view more_args) {
    DomainRanges& ranges = ranges_of(domain);
    if (OpenRange* range = innermost(ranges)) {
        if (range->args.empty() && more_args.empty()) [[likely]]
            recorder->end(range->name);
        else
            end_with_args(*range, more_args);
    }
    if (ranges.beyond != 0)
        --ranges.beyond;
    else if (ranges.open.empty())
        return -1;
    else
        ranges.open.pop_back();
    return int(ranges.open.size() + ranges.beyond);
}

void describe_range(const Domain& domain, std::string&& args) {
    if (args.empty()) return;
    OpenRange* range = innermost(ranges_of(domain));
    if (range && !append_args(range->args, std::move(args))) too_long.count();
}

uint64_t innermost_number(const Domain& domain) {
    const DomainRanges& ranges = ranges_of(domain);
    return ranges.open.empty() || ranges.beyond != 0 ? 0 : ranges.open.back().number;
}

}  // namespace kinetograph::inject
