// With the GIL throughout. A thread takes its profile function off by itself, once there is nothing left to
// tell.
#include "bind/emitted_calls.h"

#include <set>
#include <unordered_map>
#include <utility>

#include "bind/python_thread.h"
#include "collect/python_names/filter.h"
#include "collect/python_names/places.h"
#include "emit/scopes.h"
#include "emit/tool.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

std::set<uint64_t> users[2];
emit::Wish wanted = 0;
collect::NamePlaces places;
// nullptr: not shown. Each code is held, for its address is the key.
std::unordered_map<PyCodeObject*, emit::Name*> names;

emit::Name* new_name(PyCodeObject* code) {
    const collect::Origin origin =
        collect::origin_of(collect::text_of(code->co_filename), places.search_path);
    if (collect::is_our_own(origin, places.own_folder)) return nullptr;
    return emit::name_of(
        collect::call_name(origin, code->co_firstlineno, collect::text_of(code->co_name), {}));
}

emit::Name* name_of(PyCodeObject* code) {
    const auto [known, is_new] = names.try_emplace(code, nullptr);
    if (!is_new) return known->second;
    Py_INCREF(code);
    return known->second = new_name(code);
}

void forget_names() {
    const auto known = std::exchange(names, {});
    for (const auto& [code, name] : known) Py_DECREF(code);
}

emit::Look look() {
    emit::Look look;
    look.category = emit::python_function_category;
    return look;
}

void begin_call(PyFrameObject* frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    emit::Name* name = name_of(code);
    Py_DECREF(code);
    if (name) emit::begin_scope(frame, current_context(), {*name, look()}, wanted);
}

int on_event(PyObject*, PyFrameObject* frame, int what, PyObject*);

bool is_followed(const PyThreadState* state) {
    return state->c_profilefunc == on_event;
}

void leave_thread_when_over() {
    if (wanted == 0 && !emit::has_open_scopes() && is_followed(PyThreadState_Get()))
        PyEval_SetProfile(nullptr, nullptr);
}

int on_event(PyObject*, PyFrameObject* frame, int what, PyObject*) try {
    if (what == PyTrace_CALL && wanted != 0) begin_call(frame);
    if (what == PyTrace_RETURN) emit::end_scope(frame, current_context());
    if (wanted == 0) [[unlikely]]
        leave_thread_when_over();
    return 0;
} catch (...) {
    return 0;  // for want of memory a tool misses a call
}

// What the threading module gives to new threads.
PyObject* follow_calls(PyObject*, PyObject* const*, Py_ssize_t) {
    PyEval_SetProfile(wanted == 0 ? nullptr : on_event, nullptr);
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"follow_calls", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(follow_calls)), METH_FASTCALL,
     "follow_calls(frame, event, arg, /)\n--\n\nA profile function that is replaced by a native one."},
    {nullptr, nullptr, 0, nullptr},
};

// False: another profile function is there.
bool start_emitted_calls(bool itt, uint64_t user) {
    PyThreadState* state = PyThreadState_Get();
    if (state->c_profilefunc && !is_followed(state)) return false;
    if (wanted == 0 && !collect::find_places(places)) throw nb::python_error();
    users[itt].insert(user);
    wanted |= emit::wish(emit::target(itt));
    if (!is_followed(state)) PyEval_SetProfile(on_event, nullptr);
    return true;
}

void stop_emitted_calls(bool itt, uint64_t user) {
    users[itt].erase(user);
    if (users[itt].empty()) wanted &= ~emit::wish(emit::target(itt));
    if (wanted != 0) return;
    leave_thread_when_over();
    // Whoever took our place in this thread has kept from us what returned meanwhile.
    if (!is_followed(PyThreadState_Get())) emit::end_scopes(emit::python_function_category);
    forget_names();
}

}  // namespace

void bind_emitted_calls(nb::module_& module) {
    if (PyModule_AddFunctions(module.ptr(), functions) != 0) throw nb::python_error();
    module.def("start_emitted_calls", &start_emitted_calls, "itt"_a, "user"_a);
    module.def("stop_emitted_calls", &stop_emitted_calls, "itt"_a, "user"_a);
    module.def("follows_calls_here", [] { return is_followed(PyThreadState_Get()); });
}

}  // namespace kinetograph::bind
