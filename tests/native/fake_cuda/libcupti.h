// What the two halves of the fake CUPTI know of each other.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <functional>
#include <mutex>

namespace fake {

// Who subscribed, and who gets the buffers.
struct Client {
    CUpti_CallbackFunc callback = nullptr;
    void* data = nullptr;
    CUpti_BuffersCallbackRequestFunc request = nullptr;
    CUpti_BuffersCallbackCompleteFunc complete = nullptr;
    CUpti_TimestampCallbackFunc timestamp = nullptr;
    bool follows_compilations = false;  // not before the first call that is recorded or called back for
};

extern std::recursive_mutex mutex;
extern Client client;

// The first thing that every function does. The real one may crash when it is called too early.
CUptiResult enter(const char* function);
bool is_enabled(uint32_t kind);
bool records_call(bool is_driver, uint32_t callback);
bool calls_back(CUpti_CallbackDomain domain, uint32_t callback);
uint64_t now();
uint32_t pretended_version();

// What the program calls, with all that is recorded of it.
uint32_t make_call(uint32_t runtime_callback, const std::function<void(uint32_t correlation)>& within);
// As long as the version it pretends to be has it.
void add_record(const void* record, size_t bytes);

// Of a sample in an image of the client's.
uint64_t sample_value(const uint8_t* image, size_t index);
bool samples_anything();
// The real one crashes or hangs.
void die(const char* why);

// Hands the buffer that is being filled to the client.
void complete_buffer();
CUptiResult next_record(uint8_t* buffer, size_t valid, CUpti_Activity** record);
size_t take_dropped();
// Called by the fake driver.
void see_driver_call(uint32_t callback);

}  // namespace fake

#define CUPTI_FAKE extern "C" __attribute__((visibility("default"))) CUptiResult
#define ENTER(name)                                          \
    std::lock_guard<std::recursive_mutex> lock(fake::mutex); \
    if (const CUptiResult failure = fake::enter(name)) return failure
