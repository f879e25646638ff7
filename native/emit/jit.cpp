#include "emit/jit.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

namespace kinetograph::emit::jit {

namespace {

// The binary interface of the listener.

enum Event : int { method_load_finished = 13, method_unload_start = 14 };

struct MethodLoad {
    uint32_t id;
    char* name;
    void* address;
    uint32_t bytes;
    uint32_t line_count;
    Line* lines;
    uint32_t class_id;
    char* class_file;
    char* source_file;
};

struct Listener {
    unsigned (*notify)(unsigned event, void* data) = nullptr;
    unsigned mode = 0;  // 0: it is there, but wants to know nothing
};

Listener load() {
    const char* path = std::getenv("INTEL_JIT_PROFILER64");
    void* library = path && *path ? dlopen(path, RTLD_LAZY) : nullptr;
    if (!library) return {};
    Listener found;
    auto* initialize = reinterpret_cast<unsigned (*)()>(dlsym(library, "Initialize"));
    found.notify = reinterpret_cast<unsigned (*)(unsigned, void*)>(dlsym(library, "NotifyEvent"));
    if (!found.notify || !initialize) return {};
    found.mode = initialize();
    return found;
}

const Listener& listener() {
    static const Listener found = load();
    return found;
}

}  // namespace

bool is_active() noexcept {
    return listener().mode != 0;
}

uint32_t tell_loaded(const Method& method) noexcept {
    static std::atomic<uint32_t> last_id{
        999};  // smaller ones may be those of a runtime with numbers of its own
    if (!is_active()) return 0;
    MethodLoad load{};
    load.id = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
    load.name = const_cast<char*>(method.name);
    load.address = method.address;
    load.bytes = method.bytes;
    load.line_count = method.line_count;
    load.lines = method.lines;
    load.source_file = const_cast<char*>(method.source_file);
    return listener().notify(method_load_finished, &load) ? load.id : 0;
}

bool tell_unloaded(uint32_t method) noexcept {
    return is_active() && listener().notify(method_unload_start, &method) != 0;
}

}  // namespace kinetograph::emit::jit
