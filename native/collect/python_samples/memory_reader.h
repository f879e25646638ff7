// Reads memory of this process through the kernel, which answers with an error where a pointer would crash.
//
// For memory that others change and free meanwhile. What was read may be a mix of old and new; whoever reads
// has to tell. Knows no Python, and may be used from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kinetograph::collect {

// Where to read, and where to put it.
struct Piece {
    uintptr_t address;
    void* into;
    size_t bytes;
};

class MemoryReader {
public:
    // Throws std::runtime_error with the reason where the system allows no way.
    MemoryReader();
    ~MemoryReader();
    MemoryReader(const MemoryReader&) = delete;

    // All of it or false.
    bool read(uintptr_t address, void* into, size_t bytes) const noexcept;
    // One after the other in the order given, and as closely as can be.
    bool read(std::span<const Piece> pieces) const noexcept;

    template <class T>
    bool read(uintptr_t address, T& into) const noexcept {
        return read(address, &into, sizeof into);
    }

private:
    bool read_with_call(std::span<const Piece> pieces) const noexcept;
    bool read_from_file(std::span<const Piece> pieces) const noexcept;

    int pid_;
    int file_ = -1;  // /proc/self/mem, where the system call is forbidden
};

}  // namespace kinetograph::collect
