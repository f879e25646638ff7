#include "collect/python_calls/hook_eval_frame.h"

#include <pthread.h>

#include <algorithm>

#include "collect/python_calls/calls.h"
#include "collect/python_calls/frames.h"
#include "collect/python_calls/generators.h"

namespace kinetograph::collect {

namespace {

// What we pass frames on to: the interpreter itself, or a hook that was there before us. Never changes while
// anybody may call us.
_PyFrameEvalFunction next = _PyEval_EvalFrameDefault;
uint32_t installation = 0;  // counts installations; 0: none is on
uint32_t installations = 0;
void (*give_way)() = nullptr;

PyObject* evaluate(PyThreadState* state, Frame* frame, int is_throwing);

_PyFrameEvalFunction installed_function() {
    return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Main());
}

// The lowest address that Python calls may reach: C code they call needs room as well.
uintptr_t find_stack_limit() {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return UINTPTR_MAX;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    return reinterpret_cast<uintptr_t>(lowest) + std::min<size_t>(bytes / 4, size_t(1) << 20);
}

bool is_stack_low(record::ThreadBuffer& thread) {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (here >= thread.stack_limit) [[likely]]
        return false;
    if (thread.stack_limit != UINTPTR_MAX) return true;
    thread.stack_limit = find_stack_limit();
    return here < thread.stack_limit;
}

bool is_on_the_stack(uintptr_t call, PyThreadState* state) {
    Frame* frame = innermost_frame(state);
    while (frame && reinterpret_cast<uintptr_t>(frame) != call) frame = caller_of(frame);
    return frame != nullptr;
}

// Calls that were open when we came end without our seeing it. Whoever calls now tells which are gone.
void end_found_calls(record::ThreadBuffer& thread, PyThreadState* state) {
    while (!thread.found_calls.empty() && !is_on_the_stack(thread.found_calls.back(), state)) {
        thread.found_calls.pop_back();
        end_innermost_call(thread);
    }
    thread.found_depth = uint32_t(thread.found_calls.size());
}

// So that the call that begins lies inside those that are open.
void catch_up(record::ThreadBuffer& thread, PyThreadState* state) {
    if (thread.calls_generation != rules.generation) [[unlikely]]
        find_calls_of(thread);
    else if (thread.calls.depth <= thread.found_depth) [[unlikely]]
        end_found_calls(thread, state);
}

// The frame is off the interpreter's stack already, and an exception may be on its way.
void end(PyThreadState* state, uint32_t name) {
    const uint64_t now = base::ticks();
    record::ThreadBuffer* thread = calling_thread();
    if (!thread) return;
    if (thread->calls_generation != rules.generation) [[unlikely]]
        return find_calls_of(*thread);
    const uint32_t line = rules.with_lines ? line_now(state) : 0;
    record::end_call(*thread, name, now, rules.least_ticks, line);
}

// Nobody records, or not this thread. Somebody may have kept our pointer and put it back: then nobody would
// look after the C stack, so it goes again.
PyObject* pass_on(PyThreadState* state, Frame* frame, int is_throwing) {
    if (installation == 0) {
        if (installed_function() == evaluate)
            _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), next);
    } else if (record::current_thread && is_stack_low(*record::current_thread)) {
        give_way();
    }
    return next(state, frame, is_throwing);
}

// Not the call of a generator function, which only makes the generator; nor one that the interpreter is about
// to refuse.
bool is_call(const PyThreadState* state, const Frame* frame) {
    return !makes_generator(frame) && (state->recursion_remaining > 0 || state->recursion_headroom != 0);
}

PyObject* evaluate(PyThreadState* state, Frame* frame, int is_throwing) {
    const uint32_t began_under = installation;
    record::ThreadBuffer* thread = began_under != 0 ? calling_thread(frame) : nullptr;
    if (!thread) return pass_on(state, frame, is_throwing);
    if (is_stack_low(*thread)) [[unlikely]] {
        give_way();
        return next(state, frame, is_throwing);
    }
    const CodeWord word = decision_on(code_of(frame));
    catch_up(*thread, state);
    if (word.is_excluded() || !is_call(state, frame)) return next(state, frame, is_throwing);
    record::begin_scope(*thread, thread->calls, word.name(), meta_of(frame));
    PyObject* result = next(state, frame, is_throwing);
    // Installed anew meanwhile, or given way to the profile hook: then the end was seen, or is not ours to
    // see.
    if (installation == began_under) [[likely]]
        end(state, word.name());
    return result;
}

}  // namespace

void find_calls_of(record::ThreadBuffer& thread) {
    find_open_calls(thread, true);
    thread.found_calls.clear();
    for (Frame* frame = innermost_frame(PyThreadState_Get()); frame; frame = caller_of(frame))
        if (!decision_on(code_of(frame)).is_excluded())
            thread.found_calls.push_back(reinterpret_cast<uintptr_t>(frame));
    std::reverse(thread.found_calls.begin(), thread.found_calls.end());
    // Those beyond the depth that is wanted are not recorded, and their ends would be counted for nothing.
    thread.found_calls.resize(std::min<size_t>(thread.found_calls.size(), thread.calls.depth));
    thread.calls.too_deep = 0;
    thread.found_depth = uint32_t(thread.found_calls.size());
}

bool install_eval_frame_hook(void (*when_stack_is_low)()) {
    give_way = when_stack_is_low;
    if (installation != 0) return true;
    const _PyFrameEvalFunction before = installed_function();
    // Somebody came after us and may pass frames on to us: passing them on to him would never end.
    if (installations != 0 && before != next && before != evaluate) return false;
    if (before != evaluate) next = before;
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), evaluate);
    installation = ++installations;
    return true;
}

void remove_eval_frame_hook() {
    if (installation == 0) return;
    installation = 0;
    if (installed_function() == evaluate)
        _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), next);
}

}  // namespace kinetograph::collect
