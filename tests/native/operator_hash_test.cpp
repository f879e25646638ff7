// Hashes by which the observer of PyTorch's operators finds names and inputs again. A bad one shows nowhere
// but in what recording costs.
#include "hash.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "check.h"

using kinetograph::torch_observer::hash_of;
using kinetograph::torch_observer::mixed;

namespace {

// As many as there are places for inputs to be kept.
constexpr size_t places = 512;

// Of a copy that ends where the text does, so that a sanitizer sees who reads on.
uint64_t hash_of_exactly(const std::string& text) {
    const auto exact = std::make_unique<char[]>(text.size());
    std::copy(text.begin(), text.end(), exact.get());
    return hash_of({exact.get(), text.size()});
}

uint64_t hash_of_words(const std::vector<uint64_t>& words) {
    uint64_t hash = words.size();
    for (const uint64_t word : words) hash = mixed(hash, word);
    return hash;
}

}  // namespace

TEST(texts_of_every_length_differ_and_none_is_read_beyond_its_end) {
    std::set<uint64_t> seen;
    for (size_t length = 0; length <= 200; ++length) seen.insert(hash_of_exactly(std::string(length, 'a')));
    CHECK(seen.size() == 201);
}

TEST(every_byte_of_a_text_counts) {
    for (const size_t length : {1u, 7u, 8u, 9u, 15u, 16u, 17u, 24u, 25u, 31u, 32u, 33u, 100u}) {
        const std::string text(length, 'a');
        std::set<uint64_t> seen{hash_of(text)};
        for (size_t i = 0; i < length; ++i) {
            std::string changed = text;
            changed[i] = 'b';
            seen.insert(hash_of_exactly(changed));
        }
        CHECK(seen.size() == length + 1);
    }
}

TEST(the_order_of_blocks_counts) {
    const std::string first = "aten::convolutio", second = "n_backward::slow";
    CHECK(hash_of(first + second) != hash_of(second + first));
    CHECK(hash_of(first + first + second) != hash_of(first + second + first));
}

// As sizes, strides and flags of tensors have them: most keys differ in a number or two, among zeros and
// ones.
TEST(words_of_zero_and_one_leave_keys_apart) {
    std::set<uint64_t> hashes, taken;
    for (uint64_t name = 0; name < 32; ++name)
        for (uint64_t size = 1; size <= 1024; size *= 2) {
            const uint64_t hash = hash_of_words({name << 8 | 1, 'T', size, 64, 64, 1, 0, 0, 1, 0});
            hashes.insert(hash);
            taken.insert(hash % places);
        }
    CHECK(hashes.size() == 32 * 11);
    CHECK(taken.size() > places / 3);  // at random, 352 of them take half
}

CHECK_MAIN
