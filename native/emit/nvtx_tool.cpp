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

}  // namespace

void* nvtx_scope_domain() noexcept {
    static void* ours = [] {
        void* made = nvtx::make_domain(our_domain);
        uint32_t category = 0;
        for (const char* kind : kinds) nvtx::name_category(made, ++category, kind);
        return made;
    }();
    return ours;
}

namespace {

// Registered twice in the worst case, which does no harm.
nvtx::Message message_of(const Range& range) {
    Name& name = *range.name;
    void* known = name.nvtx.load(std::memory_order_acquire);
    if (!known && name.is_kept) [[unlikely]] {
        known = nvtx::register_text(nvtx_scope_domain(), name.text.c_str());
        name.nvtx.store(known, std::memory_order_release);
    }
    return {name.text.c_str(), known};
}

void count(Name& name, double value) {
    uint64_t counter = name.nvtx_counter.load(std::memory_order_acquire);
    if (!counter) {
        counter = nvtx::make_counter(nvtx_scope_domain(), name.text.c_str());
        name.nvtx_counter.store(counter, std::memory_order_release);
    }
    if (counter) nvtx::set_counter(nvtx_scope_domain(), counter, value);
}

}  // namespace

const Tool nvtx_tool = {
    [] { return nvtx::is_listening(); },
    [](const Range& range) { nvtx::push(nvtx_scope_domain(), message_of(range), range.look); },
    [] { nvtx::pop(nvtx_scope_domain()); },
    [](const Range& range) { return nvtx::start(nvtx_scope_domain(), message_of(range), range.look); },
    [](uint64_t range) { nvtx::end(nvtx_scope_domain(), range); },
    [](const Range& range) { nvtx::mark(nvtx_scope_domain(), message_of(range), range.look); },
    count,
};

}  // namespace kinetograph::emit
