// Reading memory that may not be there.
#include "collect/python_samples/memory_reader.h"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "check.h"

using namespace kinetograph;

namespace {

constexpr size_t page = 4096;

// Two pages, of which the second cannot be read.
class HalfMapped {
public:
    HalfMapped() {
        memory_ = static_cast<char*>(
            mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        std::memset(memory_, 'x', page);
        munmap(memory_ + page, page);
    }
    ~HalfMapped() { munmap(memory_, page); }
    uintptr_t end() const { return reinterpret_cast<uintptr_t>(memory_ + page); }

private:
    char* memory_;
};

}  // namespace

TEST(what_is_there_is_read) {
    const collect::MemoryReader memory;
    const uint64_t value = 4711;
    uint64_t found = 0;
    CHECK(memory.read(reinterpret_cast<uintptr_t>(&value), found) && found == value);
}

TEST(what_is_not_there_is_an_answer_and_no_crash) {
    const collect::MemoryReader memory;
    const HalfMapped half;
    uint64_t found = 0;
    CHECK(memory.read(half.end() - 8, found));
    CHECK(!memory.read(half.end() - 4, found));
    CHECK(!memory.read(half.end(), found));
    CHECK(!memory.read(0, found));
    CHECK(!memory.read(UINTPTR_MAX - 64, found));
}

TEST(many_pieces_are_all_read_or_none_counts) {
    const collect::MemoryReader memory;
    std::array<uint32_t, 1000> values, found{};
    std::vector<collect::Piece> pieces;
    for (uint32_t i = 0; i < values.size(); ++i) {
        values[i] = i;
        pieces.push_back({reinterpret_cast<uintptr_t>(&values[i]), &found[i], sizeof values[i]});
    }
    CHECK(memory.read(pieces) && found == values);
    pieces.back().address = 0;
    CHECK(!memory.read(pieces));
    CHECK(memory.read(std::span<const collect::Piece>{}));
}

CHECK_MAIN
