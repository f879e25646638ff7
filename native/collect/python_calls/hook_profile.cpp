// The profile function of each thread.
#include "collect/python_calls/hook_profile.h"

#include <Python.h>

#include <utility>

#include "collect/python_calls/calls.h"
#include "collect/python_calls/generators.h"
#include "collect/python_calls/keep_error.h"

namespace kinetograph::collect {

namespace {

bool wants_builtins = false;
PyObject* installer = nullptr;       // what the threading module hands to new threads while we record
PyObject* threading_hook = nullptr;  // what it handed to them before; nullptr: nothing

uint64_t met_threads = 0;  // the newest thread that has got the hook, or had it offered
uint64_t unseen_threads = 0, late_threads = 0;

// The profile function that a thread had before ours, and goes on to have.
struct Previous {
    Py_tracefunc function;
    PyObject* argument;
};
constexpr const char* capsule_name = "kinetograph.previous_profile_function";

// What sys.getprofile() gives while we are there: it can be called, and set again, like the one before.
PyObject* call_previous(PyObject* capsule, PyObject* args) {
    const auto* previous = static_cast<Previous*>(PyCapsule_GetPointer(capsule, capsule_name));
    if (!previous->argument || !PyCallable_Check(previous->argument)) Py_RETURN_NONE;
    return PyObject_CallObject(previous->argument, args);
}

PyMethodDef forwarder_definition = {"kinetograph_calls_previous", call_previous, METH_VARARGS, nullptr};

Previous* previous_in(PyObject* forwarder) {
    if (!forwarder) return nullptr;
    return static_cast<Previous*>(PyCapsule_GetPointer(PyCFunction_GET_SELF(forwarder), capsule_name));
}

// Threads are numbered by their interpreter, which has the newest one first.
uint64_t newest_thread() {
    return PyInterpreterState_ThreadHead(PyInterpreterState_Main())->id;
}

// One that is made to get the next number: threads that have ended have numbers too.
uint64_t next_thread() {
    PyThreadState* state = PyThreadState_New(PyInterpreterState_Main());
    if (!state) return newest_thread();
    const uint64_t number = state->id;
    PyThreadState_Clear(state);
    PyThreadState_Delete(state);
    return number;
}

void meet_new_threads(uint64_t newest);

// The frame that begins, or ends, is the newest one.
void enter_call(PyCodeObject* code, uint32_t meta) noexcept {
    const CodeWord word = decision_on(code);
    if (!word.is_recorded()) return;
    record::ThreadBuffer* thread = calling_thread();
    if (!thread) return;
    PyThreadState* state = PyThreadState_Get();
    Frame* frame = newest_frame(state);
    if (!begins_own_call(*thread, state, frame, frame->previous)) [[likely]]
        enter(*thread, name_of_call(word, frame), meta | meta_bits_of(word), false);
}

void leave_call(PyCodeObject* code) noexcept {
    const uint64_t now = base::ticks();
    const CodeWord word = decision_on(code);
    if (!word.is_recorded()) return;
    record::ThreadBuffer* thread = calling_thread();
    if (!thread) return;
    if (thread->calls_generation != rules.generation) [[unlikely]]
        find_open_calls(*thread, true);
    if (thread->own_call != 0) [[unlikely]] {
        PyThreadState* state = PyThreadState_Get();
        if (ends_own_call(*thread, state, newest_frame(state))) return;
    }
    leave(*thread, word, now);
}

void see(Frame* frame, int what, PyObject* callable) {
    switch (what) {
        case PyTrace_CALL:
            enter_call(code_of(frame), meta_of(frame));
            break;
        case PyTrace_RETURN:
            leave_call(code_of(frame));
            break;
        case PyTrace_C_CALL:
            if (wants_builtins) enter_builtin(code_of(frame), callable);
            break;
        case PyTrace_C_RETURN:
        case PyTrace_C_EXCEPTION:
            if (wants_builtins) leave_builtin(code_of(frame), callable);
            break;
        default:
            break;
    }
}

int on_event(PyObject* capsule, PyFrameObject* frame, int what, PyObject* argument) {
    if (newest_thread() > met_threads) [[unlikely]]
        meet_new_threads(newest_thread());
    see(frame->f_frame, what, argument);
    if (!capsule) [[likely]]
        return 0;
    const Previous* previous = previous_in(capsule);
    return previous->function(previous->argument, frame, what, argument);
}

void forget_previous(PyObject* capsule) {
    const auto* kept = static_cast<Previous*>(PyCapsule_GetPointer(capsule, capsule_name));
    Py_XDECREF(kept->argument);
    delete kept;
}

PyObject* forwarder_to_previous(const PyThreadState* state) {
    auto* previous = new Previous{state->c_profilefunc, Py_XNewRef(state->c_profileobj)};
    PyObject* capsule = PyCapsule_New(previous, capsule_name, forget_previous);
    PyObject* forwarder = capsule ? PyCFunction_New(&forwarder_definition, capsule) : nullptr;
    Py_XDECREF(capsule);
    return forwarder;
}

bool install_in(PyThreadState* state) {
    if (state->c_profilefunc == on_event) return true;
    PyObject* capsule = state->c_profilefunc ? forwarder_to_previous(state) : nullptr;
    if (state->c_profilefunc && !capsule) return false;
    const bool is_installed = _PyEval_SetProfile(state, on_event, capsule) == 0;
    Py_XDECREF(capsule);
    return is_installed;
}

// A profile function that came after ours stays where it is.
void remove_from(PyThreadState* state) {
    if (state->c_profilefunc != on_event) return;
    PyObject* capsule = Py_XNewRef(state->c_profileobj);
    const Previous* previous = previous_in(capsule);
    const int result = previous ? _PyEval_SetProfile(state, previous->function, previous->argument)
                                : _PyEval_SetProfile(state, nullptr, nullptr);
    if (result != 0) PyErr_Clear();
    Py_XDECREF(capsule);
}

// The threading module has set the function that will install ours.
bool is_beginning(const PyThreadState* state) {
    return state->c_profileobj && state->c_profileobj == installer;
}

template <class Visit>
bool for_each_thread(Visit&& visit) {
    PyInterpreterState* interpreter = PyInterpreterState_Get();
    for (PyThreadState* state = PyInterpreterState_ThreadHead(interpreter); state;
         state = PyThreadState_Next(state))
        if (!visit(state)) return false;
    return true;
}

// The threading module gives the hook to a thread before it runs anything of the program's.
bool has_run_unseen(PyThreadState* state) {
    const Frame* outermost = outermost_frame(state);
    return outermost && !is_bootstrap_of_thread(code_of(outermost));
}

// Those that have begun since: each of them has got a number, and some may have ended.
void meet_new_threads(uint64_t newest) {
    const KeepError keep;
    const uint64_t before = std::exchange(met_threads, newest);
    uint64_t gone = met_threads - before;
    for_each_thread([&](PyThreadState* state) {
        if (PyThreadState_GetID(state) <= before) return true;
        --gone;
        late_threads += has_run_unseen(state);
        if (!install_in(state)) PyErr_Clear();
        return true;
    });
    unseen_threads += gone;
}

// Those included that have ended since another one began.
void meet_all_new_threads() {
    const uint64_t next = next_thread();
    meet_new_threads(next - 1);
    met_threads = next;
}

// threading calls sys.setprofile with this in each new thread; its first event comes here.
PyObject* install_in_new_thread(PyObject*, PyObject* args) {
    PyObject* frame;
    PyObject* event;
    PyObject* argument;
    if (!PyArg_ParseTuple(args, "O!OO", &PyFrame_Type, &frame, &event, &argument)) return nullptr;
    PyThreadState* state = PyThreadState_Get();
    if (_PyEval_SetProfile(state, nullptr, nullptr) != 0) return nullptr;
    if (threading_hook) {
        PyObject* set_profile = PySys_GetObject("setprofile");
        PyObject* result = set_profile ? PyObject_CallOneArg(set_profile, threading_hook) : nullptr;
        if (!result) return nullptr;
        Py_DECREF(result);
    }
    if (!installer) Py_RETURN_NONE;  // the session ended while this thread began
    if (newest_thread() > met_threads) meet_new_threads(newest_thread());
    if (!install_in(state)) return nullptr;
    if (PyUnicode_CompareWithASCIIString(event, "call") == 0)
        see(reinterpret_cast<PyFrameObject*>(frame)->f_frame, PyTrace_CALL, nullptr);
    Py_RETURN_NONE;
}

PyMethodDef installer_definition = {"kinetograph_in_new_thread", install_in_new_thread, METH_VARARGS,
                                    nullptr};

bool set_threading_hook(PyObject* function) {
    PyObject* threading = PyImport_ImportModule("threading");
    if (!threading) return false;
    PyObject* result = PyObject_CallMethod(threading, "setprofile", "O", function ? function : Py_None);
    Py_DECREF(threading);
    Py_XDECREF(result);
    return result != nullptr;
}

PyObject* get_threading_hook() {
    PyObject* threading = PyImport_ImportModule("threading");
    PyObject* hook = threading ? PyObject_CallMethod(threading, "getprofile", nullptr) : nullptr;
    Py_XDECREF(threading);
    return hook;
}

bool install_in_threads_to_come() {
    PyObject* hook = get_threading_hook();
    if (!hook) return false;
    if (hook == Py_None) Py_CLEAR(hook);
    threading_hook = hook;
    installer = PyCFunction_New(&installer_definition, nullptr);
    if (installer && set_threading_hook(installer)) return true;
    Py_CLEAR(installer);
    Py_CLEAR(threading_hook);
    return false;
}

void leave_threads_to_come() {
    PyObject* ours = std::exchange(installer, nullptr);
    PyObject* before = std::exchange(threading_hook, nullptr);
    PyObject* now = get_threading_hook();
    if (now == ours && !set_threading_hook(before)) PyErr_Clear();
    if (!now) PyErr_Clear();
    Py_XDECREF(now);
    Py_XDECREF(before);
    Py_XDECREF(ours);
}

}  // namespace

bool install_profile_hook(bool c_calls, void (*remove_other_hook)()) {
    wants_builtins = c_calls;
    const bool was_there = installer != nullptr;
    const bool is_ready = was_there || install_in_threads_to_come();
    if (!is_ready) return false;
    // From here on no Python runs, so no other thread does: none makes calls that neither hook sees.
    remove_other_hook();
    if (was_there)
        meet_all_new_threads();
    else
        met_threads = next_thread();
    return for_each_thread(install_in);
}

MissedCalls calls_missed_by_profile_hook() {
    MissedCalls missed;
    if (installer) {
        meet_all_new_threads();
        for_each_thread([&](PyThreadState* state) {
            missed.taken += state->c_profilefunc != on_event && !is_beginning(state);
            return true;
        });
    }
    missed.unseen_threads = unseen_threads;
    missed.late_threads = late_threads;
    return missed;
}

void remove_profile_hook() {
    if (!installer) return;
    leave_threads_to_come();
    for_each_thread([](PyThreadState* state) {
        remove_from(state);
        return true;
    });
}

}  // namespace kinetograph::collect
