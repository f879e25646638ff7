// Turns CUPTI's records into ours, in a thread of its own that has no part in Python and logs nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "collect/cupti/buffers.h"
#include "collect/cupti/call_log.h"
#include "collect/cupti/calls.h"
#include "collect/cupti/clock_map.h"
#include "collect/cupti/memory.h"
#include "collect/cupti/record_sizes.h"
#include "collect/cupti/shapes.h"
#include "record/thread_buffer.h"

namespace kinetograph::collect::cupti {

// Everything that is known of a libcupti once it is attached.
class RecordDecoder {
public:
    RecordDecoder(const Cupti& cupti, std::vector<Device> devices)
        : cupti_(cupti), sizes_(cupti.version), wanted_(cupti), shapes_(cupti, std::move(devices)) {}

    // Appends what the buffer holds. False when a part of it could not be understood.
    bool decode(record::ThreadBuffer& thread, const Buffers::Filled& filled);
    void decode(record::ThreadBuffer& thread, const CallLog::Chunk& chunk);
    // Now and then, so that times of the wall clock are known in between.
    void see_clock() { clock_.anchor(); }
    const WantedCalls& wanted() const { return wanted_; }
    // From any thread: streams have other numbers once CUPTI was let go of, and those that exist are told
    // anew. Calls that recorded events are not in the next trace, where others may have their numbers.
    void forget_numbers() { forgets_numbers_.store(true, std::memory_order_relaxed); }
    // The end of the last record, in ticks.
    uint64_t last_tick() const { return last_tick_.load(std::memory_order_relaxed); }
    uint64_t records() const { return records_.load(std::memory_order_relaxed); }
    // Work that was not finished when its record came, since the last time this was asked.
    uint64_t take_unfinished() { return unfinished_.exchange(0, std::memory_order_relaxed); }
    // Of the decoder's thread only: what streams there were, as JSON; empty where none was told of.
    std::string streams_json() const;
    // Calls of cuCtxSynchronize, of which flushing makes some itself: they tell that records still come to
    // us.
    uint64_t synchronizations() const { return synchronizations_.load(std::memory_order_relaxed); }

private:
    struct EventRecord {
        uint32_t stream, correlation;
    };
    struct Stream {
        int32_t priority;
        uint32_t kind;
    };
    struct Work {
        uint64_t start, end;
        uint32_t name;
        record::Category category;
        uint32_t correlation;
        record::DeviceWork details;
        std::string_view own_members;
    };

    void decode_record(record::ThreadBuffer& thread, const uint8_t* record, size_t bytes);
    void add_kernel(record::ThreadBuffer& thread, const CUpti_ActivityKernel10& kernel,
                    std::optional<int32_t> priority);
    void add_copy(record::ThreadBuffer& thread, const CUpti_ActivityMemcpy6& copy);
    void add_peer_copy(record::ThreadBuffer& thread, const CUpti_ActivityMemcpyPtoP4& copy);
    void add_set(record::ThreadBuffer& thread, const CUpti_ActivityMemset4& set);
    void see_stream(const CUpti_ActivityStream& stream);
    void see_driver_call(const CUpti_ActivityAPI& call);
    void add_call(record::ThreadBuffer& thread, int32_t tid, const LoggedCall& call);
    void add_synchronization(record::ThreadBuffer& thread, const CUpti_ActivitySynchronization2& sync);
    void add_event(record::ThreadBuffer& thread, const CUpti_ActivityCudaEvent2& event);
    void add_overhead(record::ThreadBuffer& thread, const CUpti_ActivityOverhead3& overhead);
    void add_compilation(record::ThreadBuffer& thread, const CUpti_ActivityJit2& jit, size_t bytes);
    void add_memory(record::ThreadBuffer& thread, const ToldMemory& memory);
    void append_work(record::ThreadBuffer& thread, const Work& work);
    void append_call(record::ThreadBuffer& thread, record::Category category, uint64_t start, uint64_t end,
                     uint32_t name, uint32_t correlation, const record::ThreadSpan& details,
                     std::string_view own_members = {});
    uint32_t device_of(uint32_t context) const;

    const Cupti& cupti_;
    RecordSizes sizes_;
    WantedCalls wanted_;
    Shapes shapes_;
    ClockMap clock_;
    std::unordered_map<uint32_t, uint32_t> devices_;    // of contexts
    std::unordered_map<uint64_t, EventRecord> events_;  // by context and event
    std::map<uint64_t, Stream> streams_;                // by context and stream
    std::atomic<bool> forgets_numbers_{false};
    std::atomic<uint64_t> last_tick_{0};
    std::atomic<uint64_t> records_{0};
    std::atomic<uint64_t> synchronizations_{0};
    std::atomic<uint64_t> unfinished_{0};
};

// A member of the trace's metadata, told by the calling thread.
void tell_metadata(record::ThreadBuffer& thread, std::string_view key, std::string_view json);

// The thread that decodes. `look_around` is called now and then while there is nothing to decode; it says in
// how many milliseconds again.
class DecoderThread {
public:
    // `tell_again` is called whenever the thread has written so much that a ring may have let go of what was
    // told before.
    DecoderThread(Buffers& buffers, CallLog& calls, std::function<int()> look_around,
                  std::function<void()> tell_again);
    void stop();  // after what is filled has been decoded
    // From any thread; nullptr while nothing is attached.
    void use(RecordDecoder* decoder) { decoder_.store(decoder, std::memory_order_release); }
    // Calls `tell` in the decoder's thread, with its buffer if a session records it, and waits for that.
    void tell(const std::function<void(record::ThreadBuffer&)>& tell);

private:
    void run();
    std::chrono::milliseconds look_around();
    void decode(const Buffers::Filled& filled);
    void decode_calls();
    void tell_what_waits();
    void tell_what_may_be_gone();

    Buffers& buffers_;
    CallLog& calls_;
    const std::function<int()> look_around_;
    const std::function<void()> tell_again_;
    uint64_t told_until_ = 0;  // extents of the thread; its own
    std::atomic<RecordDecoder*> decoder_{nullptr};
    std::atomic<bool> is_stopping_{false};
    std::mutex mutex_;
    std::condition_variable told_;
    const std::function<void(record::ThreadBuffer&)>* to_tell_ = nullptr;
    std::thread thread_;
};

}  // namespace kinetograph::collect::cupti
