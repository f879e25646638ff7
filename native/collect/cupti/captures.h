// Captures of CUDA graphs that are under way, as CUPTI's callbacks around calls tell of them. To wait for a
// device would break them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collect/cupti/library.h"

namespace kinetograph::collect::cupti {

class Captures {
public:
    // Makes CUPTI call back for what begins and ends one.
    static void watch(const Cupti& cupti, CUpti_SubscriberHandle subscriber);

    // At the exit of any call, in threads of the program. Takes no lock.
    void see(CUpti_CallbackDomain domain, uint32_t callback, const CUpti_CallbackData& call) noexcept;
    // Whether there is one whose begin was seen.
    bool is_any_under_way() const noexcept;
    void forget() noexcept;

private:
    void add(CUstream stream) noexcept;
    void remove(CUstream stream) noexcept;

    // More at a time are not followed.
    std::array<std::atomic<CUstream>, 64> streams_{};
};

}  // namespace kinetograph::collect::cupti
