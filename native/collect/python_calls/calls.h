// Python calls as spans of their thread: what the hooks into the interpreter do with what they see.
//
// The hooks (hook.h) run with the GIL, in the thread that calls. A thread's stack of open calls follows its
// frames; whoever records for the first time, or under a new configuration, finds its stack by walking them.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "collect/python_calls/code_names.h"
#include "collect/python_calls/object_names.h"
#include "collect/python_calls/own_calls.h"
#include "record/object_name.h"
#include "record/thread_buffer.h"

namespace kinetograph::collect {

struct CallOptions {
    WantedFunctions wanted;
    uint32_t max_depth = UINT32_MAX;
    int64_t min_duration_ns = 0;
    bool c_calls = false;
    bool call_lines = false;
    bool python_calls = true;
    bool garbage_collection = true;
    bool scope_stacks = false;
};

// Read on every call, written with the GIL.
struct CallRules {
    uint32_t generation = 0;
    // CodeWord::upper_half of the functions whose calls are recorded without further questions.
    uint32_t plain_word = CodeWord::upper_half_of_none;
    bool takes_plain_calls = false;
    uint32_t max_depth = UINT32_MAX;
    uint64_t least_ticks = 0;
    uint64_t started_at = 0;
    bool with_lines = false;
    bool with_calls = false;
    bool with_greenlets = false;
    bool with_objects = false;  // all calls that are named by object, however brief
};
KINETOGRAPH_INTERNAL extern CallRules rules;

// What was decided and found under the rules so far no longer holds.
void begin_generation();
// Whether a hook may record calls without further questions.
void take_plain_calls(bool takes_them);

inline constexpr uint32_t call_meta =
    record::open_meta(record::Category::python_function, record::RecordScope::function);
inline constexpr uint32_t resumed_meta =
    record::open_meta(record::Category::python_function, record::RecordScope::function, record::flag_resumed);
inline constexpr uint32_t garbage_meta =
    record::open_meta(record::Category::python_function, record::RecordScope::function, record::flag_garbage);
inline constexpr uint32_t builtin_meta =
    record::open_meta(record::Category::python_function, record::RecordScope::function, record::flag_builtin);
inline constexpr uint32_t object_bit = uint32_t(record::flag_object) << 16;

// Begin, or go on, to record as `options` say. False with an exception set.
bool start_calls(const CallOptions& options);
void stop_calls();

// As name_by_object, also while calls are recorded. False with an exception set.
bool name_calls_by_object(PyCodeObject* code, std::string kind);

// The frames of the calls that a thread has open, outermost first, without those we have made ourselves.
struct OpenFrames {
    struct Call {
        Frame* frame;
        uint32_t name;
        uint32_t meta_bits;  // beside those that all calls have
    };
    std::vector<Call> frames;
    // Where this moment lies in a call of one of our functions: that function's frame, and the call's.
    uintptr_t own_frame = 0;
    uintptr_t own_call = 0;
    uint32_t hidden = 0;  // others, around all of these, which nobody wants to see
};
OpenFrames open_frames(PyThreadState* state, bool includes_current);

// The slow paths. `includes_current`: whether the innermost frame is one of the calls that are open.
void find_open_calls(record::ThreadBuffer& thread, bool includes_current) noexcept;
// `entering` is a frame that is about to run and not on the stack yet, or nullptr.
record::ThreadBuffer* first_event_of_thread(void* entering) noexcept;
// Of the function with which every thread of the threading module begins.
bool is_bootstrap_of_thread(const PyCodeObject* code);
uint32_t line_of_caller() noexcept;
uint32_t line_now(PyThreadState* state) noexcept;
void end_innermost_call(record::ThreadBuffer& thread) noexcept;
// Another stack of frames goes on in this thread.
void change_stack(record::ThreadBuffer& thread) noexcept;

inline record::ThreadBuffer* calling_thread(void* entering = nullptr) noexcept {
    if (!record::current_thread) [[unlikely]]
        return first_event_of_thread(entering);
    return record::recording_thread();
}

// Of a code object that is new, or was decided on under other rules.
CodeWord decide_anew(PyCodeObject* code);

inline CodeWord decision_on(PyCodeObject* code) {
    const CodeWord word = word_of(code);
    return word.generation() == rules.generation ? word : decide_anew(code);
}

// Of the frame of a call that is recorded.
inline uint32_t name_of_call(CodeWord word, const Frame* frame) {
    const uint32_t of_object = word.is_by_object() ? object_name(frame) : 0;
    return of_object != 0 ? of_object : word.name_in_stacks();
}
inline uint32_t meta_bits_of(CodeWord word) {
    return word.is_by_object() ? object_bit : 0;
}

// The name of the innermost call that is named by object; 0 when none is open.
uint32_t open_object_name(const record::Lane& calls);

inline uint64_t least_ticks_of(CodeWord word) {
    return word.is_by_object() && rules.with_objects ? 0 : rules.least_ticks;
}

// `includes_current` as in find_open_calls.
inline void enter(record::ThreadBuffer& thread, uint32_t name, uint32_t meta,
                  bool includes_current) noexcept {
    if (thread.calls_generation != rules.generation) [[unlikely]]
        find_open_calls(thread, includes_current);
    record::begin_scope(thread, thread.calls, name, meta);
}

// The newest call, of a function with this word, ends at `now`.
inline void leave(record::ThreadBuffer& thread, CodeWord word, uint64_t now) noexcept {
    if (thread.calls.depth == 0 && thread.found_depth != 0) [[unlikely]] {
        --thread.found_depth;  // it was hidden
        return;
    }
    const uint32_t line = rules.with_lines ? line_of_caller() : 0;
    const uint32_t name = word.is_by_object() ? open_object_name(thread.calls) : word.name();
    record::end_call(thread, name, now, least_ticks_of(word), line);
}

// Of C functions, called from `caller`.
inline bool enter_builtin(PyCodeObject* caller, PyObject* callable) noexcept {
    if (!decision_on(caller).is_recorded()) return false;
    if (!is_builtin(callable)) return true;
    record::ThreadBuffer* thread = calling_thread();
    const uint32_t name = builtin_name(callable);
    if (thread && name != own_builtin && !is_in_own_call(*thread, PyThreadState_Get()))
        enter(*thread, name, builtin_meta, true);
    return true;
}

void leave_builtin(PyCodeObject* caller, PyObject* callable) noexcept;

}  // namespace kinetograph::collect
