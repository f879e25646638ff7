#include "bind/python_thread.h"

#include <nanobind/nanobind.h>

#include "record/recorder.h"

namespace nb = nanobind;

namespace kinetograph::bind {

using record::Recorder;

namespace {

// Names are a courtesy: whatever goes wrong while asking for one is not the program's business.
template <class Ask>
void ask_quietly(Ask&& ask) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    try {
        ask();
    } catch (nb::python_error& error) {
        // Ctrl-C is not ours to swallow: it comes again at the next instruction of the program.
        if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
    } catch (const nb::cast_error&) {
    } catch (const std::bad_alloc&) {
    }
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

void record_name(nb::handle text, auto&& record) {
    Py_ssize_t bytes = 0;
    if (!text.is_valid()) return;
    if (const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &bytes))
        record(std::string_view(utf8, size_t(bytes)));
}

// The Thread object of this thread; none where Python did not start it, whatever it was asked since.
nb::object thread_of_python() {
    nb::object threading = nb::module_::import_("threading");
    // current_thread() would invent one.
    nb::object thread = threading.attr("_active").attr("get")(PyThread_get_thread_ident());
    const bool is_invented = thread.type().is(threading.attr("_DummyThread"));
    return thread.is_none() || is_invented ? nb::object() : thread;
}

}  // namespace

uintptr_t context_of_this_thread() {
    const PyThreadState* state = PyGILState_GetThisThreadState();
    return state ? reinterpret_cast<uintptr_t>(state->context) : 0;
}

void ask_for_name() {
    record::ThreadBuffer* buffer =
        record::current_thread ? record::current_thread : record::register_thread();
    if (!buffer) return;
    buffer->was_asked_for_name = true;  // first, for what is asked may be Python, and record
    ask_quietly([] {
        nb::object thread = thread_of_python();
        if (!thread.is_valid()) return;
        // Not the way of the type: what it does would lie in the trace as calls of the program.
        nb::object name = nb::steal(PyObject_GenericGetAttr(thread.ptr(), nb::str("_name").ptr()));
        record_name(name, [](std::string_view text) { Recorder::instance().suggest_thread_name(text); });
    });
}

uintptr_t make_context(PyThreadState* state) {
    Py_XDECREF(PyContext_CopyCurrent());
    return reinterpret_cast<uintptr_t>(state->context);
}

void name_lane(uint16_t lane) {
    ask_quietly([&] {
        nb::object modules = nb::module_::import_("sys").attr("modules");
        nb::object asyncio = modules.attr("get")("asyncio");
        if (asyncio.is_none()) return;
        nb::object task = asyncio.attr("current_task")();
        if (task.is_none()) return;
        record_name(task.attr("get_name")(),
                    [&](std::string_view name) { Recorder::instance().set_lane_name(lane, name); });
    });
}

}  // namespace kinetograph::bind
