#include "bind/python_thread.h"

#include <nanobind/nanobind.h>

#include <cstring>

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

uintptr_t word_of(PyObject* context, size_t index) {
    uintptr_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(context) + index * sizeof word, sizeof word);
    return word;
}

// A context knows the one that it was entered from, but no function tells: which word that is, one of our own
// shows. 0 where none does.
size_t word_of_previous = 0;

size_t find_word_of_previous() {
    const uintptr_t outer = current_context();
    PyObject* inner = PyContext_New();
    if (!inner || PyContext_Enter(inner) < 0) {
        Py_XDECREF(inner);
        PyErr_Clear();
        return 0;
    }
    size_t index = size_t(Py_TYPE(inner)->tp_basicsize) / sizeof(uintptr_t);
    while (--index != 0 && word_of(inner, index) != outer) {
    }
    PyContext_Exit(inner);
    const bool is_gone = word_of(inner, index) == 0;
    Py_DECREF(inner);
    return is_gone ? index : 0;
}

}  // namespace

void learn_contexts() {
    word_of_previous = find_word_of_previous();
}

uintptr_t context_before(uintptr_t context) {
    return word_of_previous == 0 ? 0 : word_of(reinterpret_cast<PyObject*>(context), word_of_previous);
}

bool may_give_way() {
    constexpr int gives_way = CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR | CO_GENERATOR;
    auto frame = nb::steal(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
    while (frame.is_valid()) {
        auto* running = reinterpret_cast<PyFrameObject*>(frame.ptr());
        const auto code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(running)));
        if (reinterpret_cast<PyCodeObject*>(code.ptr())->co_flags & gives_way) return true;
        frame = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(running)));
    }
    return false;
}

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
