#include "emit/scopes.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
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

std::atomic<Wish> wanted{0};  // by all users

Wish wanted_of(Wish wishes) {
    return wanted.load(std::memory_order_relaxed) & wishes;
}

bool is_any_wanted() {
    return wanted_of(UINT64_MAX) != 0;
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

struct User {
    uint64_t number;
    Wish wish;
};

struct Shared {
    std::mutex mutex;
    std::vector<ThreadRanges*> threads;
    std::vector<User> users;
};

void go_on_in_child();

// Never destroyed: threads end while the process exits.
Shared& shared() {
    static Shared& made = []() -> Shared& {
        base::on_fork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); }, go_on_in_child);
        return *new Shared;
    }();
    return made;
}

// Under the lock.
void clear_bit_when_over() {
    const bool is_over = !is_any_wanted() &&
                         std::ranges::all_of(shared().threads, [](auto* each) { return each->is_empty(); });
    if (is_over) record::active.fetch_and(~uint32_t(record::active_emission), std::memory_order_relaxed);
}

// Of all threads only the one that forked is here, and nobody is left to end the scopes of others.
void go_on_in_child() {
    shared().threads.clear();
    if (current) shared().threads.push_back(current);
    clear_bit_when_over();
    shared().mutex.unlock();
}

// What a tool still has open of a thread that is gone is the tool's to end.
struct AtThreadExit {
    ~AtThreadExit() {
        const std::lock_guard lock(shared().mutex);
        std::erase(shared().threads, current);
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
    const std::lock_guard lock(shared().mutex);
    shared().threads.push_back(made.get());
    current = made.release();
    return *current;
}

void settle_after_stop() {
    const std::lock_guard lock(shared().mutex);
    clear_bit_when_over();
}

}  // namespace

void start(Target target, uint64_t user, uint32_t kinds) noexcept try {
    if (!takes_scopes(*tools[size_t(target)])) return;
    const std::lock_guard lock(shared().mutex);
    shared().users.push_back({user, wish(target, kinds)});
    wanted.fetch_or(wish(target, kinds), std::memory_order_relaxed);
    record::active.fetch_or(record::active_emission, std::memory_order_relaxed);
} catch (...) {
    // For want of memory a tool misses all scopes.
}

void stop(uint64_t user) noexcept {
    const std::lock_guard lock(shared().mutex);
    std::erase_if(shared().users, [&](const User& each) { return each.number == user; });
    Wish left = 0;
    for (const User& other : shared().users) left |= other.wish;
    wanted.store(left, std::memory_order_relaxed);
    clear_bit_when_over();
}

bool is_on(Target target) noexcept {
    return is_wanted(wish(target));
}

bool is_wanted(Wish wishes) noexcept {
    return wanted_of(wishes) != 0;
}

void begin_scope(const void* key, uintptr_t context, Range&& range, Wish wishes) noexcept try {
    const Wish told = wanted_of(wishes);
    const bool to_nvtx = told & wish(Target::nvtx), to_itt = told & wish(Target::itt);
    if (to_nvtx && to_itt) [[unlikely]]
        this_thread().open[size_t(Target::nvtx)].begin(key, context, range.copy());
    if (told != 0) this_thread().open[to_itt].begin(key, context, std::move(range));
} catch (...) {
    // For want of memory a tool misses a scope.
}

void end_scope(const void* key, uintptr_t context) noexcept {
    if (!current) return;
    for (OpenRanges& open : current->open)
        if (!open.is_empty()) open.end(key, context);
    if (!is_any_wanted() && current->is_empty()) [[unlikely]]
        settle_after_stop();
}

void end_scopes(uint32_t category) noexcept {
    if (!current) return;
    for (OpenRanges& open : current->open) open.end_all(category);
    settle_after_stop();
}

bool has_open_scopes() noexcept {
    return current && !current->is_empty();
}

void mark(const Range& range) noexcept {
    for (size_t target = 0; target < targets; ++target)
        if (is_on(Target(target))) tools[target]->mark(range);
}

void count(Name& name, double value) noexcept {
    for (size_t target = 0; target < targets; ++target)
        if (is_on(Target(target))) tools[target]->count(name, value);
}

}  // namespace kinetograph::emit
