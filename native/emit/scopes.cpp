#include "emit/scopes.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "emit/open_ranges.h"
#include "record/thread_buffer.h"

namespace kinetograph::emit {

namespace {

constexpr size_t targets = 2;
constexpr const Tool* tools[targets] = {&nvtx_tool, &itt_tool};

uint32_t users[targets];          // under the lock
std::atomic<uint32_t> wanted{0};  // a bit for each that has some

bool is_wanted(size_t target) {
    return wanted.load(std::memory_order_relaxed) & 1u << target;
}

// What a program annotates itself it records; of scopes the recorder knows already.
bool is_recorder(const void* function) {
    Dl_info info{};
    if (!function || dladdr(function, &info) == 0 || !info.dli_fname) return false;
    const std::string_view path = info.dli_fname;
    return path.substr(path.rfind('/') + 1) == "libkinetograph_annotations.so";
}

bool takes_scopes(const Tool& tool) {
    return tool.is_listening() && !is_recorder(tool.function());
}

struct ThreadRanges {
    std::array<OpenRanges, targets> open{OpenRanges(*tools[0]), OpenRanges(*tools[1])};

    bool is_empty() const { return open[0].is_empty() && open[1].is_empty(); }
};

// One word of static TLS, as for the recorder.
constinit thread_local ThreadRanges* current __attribute__((tls_model("initial-exec"))) = nullptr;

struct Threads {
    std::mutex mutex;
    std::vector<ThreadRanges*> all;
};

void go_on_in_child();

// Never destroyed: threads end while the process exits.
Threads& threads() {
    static Threads& known = []() -> Threads& {
        base::on_fork([] { threads().mutex.lock(); }, [] { threads().mutex.unlock(); }, go_on_in_child);
        return *new Threads;
    }();
    return known;
}

// Under the lock.
void clear_bit_when_over() {
    const bool is_over = wanted.load(std::memory_order_relaxed) == 0 &&
                         std::ranges::all_of(threads().all, [](auto* each) { return each->is_empty(); });
    if (is_over) record::active.fetch_and(~uint32_t(record::active_emission), std::memory_order_relaxed);
}

// Of all threads only the one that forked is here, and nobody is left to end the scopes of others.
void go_on_in_child() {
    threads().all.clear();
    if (current) threads().all.push_back(current);
    clear_bit_when_over();
    threads().mutex.unlock();
}

// What a tool still has open of a thread that is gone is the tool's to end.
struct AtThreadExit {
    ~AtThreadExit() {
        const std::lock_guard lock(threads().mutex);
        std::erase(threads().all, current);
        delete current;
        current = nullptr;
        clear_bit_when_over();
    }
};

ThreadRanges& this_thread() {
    if (current) [[likely]]
        return *current;
    thread_local AtThreadExit at_exit;
    static_cast<void>(at_exit);
    auto made = std::make_unique<ThreadRanges>();
    const std::lock_guard lock(threads().mutex);
    threads().all.push_back(made.get());
    current = made.release();
    return *current;
}

void settle_after_stop() {
    const std::lock_guard lock(threads().mutex);
    clear_bit_when_over();
}

}  // namespace

void start(Target target) noexcept {
    if (!takes_scopes(*tools[size_t(target)])) return;
    const std::lock_guard lock(threads().mutex);
    ++users[size_t(target)];
    wanted.fetch_or(1u << size_t(target), std::memory_order_relaxed);
    record::active.fetch_or(record::active_emission, std::memory_order_relaxed);
}

void stop(Target target) noexcept {
    if (!takes_scopes(*tools[size_t(target)])) return;
    const std::lock_guard lock(threads().mutex);
    if (--users[size_t(target)] == 0) wanted.fetch_and(~(1u << size_t(target)), std::memory_order_relaxed);
    clear_bit_when_over();
}

bool is_on(Target target) noexcept {
    return is_wanted(size_t(target));
}

void begin_scope(const void* key, uintptr_t context, Range&& range, uint32_t to) noexcept try {
    uint32_t told = wanted.load(std::memory_order_relaxed) & to;
    for (; told & (told - 1); told &= told - 1)  // all but the last
        this_thread().open[std::countr_zero(told)].begin(key, context, range.copy());
    if (told) this_thread().open[std::countr_zero(told)].begin(key, context, std::move(range));
} catch (...) {
    // For want of memory a tool misses a scope.
}

void end_scope(const void* key, uintptr_t context) noexcept {
    if (!current) return;
    for (OpenRanges& open : current->open)
        if (!open.is_empty()) open.end(key, context);
    if (wanted.load(std::memory_order_relaxed) == 0 && current->is_empty()) [[unlikely]]
        settle_after_stop();
}

bool has_open_scopes() noexcept {
    return current && !current->is_empty();
}

void mark(const Range& range) noexcept {
    for (size_t target = 0; target < targets; ++target)
        if (is_wanted(target)) tools[target]->mark(range);
}

void count(Name& name, double value) noexcept {
    for (size_t target = 0; target < targets; ++target)
        if (is_wanted(target)) tools[target]->count(name, value);
}

}  // namespace kinetograph::emit
