// Calls on CPython 3.12 and later: sys.monitoring (PEP 669), under a tool id of our own.
//
// It sees all threads at once. A callback that returns DISABLE is not called again for that place in the
// code: so functions that are not wanted cost nothing after their first call.
#include <Python.h>

#include "collect/python_calls/calls.h"
#include "collect/python_calls/hook.h"

namespace kinetograph::collect {

namespace {

// 0, 1, 2 and 5 are for debuggers, coverage, profilers (cProfile) and optimizers.
constexpr int our_ids[] = {3, 4};

constexpr const char* our_name = "kinetograph";

int tool_id = -1;
bool sees_c_calls = false;
PyObject* disable = nullptr;

PyCodeObject* code_in(PyObject* const* args) {
    return reinterpret_cast<PyCodeObject*>(args[0]);
}

PyObject* answer(bool is_wanted) {
    return Py_NewRef(is_wanted ? Py_None : disable);
}

// A function of ours, or the one through which we call the program: it is never disabled, so that by the own
// call of the thread every other call knows at one glance whose doing it is.
bool is_ours(CodeWord word) {
    return word.is_own() || word.is_way_to_program();
}

void begin_own(record::ThreadBuffer& thread, CodeWord word, PyThreadState* state) {
    if (word.is_way_to_program())
        thread.own_call = 0;
    else if (!is_in_own_call(thread, state))
        thread.own_call = key_of(newest_frame(state));
}

// Back in the function that called it, which may be one of ours.
void end_own(record::ThreadBuffer& thread, CodeWord word, PyThreadState* state) {
    Frame* frame = newest_frame(state);
    if (word.is_own() && thread.own_call != key_of(frame)) return;
    Frame* caller = caller_of(frame);
    thread.own_call = caller && is_own(caller) ? key_of(caller) : 0;
}

// The thread, if it is recorded, with the calls it has open found.
record::ThreadBuffer* known_thread(bool includes_current) {
    record::ThreadBuffer* thread = calling_thread();
    if (thread && thread->calls_generation != rules.generation) find_open_calls(*thread, includes_current);
    return thread;
}

// Any event at all, of any code. False where calls of it are not wanted.
[[gnu::noinline]] bool begin_carefully(PyCodeObject* code, uint32_t meta) noexcept {
    const CodeWord word = decision_on(code);
    if (!word.is_recorded() && !is_ours(word)) return false;
    record::ThreadBuffer* thread = known_thread(false);
    if (!thread) return true;
    PyThreadState* state = PyThreadState_Get();
    if (is_ours(word))
        begin_own(*thread, word, state);
    else if (!is_in_own_call(*thread, state))
        enter(*thread, name_of_call(word, innermost_frame(state)), meta | meta_bits_of(word), false);
    return true;
}

[[gnu::noinline]] bool end_carefully(PyCodeObject* code, uint64_t now) noexcept {
    const CodeWord word = decision_on(code);
    if (!word.is_recorded() && !is_ours(word)) return false;
    record::ThreadBuffer* thread = known_thread(true);
    if (!thread) return true;
    PyThreadState* state = PyThreadState_Get();
    if (is_ours(word))
        end_own(*thread, word, state);
    else if (!is_in_own_call(*thread, state))
        leave(*thread, word, now);
    return true;
}

// What nearly every event is: of a wanted function, in a thread that is recorded, knows its open calls, and
// runs nothing of ours. It is recorded without calling anything.
bool is_plain(const record::ThreadBuffer* thread, CodeWord word) {
    return thread && record::is_recording(*thread) && thread->calls_generation == rules.generation &&
           word.upper_half() == rules.plain_word && thread->own_call == 0;
}

template <uint32_t meta>
PyObject* on_begin(PyObject*, PyObject* const* args, Py_ssize_t) {
    record::ThreadBuffer* thread = record::current_thread;
    const CodeWord word = word_of(code_in(args));
    if (!is_plain(thread, word) || thread->calls.depth >= thread->calls.capacity) [[unlikely]]
        return answer(begin_carefully(code_in(args), meta));
    record::open_scope(thread->calls, word.name(), meta, base::ticks());
    Py_RETURN_NONE;
}

PyObject* on_end(PyObject*, PyObject* const* args, Py_ssize_t) {
    const uint64_t now = base::ticks();
    record::ThreadBuffer* thread = record::current_thread;
    const CodeWord word = word_of(code_in(args));
    if (!is_plain(thread, word) || thread->calls.depth == 0 || rules.with_lines) [[unlikely]]
        return answer(end_carefully(code_in(args), now));
    record::end_call(*thread, word.name(), now, rules.least_ticks, 0);
    Py_RETURN_NONE;
}

// These two cannot be disabled.
PyObject* on_throw(PyObject*, PyObject* const* args, Py_ssize_t) {
    begin_carefully(code_in(args), resumed_meta);
    Py_RETURN_NONE;
}

PyObject* on_unwind(PyObject*, PyObject* const* args, Py_ssize_t) {
    end_carefully(code_in(args), base::ticks());
    Py_RETURN_NONE;
}

PyObject* on_call(PyObject*, PyObject* const* args, Py_ssize_t) {
    return answer(enter_builtin(code_in(args), args[2]));
}

PyObject* on_builtin_end(PyObject*, PyObject* const* args, Py_ssize_t) {
    leave_builtin(code_in(args), args[2]);
    Py_RETURN_NONE;
}

struct Watched {
    const char* event;
    PyMethodDef callback;
    bool is_builtin;
    PyObject* function = nullptr;  // made of the callback, once
};

template <PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)>
constexpr PyMethodDef callback(const char* name) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL,
            nullptr};
}

Watched watched[] = {
    {"PY_START", callback<on_begin<call_meta>>("kinetograph_on_start"), false},
    {"PY_RESUME", callback<on_begin<resumed_meta>>("kinetograph_on_resume"), false},
    {"PY_THROW", callback<on_throw>("kinetograph_on_throw"), false},
    {"PY_RETURN", callback<on_end>("kinetograph_on_return"), false},
    {"PY_YIELD", callback<on_end>("kinetograph_on_yield"), false},
    {"PY_UNWIND", callback<on_unwind>("kinetograph_on_unwind"), false},
    {"CALL", callback<on_call>("kinetograph_on_call"), true},
    {"C_RETURN", callback<on_builtin_end>("kinetograph_on_c_return"), true},
    {"C_RAISE", callback<on_builtin_end>("kinetograph_on_c_raise"), true},
};

// A new reference, or nullptr with an exception set.
PyObject* monitoring() {
    PyObject* module = PySys_GetObject("monitoring");
    if (!module) PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is missing");
    return Py_XNewRef(module);
}

long event_bit(PyObject* module, const char* event) {
    PyObject* events = PyObject_GetAttrString(module, "events");
    PyObject* bit = events ? PyObject_GetAttrString(events, event) : nullptr;
    const long value = bit ? PyLong_AsLong(bit) : -1;
    Py_XDECREF(bit);
    Py_XDECREF(events);
    return value;
}

bool succeeded(PyObject* result) {
    Py_XDECREF(result);
    return result != nullptr;
}

bool take_tool_id(PyObject* module) {
    for (const int id : our_ids) {
        if (succeeded(PyObject_CallMethod(module, "use_tool_id", "is", id, our_name))) {
            tool_id = id;
            return true;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError)) return false;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError, "other tools hold the ids 3 and 4 of sys.monitoring");
    return false;
}

// The callback that was there before, nullptr with an exception set.
PyObject* connect(PyObject* module, const Watched& one, PyObject* function) {
    const long bit = event_bit(module, one.event);
    return bit < 0 ? nullptr
                   : PyObject_CallMethod(module, "register_callback", "ilO", tool_id, bit, function);
}

bool connect_all(PyObject* module, bool c_calls) {
    for (Watched& one : watched) {
        if (one.is_builtin && !c_calls) continue;
        if (!one.function) one.function = PyCFunction_New(&one.callback, nullptr);
        if (!one.function || !succeeded(connect(module, one, one.function))) return false;
    }
    return true;
}

// C_RETURN and C_RAISE come with CALL and cannot be asked for alone. Negative with an exception set.
long wanted_events(PyObject* module, bool c_calls) {
    long events = 0;
    for (const Watched& one : watched) {
        const std::string_view name = one.event;
        if (name.starts_with("C_") || (one.is_builtin && !c_calls)) continue;
        const long bit = event_bit(module, one.event);
        if (bit < 0) return bit;
        events |= bit;
    }
    return events;
}

bool set_events(PyObject* module, bool c_calls) {
    const long events = wanted_events(module, c_calls);
    sees_c_calls = c_calls;
    return events >= 0 && succeeded(PyObject_CallMethod(module, "set_events", "il", tool_id, events));
}

// Not so when another tool has freed the id, which none should, and perhaps taken it.
bool is_id_ours(PyObject* module) {
    PyObject* name = tool_id < 0 ? nullptr : PyObject_CallMethod(module, "get_tool", "i", tool_id);
    const bool is_ours =
        name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, our_name) == 0;
    Py_XDECREF(name);
    PyErr_Clear();
    return is_ours;
}

bool has_events(PyObject* module) {
    PyObject* events = PyObject_CallMethod(module, "get_events", "i", tool_id);
    const long now = events ? PyLong_AsLong(events) : -1, wanted = wanted_events(module, sees_c_calls);
    Py_XDECREF(events);
    PyErr_Clear();
    return (now & wanted) == wanted;
}

// They can be asked for only by putting others in their place.
bool has_callbacks(PyObject* module) {
    bool are_ours = true;
    for (const Watched& one : watched) {
        if (one.is_builtin && !sees_c_calls) continue;
        PyObject* found = connect(module, one, one.function);
        if (found && found != one.function) {
            are_ours = false;
            succeeded(connect(module, one, found));
        }
        Py_XDECREF(found);
    }
    PyErr_Clear();
    return are_ours;
}

}  // namespace

bool install_hook(const HookOptions& options) {
    PyObject* module = monitoring();
    if (!module) return false;
    if (!disable) disable = PyObject_GetAttrString(module, "DISABLE");
    take_plain_calls(true);
    bool is_installed = disable && (is_id_ours(module) || take_tool_id(module)) &&
                        connect_all(module, options.c_calls) && set_events(module, options.c_calls);
    // What was disabled under the old filter stays so, also when our events were off meanwhile. Restarting
    // touches every tool, so it is done for nothing else.
    if (is_installed && options.has_other_filter)
        is_installed = succeeded(PyObject_CallMethod(module, "restart_events", nullptr));
    Py_DECREF(module);
    if (!is_installed && !options.is_change) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        remove_hook();
        PyErr_Restore(type, value, traceback);
    }
    return is_installed;
}

void find_calls_of_this_thread() {
    if (record::ThreadBuffer* thread = calling_thread()) find_open_calls(*thread, true);
}

void remove_hook() {
    PyObject* module = tool_id < 0 ? nullptr : monitoring();
    if (!module) return PyErr_Clear();
    if (is_id_ours(module)) {
        succeeded(PyObject_CallMethod(module, "set_events", "ii", tool_id, 0));
        for (const Watched& one : watched) succeeded(connect(module, one, Py_None));
        succeeded(PyObject_CallMethod(module, "free_tool_id", "i", tool_id));
    }
    PyErr_Clear();
    Py_DECREF(module);
    tool_id = -1;
}

void expect_several_stacks() {}

uintptr_t own_call_in(const OpenFrames& open) {
    return open.own_frame;
}

MissedCalls missed_calls() {
    MissedCalls missed;
    PyObject* module = tool_id < 0 ? nullptr : monitoring();
    if (!module) {
        PyErr_Clear();
        return missed;
    }
    missed.taken = !is_id_ours(module) || !has_events(module) || !has_callbacks(module);
    Py_DECREF(module);
    return missed;
}

}  // namespace kinetograph::collect
