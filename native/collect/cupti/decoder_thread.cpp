#include <algorithm>
#include <chrono>

#include "base/quiet_thread.h"
#include "collect/cupti/decoder.h"
#include "record/recorder.h"

namespace kinetograph::collect::cupti {

namespace {

constexpr std::string_view not_understood =
    "buffers of CUPTI held records that are incomplete or of an unknown kind; what stood behind those is "
    "lost";

constexpr int after_want_of_memory_ms = 1000;

using Clock = std::chrono::steady_clock;

int milliseconds_until(Clock::time_point then) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - Clock::now());
    return int(std::max<int64_t>(left.count(), 0));
}

}  // namespace

DecoderThread::DecoderThread(Buffers& buffers, CallLog& calls, std::function<int()> look_around,
                             std::function<void()> tell_again)
    : buffers_(buffers),
      calls_(calls),
      look_around_(std::move(look_around)),
      tell_again_(std::move(tell_again)),
      thread_(base::start_quietly("kg-cupti", [this] { run(); })) {}

void DecoderThread::run() {
    Clock::time_point next_look = Clock::now();
    for (;;) {
        const bool was_stopping = is_stopping_.load(std::memory_order_acquire);
        const Buffers::Filled filled = buffers_.take(was_stopping ? 0 : milliseconds_until(next_look));
        // Work comes behind the calls that launched it, or a session that ends in between had it without
        // them.
        if (filled || calls_.take_shortage()) calls_.hand_over();
        decode_calls();
        // Also while buffers come without end, of a program that goes on.
        tell_what_waits();
        tell_what_may_be_gone();
        if (filled) {
            decode(filled);
            continue;
        }
        if (was_stopping) return;
        // Not whenever we are woken: what is handed over there wakes us again.
        if (Clock::now() >= next_look) next_look = Clock::now() + look_around();
    }
}

std::chrono::milliseconds DecoderThread::look_around() {
    int next_ms = after_want_of_memory_ms;
    record::tell_or_count(nullptr, [&] {
        if (RecordDecoder* decoder = decoder_.load(std::memory_order_acquire)) decoder->see_clock();
        next_ms = look_around_();
    });
    return std::chrono::milliseconds(next_ms);
}

void DecoderThread::decode(const Buffers::Filled& filled) {
    record::ThreadBuffer* thread = record::serving_thread();
    RecordDecoder* decoder = decoder_.load(std::memory_order_acquire);
    if (thread && decoder && !decoder->decode(*thread, filled))
        record::tell_note(*thread, "dropped", not_understood, 1);
    buffers_.give_back(filled);
}

// Not without end, although more may come all the time: others wait for what is done next. There are no more
// chunks than this, and those that come now are met in the next turn.
void DecoderThread::decode_calls() {
    for (size_t i = 0; i < CallLog::most_chunks; ++i) {
        std::unique_ptr<CallLog::Chunk> chunk = calls_.take();
        if (!chunk) return;
        record::ThreadBuffer* thread = record::serving_thread();
        RecordDecoder* decoder = decoder_.load(std::memory_order_acquire);
        if (thread && decoder) decoder->decode(*thread, *chunk);
        calls_.give_back(std::move(chunk));
    }
}

void DecoderThread::tell_what_waits() {
    {
        std::lock_guard lock(mutex_);
        if (!to_tell_) return;
        if (record::ThreadBuffer* thread = record::serving_thread())
            record::tell_or_count(thread, [&] { (*to_tell_)(*thread); });
        to_tell_ = nullptr;
    }
    told_.notify_all();
}

void DecoderThread::tell_what_may_be_gone() {
    constexpr uint64_t extents_between = 4;  // of 64 KiB
    const record::ThreadBuffer* thread = record::serving_thread();
    if (!thread || thread->discards || thread->next_order < told_until_) return;
    record::tell_or_count(nullptr, [&] {
        tell_again_();
        told_until_ = thread->next_order + extents_between;
    });
}

void DecoderThread::tell(const std::function<void(record::ThreadBuffer&)>& tell) {
    {
        std::unique_lock lock(mutex_);
        told_.wait(lock, [this] { return to_tell_ == nullptr; });
        to_tell_ = &tell;
    }
    buffers_.wake();
    std::unique_lock lock(mutex_);
    told_.wait(lock, [&] { return to_tell_ != &tell; });
}

void DecoderThread::stop() {
    is_stopping_.store(true, std::memory_order_release);
    buffers_.wake();
    thread_.join();
}

}  // namespace kinetograph::collect::cupti
