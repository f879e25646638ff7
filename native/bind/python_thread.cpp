#include "bind/python_thread.h"

#include <nanobind/nanobind.h>

#include "record/recorder.h"

namespace nb = nanobind;

namespace kinetograph::bind {

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
    if (const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &bytes))
        record(std::string_view(utf8, size_t(bytes)));
}

}  // namespace

uintptr_t context_of_this_thread() {
    const PyThreadState* state = PyGILState_GetThisThreadState();
    return state ? reinterpret_cast<uintptr_t>(state->context) : 0;
}

void name_new_thread() {
    ask_quietly([] {
        // current_thread() would invent a Thread object for a thread Python did not start.
        nb::object known = nb::module_::import_("threading").attr("_active");
        nb::object thread = known.attr("get")(PyThread_get_thread_ident());
        if (thread.is_none()) return;
        record_name(thread.attr("name"),
                    [](std::string_view name) { record::Recorder::instance().suggest_thread_name(name); });
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
                    [&](std::string_view name) { record::Recorder::instance().set_lane_name(lane, name); });
    });
}

}  // namespace kinetograph::bind
