// Python strings, read as bytes and turned into UTF-8 without asking Python.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/python_samples/memory_reader.h"

namespace kinetograph::collect {

// A string object as it was found, so that a later look can tell whether it is still the same.
class RemoteText {
public:
    // False when there is no string at this address.
    bool load(const MemoryReader& memory, uintptr_t address);

    // Where a later look has to read, into `into`. Empty for strings that keep their characters elsewhere (of
    // classes derived from str): those are loaded anew.
    Piece piece(std::vector<std::byte>& into) const;
    bool is_same(const std::vector<std::byte>& bytes) const;

    // As tracing spells it: what UTF-8 has no form for is written as Python's backslashreplace does.
    const std::string& utf8() const { return utf8_; }

private:
    uintptr_t address_ = 0;
    size_t data_offset_ = 0;
    bool is_in_one_piece_ = false;
    std::vector<std::byte> object_;  // header and characters
    std::string utf8_;
};

}  // namespace kinetograph::collect
