// The kernels around a time are found, whichever others there are.
#include <random>

#include "check.h"
#include "intra_kernel/kernel_index.h"

using namespace kinetograph;
using intra_kernel::KernelIndex;
using intra_kernel::KernelSpan;

namespace {

std::vector<uint32_t> found(const KernelIndex& index, uint64_t blocks, int64_t start_ns, int64_t end_ns) {
    std::vector<uint32_t> numbers;
    index.around(blocks, start_ns, end_ns, [&](uint32_t number) { numbers.push_back(number); });
    return numbers;
}

std::vector<KernelSpan> some_kernels(std::mt19937& random, size_t count) {
    std::vector<KernelSpan> kernels;
    int64_t start_ns = 0;
    for (size_t i = 0; i < count; ++i) {
        start_ns += random() % 50;
        const int64_t length_ns = random() % 20 == 0 ? 2'000 : random() % 60;
        kernels.push_back({start_ns, start_ns + length_ns, 1 + random() % 2});
    }
    return kernels;
}

}  // namespace

TEST(those_around_a_time_are_found_the_last_one_first) {
    std::mt19937 random(7);
    for (const size_t count : {1, 2, 3, 64, 201}) {
        const std::vector<KernelSpan> kernels = some_kernels(random, count);
        const KernelIndex index(kernels);
        for (int64_t at_ns = -10; at_ns < 6'000; at_ns += 37) {
            std::vector<uint32_t> expected;
            for (uint32_t i = uint32_t(count); i-- > 0;)
                if (kernels[i].blocks == 2 && kernels[i].start_ns <= at_ns && kernels[i].end_ns >= at_ns + 5)
                    expected.push_back(i);
            CHECK(found(index, 2, at_ns, at_ns + 5) == expected);
        }
    }
}

TEST(kernels_of_an_unknown_number_of_blocks_may_be_meant_too) {
    const std::vector<KernelSpan> kernels = {{0, 100, 4}, {10, 100, 0}, {20, 100, 8}};
    const KernelIndex index(kernels);
    CHECK((found(index, 4, 50, 60) == std::vector<uint32_t>{0, 1}));
    CHECK((found(index, 0, 50, 60) == std::vector<uint32_t>{1}));
    CHECK(found(index, 5, 5, 60).empty());
    CHECK(index.count(4) == 2 && index.count(0) == 1 && index.count(7) == 1);
}

TEST(no_kernels_are_none) {
    const KernelIndex index({});
    CHECK(found(index, 1, 0, 0).empty() && index.count(1) == 0);
}

CHECK_MAIN
