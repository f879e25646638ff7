#include "collect/python_calls/calls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collect/python_calls/frames.h"
#include "collect/python_calls/garbage.h"
#include "collect/python_calls/hook.h"
#include "collect/python_calls/other_threads.h"
#include "collect/python_names/places.h"
#include "record/recorder.h"

namespace kinetograph::collect {

CallRules rules;

namespace {

bool is_hooked = false;
CallFilter last_filter;
uint64_t newest_thread_at_start = 0;  // threads are numbered by their interpreter

uint64_t newest_thread() {
    uint64_t newest = 0;
    PyThreadState* state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; state; state = PyThreadState_Next(state)) newest = std::max(newest, PyThreadState_GetID(state));
    return newest;
}

// Calls that are open began before we came, unless the thread is younger: a second or two before stands for
// that. It lies before the window that begins now, and no other call has the same start.
uint64_t start_of_open_call(PyThreadState* state, size_t depth) {
    constexpr uint64_t long_before = uint64_t(1) << 32;
    const bool was_there = PyThreadState_GetID(state) <= newest_thread_at_start;
    return was_there ? rules.started_at - std::min(rules.started_at, long_before) + depth : base::ticks();
}

struct OpenCall {
    uint64_t start;
    uint32_t name;
    uint32_t meta;
};

uint64_t packed(const record::OpenScope& call) {
    return call.name_and_meta.load(std::memory_order_relaxed);
}

uint32_t name_of(const record::OpenScope& call) {
    return uint32_t(packed(call) >> 32);
}

bool is_builtin_call(const record::OpenScope& call) {
    return packed(call) & uint32_t(record::flag_builtin) << 16;
}

// Outermost first.
std::vector<OpenCall> calls_of(PyThreadState* state, bool includes_current) {
    std::vector<OpenCall> calls;
    Frame* frame = rules.with_calls ? innermost_frame(state) : nullptr;
    if (frame && !includes_current) frame = caller_of(frame);
    for (; frame; frame = caller_of(frame)) {
        const CodeWord word = decision_on(code_of(frame));
        if (!word.is_excluded()) calls.push_back({0, word.name(), call_meta});
    }
    std::reverse(calls.begin(), calls.end());
    for (size_t i = 0; i < calls.size(); ++i) calls[i].start = start_of_open_call(state, i);
    return calls;
}

std::vector<OpenCall> calls_on(const record::Lane& lane) {
    std::vector<OpenCall> calls;
    for (uint32_t i = 0; i < lane.depth; ++i) {
        const uint64_t both = packed(lane.entries[i]);
        calls.push_back(
            {lane.entries[i].start.load(std::memory_order_relaxed), uint32_t(both >> 32), uint32_t(both)});
    }
    return calls;
}

// What was recorded before keeps its start.
void keep_starts(std::vector<OpenCall>& calls, const std::vector<OpenCall>& before) {
    size_t next = 0;
    for (OpenCall& call : calls) {
        const auto known = std::find_if(before.begin() + next, before.end(),
                                        [&](const OpenCall& other) { return other.name == call.name; });
        if (known == before.end()) continue;
        call = *known;
        next = size_t(known - before.begin()) + 1;
    }
}

uint32_t line_at(const Frame* frame) {
    return frame ? uint32_t(std::max(0, line_of(frame))) : 0;
}

void set_limit(record::Lane& lane) {
    lane.limit = rules.max_depth;
    const uint32_t room = lane.extent ? lane.extent.header->capacity * 2 : 0;
    lane.capacity = std::min(room, lane.limit);
}

bool is_bootstrap(const PyCodeObject* code) {
    return code->co_argcount == 1 && PyUnicode_CompareWithASCIIString(code->co_name, "_bootstrap") == 0 &&
           text_of(code->co_filename).ends_with("threading.py");
}

// The Thread object of a thread that is just beginning stands in the frame of its _bootstrap; the threading
// module does not know it yet.
void name_thread(PyThreadState* state, Frame* entering) {
    Frame* outermost = entering;
    for (Frame* frame = innermost_frame(state); frame; frame = caller_of(frame)) outermost = frame;
    if (!outermost || !is_bootstrap(code_of(outermost))) return;
    PyObject* self = outermost->localsplus[0];
    PyObject* attribute = self ? PyUnicode_InternFromString("_name") : nullptr;
    // Not the way of the type: a subclass may do what it likes when asked for an attribute.
    PyObject* name = attribute ? PyObject_GenericGetAttr(self, attribute) : nullptr;
    Py_XDECREF(attribute);
    Py_ssize_t bytes = 0;
    const char* utf8 = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &bytes) : nullptr;
    if (utf8) record::Recorder::instance().set_thread_name({utf8, size_t(bytes)});
    Py_XDECREF(name);
    PyErr_Clear();
}

void set_scope_stacks(bool on) {
    if (on)
        record::active.fetch_or(record::active_stacks, std::memory_order_relaxed);
    else
        record::active.fetch_and(~uint32_t(record::active_stacks), std::memory_order_relaxed);
}

}  // namespace

void find_open_calls(record::ThreadBuffer& thread, bool includes_current) noexcept {
    PyThreadState* state = PyThreadState_Get();
    std::vector<OpenCall> calls = calls_of(state, includes_current);
    record::Lane& lane = thread.calls;
    keep_starts(calls, calls_on(lane));
    if (lane.depth != 0) lane.publish(0);
    lane.too_deep = 0;
    set_limit(lane);
    thread.calls_generation = rules.generation;
    for (const OpenCall& call : calls) record::begin_scope_at(thread, lane, call.name, call.meta, call.start);
}

record::ThreadBuffer* first_event_of_thread(void* entering) noexcept {
    record::ThreadBuffer* thread = record::recording_thread();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    name_thread(PyThreadState_Get(), static_cast<Frame*>(entering));
    PyErr_Restore(type, value, traceback);
    return thread;
}

uint32_t line_of_caller() noexcept {
    Frame* frame = innermost_frame(PyThreadState_Get());
    return line_at(frame ? caller_of(frame) : nullptr);
}

// Where the innermost frame stands.
uint32_t line_now(PyThreadState* state) noexcept {
    return line_at(innermost_frame(state));
}

void end_innermost_call(record::ThreadBuffer& thread) noexcept {
    const record::Lane& lane = thread.calls;
    if (lane.depth == 0) return;
    record::end_call(thread, name_of(lane.entries[lane.depth - 1]), base::ticks(), 0, 0);
}

void leave_builtin(PyCodeObject* caller, PyObject* callable) noexcept {
    const uint64_t now = base::ticks();
    if (decision_on(caller).is_excluded() || !is_builtin(callable)) return;
    record::ThreadBuffer* thread = calling_thread();
    if (!thread || thread->calls_generation != rules.generation) return;
    const record::Lane& lane = thread->calls;
    if (lane.too_deep == 0 && (lane.depth == 0 || !is_builtin_call(lane.entries[lane.depth - 1]))) return;
    const uint32_t line = rules.with_lines ? line_now(PyThreadState_Get()) : 0;
    record::end_call(*thread, lane.depth ? name_of(lane.entries[lane.depth - 1]) : 0, now, rules.least_ticks,
                     line);
}

bool start_calls(const CallOptions& options) {
    if (!take_code_slot() || !prepare_names(options.filter)) return false;
    rules.generation = rules.generation % max_generation + 1;
    rules.max_depth = options.max_depth;
    rules.started_at = base::ticks();
    rules.least_ticks = rules.started_at - base::ticks_before(rules.started_at, options.min_duration_ns);
    rules.with_calls = options.python_calls;
    rules.with_lines = options.call_lines;
    watch_garbage_collection(options.garbage_collection);
    set_scope_stacks(options.scope_stacks);
    newest_thread_at_start = newest_thread();
    if (!options.python_calls) {
        if (std::exchange(is_hooked, false)) remove_hook();
        return true;
    }
    record_other_threads({true});
    const bool has_other_filter = std::exchange(last_filter, options.filter) != options.filter;
    if (!install_hook({options.c_calls, is_hooked, has_other_filter})) return false;
    is_hooked = true;
    find_calls_of_this_thread();
    return true;
}

void stop_calls() {
    if (is_hooked) remove_hook();
    is_hooked = false;
    watch_garbage_collection(false);
    set_scope_stacks(false);
}

}  // namespace kinetograph::collect
