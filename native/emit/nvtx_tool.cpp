#include <atomic>
#include <iterator>

#include "emit/nvtx.h"
#include "emit/tool.h"

namespace kinetograph::emit {

namespace {

// PyTorch's kinds of scope, by their numbers, and what else we send.
constexpr const char* kinds[] = {
    "FUNCTION",          "BACKWARD_FUNCTION",    "TORCHSCRIPT_FUNCTION", "KERNEL_FUNCTION_DTYPE",
    "CUSTOM_CLASS",      "BUILD_FEATURE",        "LITE_INTERPRETER",     "USER_SCOPE",
    "STATIC_RUNTIME_OP", "STATIC_RUNTIME_MODEL", "python_function"};
static_assert(std::size(kinds) == python_function_category);

std::atomic<void*> known_domain{nullptr};

void* made_domain() {
    void* made = nvtx::make_domain(our_domain);
    uint32_t category = 0;
    for (const char* kind : kinds) nvtx::name_category(made, ++category, kind);
    return made;
}

// With each range, so without a call.
inline void* domain() {
    void* known = known_domain.load(std::memory_order_acquire);
    return known ? known : nvtx_scope_domain();
}

}  // namespace

// Once for all threads, or a tool might show two.
void* nvtx_scope_domain() noexcept {
    static void* ours = made_domain();
    known_domain.store(ours, std::memory_order_release);
    return ours;
}

namespace {

nvtx::Message message_of(const Range& range) {
    Name& name = *range.name;
    if (!name.is_kept) return {name.text.c_str(), nullptr};
    const auto ask = [&] { return nvtx::register_text(domain(), name.text.c_str()); };
    return {name.text.c_str(), asked_once(name.nvtx, ask)};
}

void count(Name& name, double value) {
    const auto ask = [&] { return nvtx::make_counter(domain(), name.text.c_str()); };
    const uint64_t counter = asked_once(name.nvtx_counter, ask);
    if (counter) nvtx::set_counter(domain(), counter, value);
}

}  // namespace

const Tool nvtx_tool = {
    [] { return nvtx::is_listening(); },
    [] { return nvtx::tool_function(); },
    [](const Range& range) { nvtx::push(domain(), message_of(range), range.look); },
    [] { nvtx::pop(domain()); },
    [](const Range& range) { return nvtx::start(domain(), message_of(range), range.look); },
    [](uint64_t range) { nvtx::end(domain(), range); },
    [](const Range& range) { nvtx::mark(domain(), message_of(range), range.look); },
    count,
};

}  // namespace kinetograph::emit
