// The memory that CUPTI writes records to, on its way from us to CUPTI and back.
//
// The two callbacks run in threads of the program, under CUPTI's locks: they never allocate once the pool has
// grown, take no lock but this one, and take it only to move a pointer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace kinetograph::collect::cupti {

class Buffers {
public:
    static constexpr size_t buffer_bytes = size_t(1) << 20;
    static constexpr size_t most_buffers = 256;

    struct Filled {
        uint8_t* data = nullptr;
        size_t valid_bytes = 0;
        explicit operator bool() const { return data != nullptr; }
    };

    // No more than these from now on; those that somebody has he keeps.
    void limit_to(size_t bytes);
    // Frees what nobody has, but for some.
    void shrink();

    // For CUPTI: zeroed memory, or nullptr at the ceiling. Then it drops records and counts them.
    uint8_t* request() noexcept;
    // For CUPTI. One that it has from somebody else is left alone, and remembered: its size tells, too, for a
    // tool that freed ours may have got the same address again.
    void complete(uint8_t* data, size_t bytes, size_t valid_bytes) noexcept;

    // For the decoder: the oldest filled one, or none after about `wait_ms`, or when `wake` is called or was
    // since the last time that there was none.
    Filled take(int wait_ms);
    // Zeroes it, as CUPTI expects buffers to be.
    void give_back(const Filled& filled);
    void wake();

    // Until every buffer that is filled by now has been taken and given back.
    void wait_until_decoded();
    // Buffers that CUPTI has now.
    size_t outstanding() const;
    // Whether buffers of somebody else came, since the last time this was asked.
    bool take_foreign();
    // Those that CUPTI has will not come back, since others are in our place: theirs from now on.
    void abandon_outstanding();

private:
    static constexpr size_t alignment = 64;
    static constexpr size_t fewest_buffers = 8, kept_buffers = 4;
    // Not in front of the data: a tool that takes our place may free that, as it frees its own.
    struct Node {
        uint8_t* data = nullptr;
        Node* next = nullptr;
        size_t valid_bytes = 0;
        bool is_outstanding = false;
    };
    // nullptr where it is not ours; of nullptr, one that has no memory.
    Node* node_of(const uint8_t* data);
    Node* make_node() noexcept;
    void free_down_to(size_t count);

    mutable std::mutex mutex_;
    std::condition_variable changed_;  // for the decoder
    std::condition_variable decoded_;  // for those who wait for it
    Node* free_ = nullptr;
    Node* first_filled_ = nullptr;
    Node* last_filled_ = nullptr;
    Node nodes_[most_buffers];
    size_t allowed_ = most_buffers, made_ = 0;
    size_t outstanding_ = 0;
    bool saw_foreign_ = false;
    uint64_t completed_ = 0, given_back_ = 0;  // so many, in the same order
    bool is_woken_ = false;
};

}  // namespace kinetograph::collect::cupti
