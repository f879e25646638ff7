#include "emit/itt_client.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace kinetograph::emit::ittapi {

namespace {

constexpr const char* variable = "INTEL_LIBITTNOTIFY64";
constexpr int all_groups = -1;

extern itt::Global global;
Functions functions;

// As every client has it: a collector may do without these, and take what we make.

template <class Made>
void prepend(Made*& list, Made* made) {
    made->next = list;
    list = made;
}

struct Lock {
    Lock() { pthread_mutex_lock(&global.mutex); }
    ~Lock() { pthread_mutex_unlock(&global.mutex); }
};

itt::Domain* make_domain_here(const char* name) {
    const Lock lock;
    for (itt::Domain* known = global.domains; known; known = known->next)
        if (known->name && std::strcmp(known->name, name) == 0) return known;
    prepend(global.domains, new itt::Domain{1, strdup(name), nullptr, 0, nullptr, nullptr});
    return global.domains;
}

// Looked for only by us, who keep what we get: so a list will do.
itt::String* make_string_here(const char* text) {
    const Lock lock;
    for (itt::String* known = global.strings; known; known = known->next)
        if (known->text && std::strcmp(known->text, text) == 0) return known;
    prepend(global.strings, new itt::String{strdup(text), nullptr, 0, nullptr, nullptr});
    return global.strings;
}

itt::Counter* make_counter_here(const char* name, const char* domain, itt::Number type) {
    const Lock lock;
    prepend(global.counters, new itt::Counter{strdup(name), nullptr, strdup(domain), nullptr, int(type), 0, 0,
                                              nullptr, nullptr});
    return global.counters;
}

template <class Function>
itt::Api entry(const char* name, Function*& function, Function* otherwise = nullptr) {
    void* ours = reinterpret_cast<void*>(otherwise);
    return {name, reinterpret_cast<void**>(&function), ours, ours, all_groups};
}

itt::Api api[] = {
    entry("__itt_domain_create", functions.domain_create, make_domain_here),
    entry("__itt_string_handle_create", functions.string_handle_create, make_string_here),
    entry("__itt_task_begin", functions.task_begin),
    entry("__itt_task_end", functions.task_end),
    entry("__itt_task_begin_overlapped", functions.task_begin_overlapped),
    entry("__itt_task_end_overlapped", functions.task_end_overlapped),
    entry("__itt_marker", functions.marker),
    entry("__itt_metadata_add", functions.metadata_add),
    entry("__itt_counter_create_typed", functions.counter_create_typed, make_counter_here),
    entry("__itt_counter_set_value", functions.counter_set_value),
    entry("__itt_counter_set_value_v3", functions.counter_set_value_v3),
    entry("__itt_thread_set_name", functions.thread_set_name),
    entry("__itt_pause", functions.pause),
    entry("__itt_resume", functions.resume),
    entry("__itt_detach", functions.detach),
    {nullptr, nullptr, nullptr, nullptr, 0},
};

const char* library_path;

itt::Global global = [] {
    itt::Global client{};
    constexpr unsigned char magic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
    std::memcpy(client.magic, magic, sizeof magic);
    client.version_major = 3;
    client.version_build = 20210601;  // the first that has all the members which ours has
    client.is_mutex_initialized = 1;
    client.mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    client.library_path = &library_path;
    client.functions = api;
    return client;
}();

using Initialize = void(itt::Global*, int groups);

// A collector without an entry of its own has the functions themselves.
void take_exported_functions(void* library) {
    for (itt::Api* each = api; each->name; ++each) {
        void* found = dlsym(library, each->name);
        *each->function = found ? found : each->null_function;
    }
}

bool load() {
    const char* path = std::getenv(variable);
    void* library = path && *path ? dlopen(path, RTLD_LAZY) : nullptr;
    if (!library) return false;
    library_path = path;
    global.library = library;
    for (itt::Api* each = api; each->name; ++each) *each->function = each->null_function;
    if (auto* initialize = reinterpret_cast<Initialize*>(dlsym(library, "__itt_api_init")))
        initialize(&global, all_groups);
    else
        take_exported_functions(library);
    global.is_initialized = 1;
    return functions.domain_create && functions.string_handle_create;
}

}  // namespace

const Functions* collector() noexcept {
    static const bool is_there = load();
    return is_there ? &functions : nullptr;
}

}  // namespace kinetograph::emit::ittapi
