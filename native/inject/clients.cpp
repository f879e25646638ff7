#include "inject/clients.h"

#include <dlfcn.h>

#include <mutex>
#include <string>
#include "inject/library_lock.h"

namespace kinetograph::inject {

namespace {

std::string& paths = *new std::string;  // a line for each

}  // namespace

void remember_client(const void* address) noexcept try {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || !info.dli_fname) return;
    std::lock_guard lock(library_mutex);
    paths.append(info.dli_fname).append("\n");
} catch (...) {
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
