#include "inject/process.h"

#include <dlfcn.h>
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
    if (recorder->session_start(&options) != 0) std::atexit([] { recorder->process_ends(); });
}

}  // namespace

void take_part_in_run() noexcept {
    static std::once_flag once;
    try {
        std::call_once(once, [] {
            const char* directory = std::getenv("KINETOGRAPH_RUN");
            if (is_of_a_run(directory) && !is_listening() && !is_python()) begin_session(directory);
        });
    } catch (...) {
        // The program goes on without us.
    }
}

}  // namespace kinetograph::inject
