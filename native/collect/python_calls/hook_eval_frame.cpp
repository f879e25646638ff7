#include "collect/python_calls/hook_eval_frame.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "collect/python_calls/calls.h"
#include "collect/python_calls/found_ends.h"
#include "collect/python_calls/frames.h"
#include "collect/python_calls/generators.h"
#include "collect/python_calls/keep_error.h"

namespace kinetograph::collect {

namespace {

_PyFrameEvalFunction before_us =
    _PyEval_EvalFrameDefault;                          // the interpreter itself, or a hook that was there
_PyFrameEvalFunction next = _PyEval_EvalFrameDefault;  // what we pass frames on to
uint32_t installation = 0;                             // counts installations; 0: none is on
uint32_t installations = 0;
uint32_t first_generation = 0;  // of the rules under which this installation has recorded
uint64_t late_ends = 0;
void (*give_way)() = nullptr;

PyObject* evaluate(PyThreadState* state, Frame* frame, int is_throwing);
PyObject* evaluate_carefully(PyThreadState* state, Frame* frame, int is_throwing);

_PyFrameEvalFunction hook() {
    return base::has_counter() ? evaluate : evaluate_carefully;
}

_PyFrameEvalFunction installed_function() {
    return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Main());
}

// Before 3.11.4 some specialised instructions, such as the one for a __getitem__ written in Python, run the
// function without asking whether anybody evaluates frames (CPython issue 104405). Asked of the interpreter
// that runs: a build for one 3.11 is used with all of them.
bool shows_every_call() {
    return Py_Version >= 0x030b0400;
}

// The lowest address that Python calls may reach: C code they call needs room as well.
[[gnu::cold]] uintptr_t find_stack_limit() {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return UINTPTR_MAX;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    return reinterpret_cast<uintptr_t>(lowest) + std::min<size_t>(bytes / 2, size_t(2) << 20);
}

// Asked on every call, so everything that is seldom needed is out of line, here and below.
bool is_stack_low(record::ThreadBuffer& thread) {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (here >= thread.stack_limit) [[likely]]
        return false;
    if (thread.stack_limit != UINTPTR_MAX) return true;
    thread.stack_limit = find_stack_limit();
    return here < thread.stack_limit;
}

// The innermost call that is open was open when we came.
bool is_made_by_found_call(const record::ThreadBuffer& thread) {
    return thread.calls.depth <= thread.found_depth;
}

[[gnu::cold]] void keep_found_calls(record::ThreadBuffer& thread, size_t count) {
    thread.found_calls.resize(std::min(thread.found_calls.size(), count));
    thread.found_depth = uint32_t(thread.found_calls.size());
}

// Calls that were open when we came end without our seeing it. Of those whose end nobody tells, whoever calls
// now knows which are gone.
[[gnu::cold]] void end_found_calls(record::ThreadBuffer& thread, PyThreadState* state) {
    while (!thread.found_calls.empty() && !is_on_the_stack(thread.found_calls.back(), state)) {
        thread.found_calls.pop_back();
        end_innermost_call(thread);
        ++late_ends;
    }
    thread.found_depth = uint32_t(thread.found_calls.size());
}

void end_found_call(uintptr_t frame) {
    record::ThreadBuffer* thread = installation != 0 ? calling_thread() : nullptr;
    if (!thread || thread->calls_generation == 0) return;
    std::vector<uintptr_t>& found = thread->found_calls;
    if (found.empty() || found.back() != frame || thread->calls.depth != found.size()) return;
    keep_found_calls(*thread, found.size() - 1);
    end_innermost_call(*thread);
}

// So that the call that begins lies inside those that are open.
void catch_up(record::ThreadBuffer& thread, PyThreadState* state) {
    if (thread.calls_generation != rules.generation) [[unlikely]]
        find_calls_of(thread);
    else if (is_made_by_found_call(thread)) [[unlikely]]
        end_found_calls(thread, state);
}

// The frame is off the interpreter's stack already, and an exception may be on its way.
void end(uint32_t name, uint64_t now, uint64_t least_ticks) {
    record::ThreadBuffer* thread = calling_thread();
    if (!thread) return;
    // Whoever looks for open calls under new rules does not find this one any more.
    if (thread->calls_generation != 0) {
        const uint32_t line = rules.with_lines ? line_now(PyThreadState_Get()) : 0;
        record::end_call(*thread, name, now, least_ticks, line);
    }
    if (thread->calls_generation != rules.generation) [[unlikely]]
        return find_calls_of(*thread);
    // One that we have evaluated from its begin, and found again under new rules.
    if (thread->calls.depth < thread->found_depth) [[unlikely]]
        keep_found_calls(*thread, thread->calls.depth);
}

// Installed anew meanwhile, or given way to the profile hook: then the end was seen, or is not ours to see.
[[gnu::noinline]] void end_unless_seen(CodeWord word, uint64_t now) {
    if (installation != 0 && word.generation() >= first_generation) end(word.name(), now, rules.least_ticks);
}

// torch.compile puts its hook on whenever a thread enters compiled code, also while it is there, beneath
// ours. It then passes frames on to us, so that they would go round for ever: from there on, ours is beneath.
PyObject* pass_to_hook_before_us(PyThreadState* state, Frame* frame, int is_throwing) {
    if (installed_function() == before_us) next = before_us = _PyEval_EvalFrameDefault;
    return before_us(state, frame, is_throwing);
}

void set_before_us(_PyFrameEvalFunction function) {
    before_us = function;
    next = function == _PyEval_EvalFrameDefault ? function : pass_to_hook_before_us;
}

// Nobody records, or not this thread. Somebody may have kept our pointer and put it back: then nobody would
// look after the C stack, so it goes again.
[[gnu::noinline]] PyObject* pass_on(PyThreadState* state, Frame* frame, int is_throwing) {
    if (installation == 0) {
        if (installed_function() == hook())
            _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), before_us);
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

// While a function of ours runs, all that it calls is our doing, until it calls the program. Functions of
// ours that were open when we came are known by what they call.
bool is_own_call(const record::ThreadBuffer& thread, PyThreadState* state) {
    if (thread.own_call != 0) [[unlikely]]
        return true;
    return is_made_by_found_call(thread) && is_own(newest_frame(state));
}

[[gnu::noinline]] PyObject* evaluate_own(uintptr_t own_call, PyThreadState* state, Frame* frame,
                                         int is_throwing) {
    const uint32_t began_under = installation;
    const uintptr_t around = std::exchange(record::current_thread->own_call, own_call);
    PyObject* result = next(state, frame, is_throwing);
    if (installation == began_under && record::current_thread) record::current_thread->own_call = around;
    return result;
}

[[gnu::noinline]] PyObject* evaluate_on_object(CodeWord word, PyThreadState* state, Frame* frame,
                                               int is_throwing) {
    record::ThreadBuffer& thread = *record::current_thread;
    if (!is_call(state, frame)) return next(state, frame, is_throwing);
    if (is_own_call(thread, state)) return evaluate_own(key_of(frame), state, frame, is_throwing);
    const uint32_t name = name_of_call(word, frame);
    record::begin_scope(thread, thread.calls, name, meta_of(frame) | object_bit);
    PyObject* result = next(state, frame, is_throwing);
    const uint64_t now = base::ticks();
    if (installation != 0 && word.generation() >= first_generation) end(name, now, least_ticks_of(word));
    return result;
}

// Whatever is not recorded as nearly all calls are.
[[gnu::noinline]] PyObject* evaluate_excluded(CodeWord word, PyThreadState* state, Frame* frame,
                                              int is_throwing) {
    if (word.is_by_object()) return evaluate_on_object(word, state, frame, is_throwing);
    if (word.is_own()) return evaluate_own(key_of(frame), state, frame, is_throwing);
    if (word.is_way_to_program()) return evaluate_own(0, state, frame, is_throwing);
    return next(state, frame, is_throwing);
}

// Any call at all, while recording or not.
[[gnu::noinline]] PyObject* evaluate_carefully(PyThreadState* state, Frame* frame, int is_throwing) {
    record::ThreadBuffer* thread = installation != 0 ? calling_thread(frame) : nullptr;
    if (!thread) return pass_on(state, frame, is_throwing);
    if (is_stack_low(*thread)) [[unlikely]] {
        give_way();
        return next(state, frame, is_throwing);
    }
    const CodeWord word = decision_on(code_of(frame));
    catch_up(*thread, state);
    if (word.is_excluded()) return evaluate_excluded(word, state, frame, is_throwing);
    if (!is_call(state, frame)) return next(state, frame, is_throwing);
    if (is_own_call(*thread, state)) [[unlikely]]
        return evaluate_own(key_of(frame), state, frame, is_throwing);
    record::begin_scope(*thread, thread->calls, word.name(), meta_of(frame));
    PyObject* result = next(state, frame, is_throwing);
    end_unless_seen(word, base::ticks());
    return result;
}

// Of a wanted function, in a thread that is recorded and knows its open calls.
bool is_followed(const record::ThreadBuffer* thread, CodeWord word) {
    return word.upper_half() == rules.plain_word && thread && record::is_recording(*thread) &&
           thread->calls_generation == rules.generation;
}

// What nearly every call is, where the clock is a counter: of a wanted function, in a thread that is recorded
// and whose open calls began under our eyes, with room for one more. It is recorded without calling anything,
// which spares most registers the way to memory and back.
bool is_plain(const record::ThreadBuffer* thread, CodeWord word, const PyThreadState* state) {
    if (!is_followed(thread, word)) return false;
    const record::Lane& calls = thread->calls;
    return calls.depth > thread->found_depth && calls.depth < calls.capacity && thread->own_call == 0 &&
           reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) >= thread->stack_limit &&
           state->recursion_remaining > 0;
}

// The end of a plain call that is not plain itself. Hands `result` through, so that it need not be kept.
[[gnu::noinline]] PyObject* end_carefully(CodeWord word, uint64_t now, PyObject* result) {
    end_unless_seen(word, now);
    return result;
}

bool ends_plainly(const record::ThreadBuffer* thread, CodeWord word, uint32_t depth) {
    return is_followed(thread, word) && thread->calls.depth == depth && depth > thread->found_depth &&
           record::has_room(*thread);
}

[[gnu::always_inline]] inline PyObject* evaluate_as(uint32_t meta, PyThreadState* state, Frame* frame,
                                                    int is_throwing) {
    record::ThreadBuffer* thread = record::current_thread;
    const CodeWord word = word_of(code_of(frame));
    if (!is_plain(thread, word, state)) [[unlikely]]
        return evaluate_carefully(state, frame, is_throwing);
    const uint32_t depth = thread->calls.depth + 1;
    record::open_scope(thread->calls, word.name(), meta, base::read_counter());
    PyObject* result = next(state, frame, is_throwing);
    const uint64_t now = base::read_counter();
    thread = record::current_thread;
    if (!ends_plainly(thread, word, depth)) [[unlikely]]
        return end_carefully(word, now, result);
    record::append_finished_in_room(*thread, thread->calls, thread->calls.entries[depth - 1], now);
    thread->calls.publish_more(-1);
    return result;
}

[[gnu::noinline]] PyObject* evaluate_generator(PyThreadState* state, Frame* frame, int is_throwing) {
    if (makes_generator(frame)) return next(state, frame, is_throwing);
    return evaluate_as(meta_of(frame), state, frame, is_throwing);
}

PyObject* evaluate(PyThreadState* state, Frame* frame, int is_throwing) {
    if (is_generator(code_of(frame))) return evaluate_generator(state, frame, is_throwing);
    return evaluate_as(call_meta, state, frame, is_throwing);
}

// False when somebody came after us and may pass frames on to us: passing them on to him would never end.
bool take_the_place() {
    const _PyFrameEvalFunction before = installed_function();
    if (installations != 0 && before != before_us && before != hook()) return false;
    if (before != hook()) set_before_us(before);
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), hook());
    installation = ++installations;
    first_generation = rules.generation;
    return true;
}

}  // namespace

void find_calls_of(record::ThreadBuffer& thread) {
    find_open_calls(thread, true);
    thread.found_calls.clear();
    for (const OpenFrames::Call& call : open_frames(PyThreadState_Get(), true).frames)
        thread.found_calls.push_back(key_of(call.frame));
    // Those beyond the depth that is wanted are not recorded, and their ends would be counted for nothing.
    keep_found_calls(thread, thread.calls.depth);
    thread.calls.too_deep = 0;
    // It would go on to count when its frame has ended, unseen, and another one lies where it was.
    thread.own_call = 0;
    const KeepError keep;
    watch_ends(PyThreadState_Get(), end_found_call);
}

uint64_t calls_ended_late() {
    record::ThreadBuffer* thread = installation != 0 ? calling_thread() : nullptr;
    if (thread && thread->calls_generation == rules.generation && thread->calls.depth <= thread->found_depth)
        end_found_calls(*thread, PyThreadState_Get());
    return late_ends;
}

bool has_lost_eval_frame_hook() {
    return installation != 0 && installed_function() != hook();
}

bool install_eval_frame_hook(void (*when_stack_is_low)()) {
    if (!shows_every_call()) return false;
    give_way = when_stack_is_low;
    if (installation == 0 && !take_the_place()) return false;
    // Of every call the end is wanted, whatever it took and wherever it was made.
    take_plain_calls(!rules.with_lines && rules.least_ticks == 0);
    return true;
}

void remove_eval_frame_hook() {
    if (installation == 0) return;
    installation = 0;
    take_plain_calls(false);
    begin_generation();  // by which the calls that are being evaluated know that they are no longer ours
    if (installed_function() == hook())
        _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), before_us);
    PyThreadState* state = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    for (; state; state = PyThreadState_Next(state)) forget_ends(state);
}

}  // namespace kinetograph::collect
