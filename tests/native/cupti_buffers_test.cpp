// The buffers between CUPTI and the decoder, without either.
#include "collect/cupti/buffers.h"

#include <chrono>

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

CHECK_MAIN
