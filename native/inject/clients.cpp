#include "inject/clients.h"

#include <dlfcn.h>

#include <mutex>
#include <string>
#include "inject/library_lock.h"

namespace kinetograph::inject {

namespace {

std::string& paths = *new std::string;  // a line for each

// nullptr where it is in none.
const char* path_of(const void* address) {
    Dl_info info{};
    return dladdr(address, &info) == 0 ? nullptr : info.dli_fname;
}

}  // namespace

void remember_client(const void* address) noexcept try {
    const char* path = path_of(address);
    if (!path) return;
    std::lock_guard lock(library_mutex);
    paths.append(path).append("\n");
} catch (...) {
}

bool is_in_library(const void* address, std::string_view name) noexcept {
    const char* path = path_of(address);
    if (!path) return false;
    const std::string_view text = path;
    return text.substr(text.rfind('/') + 1) == name;
}

}  // namespace kinetograph::inject

// For the notes of a session: a copy of as much as there is room for, and how long all of it is.
extern "C" __attribute__((visibility("default"))) size_t kinetograph_annotating_libraries(char* room,
                                                                                          size_t bytes) {
    using namespace kinetograph::inject;
    std::lock_guard lock(library_mutex);
    if (room && bytes != 0) room[paths.copy(room, bytes - 1)] = '\0';
    return paths.size();
}
