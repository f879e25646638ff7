#include "collect/python_calls/calls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collect/python_calls/frames.h"
#include "collect/python_calls/garbage.h"
#include "collect/python_calls/greenlets.h"
#include "collect/python_calls/hook.h"
#include "collect/python_calls/keep_error.h"
#include "collect/python_calls/other_threads.h"
#include "collect/python_names/places.h"
#include "record/recorder.h"

namespace kinetograph::collect {

CallRules rules;

namespace {

bool is_hooked = false;
// Under which functions were left to themselves for not being wanted, and how the hook was installed.
WantedFunctions last_wanted;
bool last_c_calls = false;
size_t last_named_by_object = 0;
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

bool is_call_on_object(const record::OpenScope& call) {
    return packed(call) & object_bit;
}

bool is_builtin_call(const record::OpenScope& call) {
    return packed(call) & uint32_t(record::flag_builtin) << 16;
}

std::vector<OpenCall> calls_of(PyThreadState* state, const OpenFrames& open) {
    std::vector<OpenCall> calls;
    for (const OpenFrames::Call& frame : open.frames)
        calls.push_back({start_of_open_call(state, calls.size()), frame.name, call_meta | frame.meta_bits});
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
    // What nobody wanted before begins with the call around it at the earliest.
    for (size_t i = 1; i < calls.size(); ++i) calls[i].start = std::max(calls[i].start, calls[i - 1].start);
}

uint32_t line_at(const Frame* frame) {
    return frame ? uint32_t(std::max(0, line_of(frame))) : 0;
}

// Calls that were open do not count.
void set_limit(record::Lane& lane, size_t open) {
    lane.limit = uint32_t(std::min<uint64_t>(uint64_t(rules.max_depth) + open, UINT32_MAX));
    const uint32_t room = lane.extent ? lane.extent.header->capacity * 2 : 0;
    lane.capacity = std::min(room, lane.limit);
}

// The Thread object of a thread that is just beginning stands in the frame of its _bootstrap; the threading
// module does not know it yet.
void name_thread(PyThreadState* state, Frame* entering) {
    Frame* outermost = outermost_frame(state);
    if (!outermost) outermost = entering;
    if (!outermost || !is_bootstrap_of_thread(code_of(outermost))) return;
    PyObject* self = first_local(outermost);
    PyObject* attribute = self ? PyUnicode_InternFromString("_name") : nullptr;
    // Not the way of the type: a subclass may do what it likes when asked for an attribute.
    PyObject* name = attribute ? PyObject_GenericGetAttr(self, attribute) : nullptr;
    Py_XDECREF(attribute);
    Py_ssize_t bytes = 0;
    const char* utf8 = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &bytes) : nullptr;
    if (utf8) record::Recorder::instance().suggest_thread_name({utf8, size_t(bytes)});
    Py_XDECREF(name);
    PyErr_Clear();
}

bool install(bool c_calls, const WantedFunctions& wanted) {
    const bool has_other_filter = last_wanted != wanted || last_named_by_object != count_named_by_object();
    if (!install_hook({c_calls, is_hooked, has_other_filter})) return false;
    last_wanted = wanted;
    last_named_by_object = count_named_by_object();
    last_c_calls = c_calls;
    return true;
}

void set_scope_stacks(bool on) {
    if (on)
        record::active.fetch_or(record::active_stacks, std::memory_order_relaxed);
    else
        record::active.fetch_and(~uint32_t(record::active_stacks), std::memory_order_relaxed);
}

}  // namespace

void begin_generation() {
    rules.generation = rules.generation % max_generation + 1;
    take_plain_calls(rules.takes_plain_calls);
}

void take_plain_calls(bool takes_them) {
    rules.takes_plain_calls = takes_them;
    rules.plain_word =
        takes_them ? CodeWord::upper_half_if_recorded(rules.generation) : CodeWord::upper_half_of_none;
}

OpenFrames open_frames(PyThreadState* state, bool includes_current) {
    std::vector<Frame*> all;
    Frame* newest = innermost_frame(state);
    if (newest && !includes_current) newest = caller_of(newest);
    for (Frame* frame = newest; frame; frame = caller_of(frame)) all.push_back(frame);
    OpenFrames found;
    bool is_ours = false;
    for (auto frame = all.rbegin(); frame != all.rend(); ++frame) {
        const CodeWord word = decision_on(code_of(*frame));
        if (word.is_own() && !std::exchange(is_ours, true)) found.own_frame = key_of(*frame);
        if (word.is_way_to_program()) is_ours = false, found.own_call = found.own_frame = 0;
        if (word.is_line_of_pth()) {
            found.hidden += uint32_t(found.frames.size());
            found.frames.clear();
        }
        if (!word.is_recorded()) continue;
        if (!is_ours)
            found.frames.push_back({*frame, name_of_call(word, *frame), meta_bits_of(word)});
        else if (found.own_call == 0)
            found.own_call = key_of(*frame);
    }
    return found;
}

bool is_bootstrap_of_thread(const PyCodeObject* code) {
    return code->co_argcount == 1 && PyUnicode_CompareWithASCIIString(code->co_name, "_bootstrap") == 0 &&
           text_of(code->co_filename).ends_with("threading.py");
}

void find_open_calls(record::ThreadBuffer& thread, bool includes_current) noexcept {
    PyThreadState* state = PyThreadState_Get();
    const OpenFrames open = rules.with_calls ? open_frames(state, includes_current) : OpenFrames{};
    std::vector<OpenCall> calls = calls_of(state, open);
    thread.own_call = own_call_in(open);
    thread.found_depth = open.hidden;
    record::Lane& lane = thread.calls;
    keep_starts(calls, calls_on(lane));
    if (lane.depth != 0) lane.publish(0);
    lane.too_deep = 0;
    set_limit(lane, calls.size());
    thread.calls_generation = rules.generation;
    for (const OpenCall& call : calls) record::begin_scope_at(thread, lane, call.name, call.meta, call.start);
    if (!rules.with_greenlets) return;
    const KeepError keep;
    follow_greenlets();
}

CodeWord decide_anew(PyCodeObject* code) {
    const KeepError keep;
    // The module may have been loaded since: then all threads have to look at their calls again.
    if (!rules.with_greenlets && rules.with_calls && has_greenlets()) {
        rules.with_greenlets = true;
        begin_generation();
    }
    return decide(code, rules.generation);
}

void change_stack(record::ThreadBuffer& thread) noexcept {
    if (thread.calls_generation != rules.generation) return find_open_calls(thread, true);
    record::Lane& lane = thread.calls;
    lane.too_deep = 0;
    while (lane.depth != 0) end_innermost_call(thread);
    const OpenFrames open = open_frames(PyThreadState_Get(), true);
    thread.own_call = own_call_in(open);
    set_limit(lane, open.frames.size());
    for (const OpenFrames::Call& call : open.frames)
        record::begin_scope(thread, lane, call.name, resumed_meta | call.meta_bits);
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
    if (!decision_on(caller).is_recorded() || !is_builtin(callable)) return;
    if (builtin_name(callable) == own_builtin) return;
    record::ThreadBuffer* thread = calling_thread();
    if (!thread || thread->calls_generation != rules.generation) return;
    if (is_in_own_call(*thread, PyThreadState_Get())) return;
    const record::Lane& lane = thread->calls;
    if (lane.too_deep == 0 && (lane.depth == 0 || !is_builtin_call(lane.entries[lane.depth - 1]))) return;
    const uint32_t line = rules.with_lines ? line_now(PyThreadState_Get()) : 0;
    record::end_call(*thread, lane.depth ? name_of(lane.entries[lane.depth - 1]) : 0, now, rules.least_ticks,
                     line);
}

uint32_t open_object_name(const record::Lane& calls) {
    for (uint32_t i = calls.depth; i-- > 0;)
        if (is_call_on_object(calls.entries[i])) return name_of(calls.entries[i]);
    return 0;
}

bool name_calls_by_object(PyCodeObject* code, std::string kind) {
    name_by_object(code, std::move(kind));
    if (!is_hooked || last_named_by_object == count_named_by_object()) return true;
    begin_generation();
    return install(last_c_calls, last_wanted);
}

bool start_calls(const CallOptions& options) {
    if (!take_code_slot() || !prepare_names(options.wanted)) return false;
    if (!is_hooked) forget_objects();
    begin_generation();
    rules.max_depth = options.max_depth;
    rules.started_at = base::ticks();
    rules.least_ticks = rules.started_at - base::ticks_before(rules.started_at, options.min_duration_ns);
    rules.with_calls = options.python_calls;
    rules.with_lines = options.call_lines;
    rules.with_objects = options.wanted.objects;
    rules.with_greenlets = options.python_calls && has_greenlets();
    watch_garbage_collection(options.garbage_collection);
    set_scope_stacks(options.scope_stacks);
    newest_thread_at_start = newest_thread();
    if (!options.python_calls) {
        if (std::exchange(is_hooked, false)) remove_hook();
        return true;
    }
    record_other_threads({true});
    if (!install(options.c_calls, options.wanted)) return false;
    is_hooked = true;
    find_calls_of_this_thread();
    return true;
}

void stop_calls() {
    if (is_hooked) remove_hook();
    is_hooked = false;
    rules.with_calls = false;
    if (std::exchange(rules.with_greenlets, false)) leave_greenlets();
    watch_garbage_collection(false);
    set_scope_stacks(false);
    forget_objects();
}

}  // namespace kinetograph::collect
