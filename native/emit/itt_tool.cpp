#include "emit/itt.h"
#include "emit/tool.h"

namespace kinetograph::emit {

namespace {

itt::Domain* domain() {
    static itt::Domain* ours = ittapi::make_domain(our_domain);
    return ours;
}

// ITT knows no texts that are not kept.
itt::String* string_of(const Range& range) {
    Name& name = *range.name;
    void* string = asked_once(name.itt, [&]() -> void* { return ittapi::make_string(name.text.c_str()); });
    return static_cast<itt::String*>(string);
}

void count(Name& name, double value) {
    void* counter = asked_once(
        name.itt_counter, [&]() -> void* { return ittapi::make_counter(our_domain, name.text.c_str()); });
    ittapi::set_counter(static_cast<itt::Counter*>(counter), value);
}

}  // namespace

const Tool itt_tool = {
    [] { return ittapi::is_listening(); },
    [] { return ittapi::tool_function(); },
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
