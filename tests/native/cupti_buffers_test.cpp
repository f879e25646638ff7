// The buffers between CUPTI and the decoder, without either.
#include "collect/cupti/buffers.h"

#include <chrono>
#include <vector>

#include "check.h"

using kinetograph::collect::cupti::Buffers;

namespace {

constexpr int long_ms = 10'000;

// Whether nothing was there, and that at once.
bool finds_nothing_at_once(Buffers& buffers) {
    const auto begin = std::chrono::steady_clock::now();
    const bool is_empty = !buffers.take(long_ms);
    return is_empty && std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(long_ms / 2);
}

}  // namespace

TEST(who_is_woken_before_he_waits_does_not_wait) {
    static Buffers buffers;  // for ever, as in the collector: it frees nothing
    buffers.wake();
    CHECK(finds_nothing_at_once(buffers));
}

TEST(who_is_woken_while_he_decodes_does_not_wait_afterwards) {
    static Buffers buffers;  // for ever, as in the collector: it frees nothing
    buffers.complete(buffers.request(), Buffers::buffer_bytes, 8);
    buffers.wake();
    const Buffers::Filled filled = buffers.take(long_ms);
    CHECK(filled);
    buffers.give_back(filled);
    CHECK(finds_nothing_at_once(buffers));
}

TEST(a_buffer_of_another_tool_is_not_ours_although_it_lies_where_ours_was) {
    static Buffers buffers;  // for ever, as in the collector: it frees nothing
    uint8_t* const ours = buffers.request();
    buffers.complete(ours, Buffers::buffer_bytes / 16, 8);
    CHECK(buffers.take_foreign());
    CHECK(!buffers.take(0));
    CHECK(buffers.outstanding() == 1);
}

TEST(there_are_no_more_than_allowed_and_few_once_they_are_not_needed) {
    static Buffers buffers;  // for ever, as in the collector
    constexpr size_t allowed = 16;
    buffers.limit_to(allowed * Buffers::buffer_bytes);
    std::vector<uint8_t*> taken;
    while (uint8_t* buffer = buffers.request()) taken.push_back(buffer);
    CHECK(taken.size() == allowed);
    for (uint8_t* buffer : taken) buffers.complete(buffer, Buffers::buffer_bytes, 8);
    while (const Buffers::Filled filled = buffers.take(0)) buffers.give_back(filled);
    buffers.shrink();
    buffers.limit_to(0);  // fewer than there are
    CHECK(buffers.request() != nullptr);
    buffers.limit_to(SIZE_MAX);
    for (size_t i = 1; i < Buffers::most_buffers; ++i) CHECK(buffers.request() != nullptr);
    CHECK(buffers.request() == nullptr);
}

CHECK_MAIN
