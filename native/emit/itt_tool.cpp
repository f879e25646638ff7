#include "emit/itt.h"
#include "emit/tool.h"

namespace kinetograph::emit {

namespace {

itt::Domain* domain() {
    static itt::Domain* ours = ittapi::make_domain(our_domain);
    return ours;
}

itt::String* string_of(const Range& range) {
    Name& name = *range.name;
    void* known = name.itt.load(std::memory_order_acquire);
    if (!known) [[unlikely]] {
        known = ittapi::make_string(name.text.c_str());  // ITT knows no texts that are not kept
        name.itt.store(known, std::memory_order_release);
    }
    return static_cast<itt::String*>(known);
}

void count(Name& name, double value) {
    void* counter = name.itt_counter.load(std::memory_order_acquire);
    if (!counter) {
        counter = ittapi::make_counter(our_domain, name.text.c_str());
        name.itt_counter.store(counter, std::memory_order_release);
    }
    ittapi::set_counter(static_cast<itt::Counter*>(counter), value);
}

}  // namespace

const Tool itt_tool = {
    [] { return ittapi::is_listening(); },
    [](const Range& range) { ittapi::begin(domain(), string_of(range), range.look.payload); },
    [] { ittapi::end(domain()); },
    [](const Range& range) {
        return ittapi::begin_overlapped(domain(), string_of(range), range.look.payload);
    },
    [](uint64_t task) { ittapi::end_overlapped(domain(), task); },
    [](const Range& range) { ittapi::mark(domain(), string_of(range)); },
    count,
};

}  // namespace kinetograph::emit
