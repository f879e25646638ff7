// Operators that end in another thread than that which began them: a future may end a range of the program's
// or a function of TorchScript's. Only their own thread can record that, so it is told, and does so before it
// begins or ends anything else.
#pragma once

#include <ATen/record_function.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace kinetograph::torch_observer {

// What is known of an operator when it ends.
struct Ending {
    int64_t sequence;
    uint64_t forward_thread;
    at::RecordScope scope;
    uint64_t number;  // 0 unless an execution trace is taken, by us or by torch

    explicit Ending(const at::RecordFunction& function)
        : sequence(function.seqNr()),
          forward_thread(function.forwardThreadId()),
          scope(function.scope()),
          number(function.handle()) {}
};

struct EndedElsewhere {
    const at::RecordFunction* function;  // gone by now: only to find it again
    int registration;
    uint64_t at;  // ticks
    Ending ending;
};

class Elsewhere {
public:
    // A load in order would wait for what the recorder has just written; the lock orders what is taken.
    bool has_any() const { return has_any_.load(std::memory_order_relaxed); }
    // By other threads.
    void add(const EndedElsewhere& ended) {
        const std::lock_guard lock(mutex_);
        ended_.push_back(ended);
        has_any_.store(true, std::memory_order_relaxed);
    }
    // None while another is being told; and where a fork has left the lock as it was, for ever.
    std::vector<EndedElsewhere> take() {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return {};
        has_any_.store(false, std::memory_order_relaxed);
        return std::exchange(ended_, {});
    }

private:
    std::atomic<bool> has_any_{false};
    std::mutex mutex_;
    std::vector<EndedElsewhere> ended_;
};

// Goes with an operator that may end elsewhere, to whoever ends it.
struct Begun : at::ObserverContext {
    explicit Begun(std::shared_ptr<Elsewhere> owner) : owner(std::move(owner)) {}
    const std::shared_ptr<Elsewhere> owner;
};

inline bool may_end_elsewhere(at::RecordScope scope) {
    return scope == at::RecordScope::USER_SCOPE || scope == at::RecordScope::TORCHSCRIPT_FUNCTION;
}

}  // namespace kinetograph::torch_observer
