// Hashes of 64 bits, for names and for inputs of operators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kinetograph::torch_observer {

inline constexpr uint64_t hash_factor = 0x9E3779B97F4A7C15, other_factor = 0xD1B54A32D192ED03;

// Both halves of the product: where neither is 0, a change in any bit of one may change all of them.
inline uint64_t folded_product(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide(a) * b;
    return uint64_t(product) ^ uint64_t(product >> 64);
}

// Any word, also 0, of which the inputs of operators have many.
inline uint64_t mixed(uint64_t hash, uint64_t word) {
    return folded_product(hash ^ word, hash_factor);
}

inline uint64_t word_at(const char* text, size_t bytes = sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text, bytes);
    return word;
}

// Sixteen bytes at a time, of which the last may overlap those before them: names have thirty characters or
// so. No block waits for the one before it; that each has a factor of its own tells their order, and the
// length tells apart what overlaps. No text has eight bytes in a row that would make a factor 0.
inline uint64_t hash_of(std::string_view text) {
    uint64_t hash = text.size() * hash_factor, step = hash_factor;
    if (text.size() < 8) return mixed(hash, word_at(text.data(), text.size()));
    const size_t last = text.size() - 8;
    for (size_t at = 0; at < last; at += 16, step += hash_factor)
        hash +=
            folded_product(word_at(&text[at]) ^ step, word_at(&text[std::min(at + 8, last)]) ^ other_factor);
    return folded_product(hash ^ word_at(&text[last]), other_factor);
}

}  // namespace kinetograph::torch_observer
