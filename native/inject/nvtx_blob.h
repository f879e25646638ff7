// Bytes of a payload that are there to be read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kinetograph::inject {

struct Blob {
    const char* data;
    size_t size;

    // Without a known end, as what a program's pointer leads to.
    static Blob from(const char* data) { return {data, SIZE_MAX - reinterpret_cast<uintptr_t>(data)}; }

    Blob at(size_t offset) const {
        return offset <= size ? Blob{data + offset, size - offset} : Blob{nullptr, 0};
    }
    Blob first(size_t bytes) const { return {data, std::min(size, bytes)}; }

    template <class T>
    bool read(T& value) const {
        if (size < sizeof value) return false;
        std::memcpy(&value, data, sizeof value);
        return true;
    }
};

}  // namespace kinetograph::inject
