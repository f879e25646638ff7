#include "inject/itt_names.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "inject/library_lock.h"
#include "inject/names.h"
#include "inject/text.h"
#include "inject/thread_state.h"

namespace kinetograph::inject {

namespace {

// A handle and the text it points to.
template <class Handle>
struct Made {
    std::string text;
    Handle handle{};
};

template <class Handle>
struct Handles {
    std::map<std::string, std::unique_ptr<Made<Handle>>, std::less<>> by_text;
};

// Never destroyed: handles are in foreign hands.
template <class Handle>
Made<Handle>& made(std::string_view text) {
    static Handles<Handle>& handles = *new Handles<Handle>;
    std::lock_guard lock(library_mutex);
    const auto known = handles.by_text.find(text);
    if (known != handles.by_text.end()) return *known->second;
    auto fresh = std::make_unique<Made<Handle>>();
    fresh->text = text;
    return *handles.by_text.emplace(text, std::move(fresh)).first->second;
}

itt::String* make_string(std::string_view text) {
    Made<itt::String>& string = made<itt::String>(text);
    string.handle.text = string.text.c_str();
    return &string.handle;
}

}  // namespace

itt::Domain* itt_domain(const char* name) {
    Made<itt::Domain>& domain = made<itt::Domain>(text_of(name));
    if (!domain.handle.name) domain.handle.flags = 1;  // later it is the program's
    domain.handle.name = domain.text.c_str();
    return &domain.handle;
}

itt::String* itt_string(const char* characters) {
    const std::string_view text = text_of(characters);
    if (text.size() > RecentTexts<itt::String*>::longest) return make_string(text);
    auto& recent = this_thread().itt_strings.entry(nullptr, text);
    if (!recent.is(nullptr, text)) recent.set(nullptr, text, make_string(text));
    return recent.value;
}

// Many threads may find out at once; they all find the same.
Domain& domain_of(const itt::Domain* domain) {
    if (!domain) return default_domain();
    void** ours = &const_cast<itt::Domain*>(domain)->ours;
    if (void* known = __atomic_load_n(ours, __ATOMIC_ACQUIRE)) return *static_cast<Domain*>(known);
    Domain& found = domain_named(text_of(domain->name));
    __atomic_store_n(ours, &found, __ATOMIC_RELEASE);
    return found;
}

std::string_view text_of(const itt::String* string) {
    return string ? text_of(string->text) : "";
}

// Most texts are used in one domain.
uint32_t name_of(const Domain& domain, const itt::String* string) {
    if (!string) return name_id(domain, "");
    void** ours = &const_cast<itt::String*>(string)->ours;
    auto* known = static_cast<const RegisteredName*>(__atomic_load_n(ours, __ATOMIC_ACQUIRE));
    if (!known) {
        known = &registered_name(domain, text_of(string->text));
        __atomic_store_n(ours, const_cast<RegisteredName*>(known), __ATOMIC_RELEASE);
    }
    return &known->domain() == &domain ? known->id() : name_id(domain, text_of(string->text));
}

}  // namespace kinetograph::inject
