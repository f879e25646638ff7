#include "bind/marks.h"

#include <bit>

#include "bind/emission.h"
#include "bind/hooks.h"
#include "bind/python_thread.h"
#include "bind/scope_object.h"

namespace kinetograph::bind {

using record::RecordKind;

namespace {

void append_now(PyObject* name, RecordKind kind, record::Category category, uint64_t value) {
    record::ThreadBuffer* thread = recording_python_thread();
    if (!thread) return;
    PyObject* scope = shared_scope(name);
    if (!scope) return PyErr_Clear();
    const uint32_t id = name_id_of(reinterpret_cast<ScopeObject*>(scope));
    Py_DECREF(scope);
    const uint16_t lane = record::lane_number_of(*thread, current_context());
    const uint64_t now = base::ticks();
    record::append(*thread, {now, kind == RecordKind::counter ? value : now, id, kind, uint8_t(category), 0,
                             0, lane, 0, 0});
}

bool is_active(record::ActiveBits bit) {
    return (record::active.load(std::memory_order_relaxed) & bit) != 0;
}

bool check_name(const char* function, PyObject* name) {
    if (PyUnicode_Check(name)) return true;
    refuse_argument("write str(value) for the name", "%s() expects a name of type str, got %.200s", function,
                    Py_TYPE(name)->tp_name);
    return false;
}

// METH_FASTCALL alone would have CPython refuse keywords, in words that do not say what is expected.
bool check_arguments(const char* function, const char* expected, const char* example, Py_ssize_t count,
                     Py_ssize_t nargs, PyObject* kwnames) {
    const bool has_keywords = kwnames && PyTuple_GET_SIZE(kwnames) != 0;
    if (nargs == count && !has_keywords) [[likely]]
        return true;
    if (has_keywords)
        refuse_argument(example, "%s() expects %s and no keywords, got %S=", function, expected,
                        PyTuple_GET_ITEM(kwnames, 0));
    else
        refuse_argument(example, "%s() expects %s, got %zd arguments", function, expected, nargs);
    return false;
}

PyObject* mark(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    if (!check_arguments("mark", "a name", "kg.mark(\"cache miss\"); a scope may have more than a name", 1,
                         nargs, kwnames))
        return nullptr;
    PyObject* name = args[0];
    if (!check_name("mark", name)) return nullptr;
    if (is_active(record::active_emission)) emit_mark(name);
    if (is_active(record::active_sessions))
        append_now(name, RecordKind::instant, record::Category::cpu_instant_event, 0);
    Py_RETURN_NONE;
}

PyObject* counter(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    if (!check_arguments("counter", "a name and a value", "kg.counter(\"queue\", 12)", 2, nargs, kwnames))
        return nullptr;
    if (!check_name("counter", args[0])) return nullptr;
    const double value = PyFloat_AsDouble(args[1]);
    if (value == -1.0 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;  // the program's own, such as Ctrl-C
        return refuse_argument("float(value)", "counter() expects a number as value of %R, got %.200s",
                               args[0], Py_TYPE(args[1])->tp_name);
    }
    if (is_active(record::active_emission)) emit_count(args[0], value);
    if (is_active(record::active_sessions))
        append_now(args[0], RecordKind::counter, record::Category::counter, std::bit_cast<uint64_t>(value));
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"mark", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(mark)), METH_FASTCALL | METH_KEYWORDS,
     "mark(name, /)\n--\n\nRecord an instant: something happened now.\n\n>>> kg.mark(\"cache miss\")"},
    {"counter", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(counter)),
     METH_FASTCALL | METH_KEYWORDS,
     "counter(name, value, /)\n--\n\nRecord the value of something that goes up and down.\n\n>>> "
     "kg.counter(\"queue\", 12)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_marks(PyObject* module) {
    return PyModule_AddFunctions(module, functions);
}

}  // namespace kinetograph::bind
