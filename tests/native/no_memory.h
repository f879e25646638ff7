// Lets a test be without memory, in one of its threads or in a library's. For one file of a program.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// How many more allocations of this thread succeed; less than 0: all.
thread_local int allocations_left = -1;
// And what else there is to it, if anything.
std::atomic<bool (*)()> fails_here{nullptr};

struct NoMemoryAfter {
    explicit NoMemoryAfter(int allocations) { allocations_left = allocations; }
    ~NoMemoryAfter() { allocations_left = -1; }
};

bool is_out_of_memory() {
    bool (*const fails)() = fails_here.load();
    return allocations_left == 0 || (fails && fails());
}

void* allocate(size_t bytes) {
    if (is_out_of_memory()) throw std::bad_alloc();
    if (allocations_left > 0) --allocations_left;
    if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
    throw std::bad_alloc();
}

}  // namespace

#pragma GCC visibility push(default)
void* operator new(size_t bytes) {
    return allocate(bytes);
}
void* operator new[](size_t bytes) {
    return allocate(bytes);
}
// Of the standard library, for buffers that it can do without.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
    return is_out_of_memory() ? nullptr : std::malloc(bytes ? bytes : 1);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
    std::free(memory);
}
#pragma GCC visibility pop
