#include "inject/process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <string>

#include "inject/record_table.h"

namespace kinetograph::inject {

namespace {

// Its own `kinetograph.pth` begins a session, and knows more of what is wanted.
bool is_python() {
    return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr;
}

// A daemon may outlive the run that started it.
bool is_of_a_run(const char* directory) {
    return directory && access((std::string(directory) + "/run.json").c_str(), R_OK) == 0;
}

void begin_session(const char* directory) {
    kinetograph_session_options options{};
    options.size = sizeof options;
    options.all_threads = 1;
    options.directory = directory;
    const std::string name = program_invocation_short_name;
    recorder->name_process(name.data(), name.size());
    if (recorder->session_start(&options) == 0) return;
    // Children inherit both.
    static const bool is_followed = [] {
        return std::atexit([] { recorder->process_ends(); }) == 0 &&
               pthread_atfork(nullptr, nullptr, [] { is_forked.store(true, std::memory_order_relaxed); }) ==
                   0;
    }();
    (void)is_followed;
}

// The program goes on without us where that fails.
void begin_session_of_run() noexcept try {
    const char* directory = std::getenv("KINETOGRAPH_RUN");
    if (is_of_a_run(directory) && !is_recording() && !is_python()) begin_session(directory);
} catch (...) {
}

}  // namespace

std::atomic<bool> is_forked{false};

void take_part_in_run() noexcept {
    static std::once_flag once;
    try {
        std::call_once(once, begin_session_of_run);
    } catch (...) {
        // A lock that cannot be had.
    }
}

bool take_part_as_child() noexcept {
    if (is_forked.exchange(false, std::memory_order_relaxed)) begin_session_of_run();
    return is_recording();
}

}  // namespace kinetograph::inject
