#include "inject/nested_ranges.h"

#include <pthread.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "inject/record_table.h"

namespace kinetograph::inject {

namespace {

struct Open {
    const Domain* domain;
    int level;
    uint32_t name;  // 0: it is not recorded
    std::string args;
};

thread_local std::vector<Open> open_ranges;

// A forked child records nothing of what was begun before it was.
void forget_in_child() {
    for (Open& range : open_ranges) range.name = 0;
}
const int forgets_in_child = pthread_atfork(nullptr, nullptr, forget_in_child);

// Mostly the last one.
std::vector<Open>::reverse_iterator innermost(const Domain& domain) {
    return std::find_if(open_ranges.rbegin(), open_ranges.rend(),
                        [&](const Open& open) { return open.domain == &domain; });
}

int level_of_next(const Domain& domain) {
    const auto around = innermost(domain);
    return around == open_ranges.rend() ? 0 : around->level + 1;
}

void append_members(std::string& members, std::string_view more) {
    if (!members.empty() && !more.empty()) members += ',';
    members += more;
}

void end(const Open& range) {
    if (range.args.empty())
        recorder->end(range.name);
    else
        recorder->end_with(range.name, range.args.data(), range.args.size());
}

}  // namespace

int push_range(const Annotation& annotation) {
    const Domain& domain = annotation.domain;
    if (recorder->begin(annotation.name, domain.category(), domain.scope()) == 0)
        return push_unrecorded(domain);
    const int level = level_of_next(domain);
    open_ranges.push_back({&domain, level, annotation.name, annotation.args});
    return level;
}

int push_unrecorded(const Domain& domain) {
    const int level = level_of_next(domain);
    open_ranges.push_back({&domain, level, 0, {}});
    return level;
}

int pop_range(const Domain& domain, std::string_view more_args) {
    const auto range = innermost(domain);
    if (range == open_ranges.rend()) return -1;
    append_members(range->args, more_args);
    if (range->name != 0) end(*range);
    const int level = range->level;
    open_ranges.erase(std::prev(range.base()));
    return level;
}

void describe_range(const Domain& domain, std::string_view args) {
    const auto range = innermost(domain);
    if (range != open_ranges.rend() && range->name != 0) append_members(range->args, args);
}

}  // namespace kinetograph::inject
