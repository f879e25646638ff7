#include "bind/hooks.h"

#include <cstdarg>
#include <cstring>
#include <string_view>

namespace kinetograph::bind {

namespace {

PyObject* hooks[int(Hook::count)];

constexpr const char* names[] = {"prepare",       "decorate",         "refuse",        "describe_enter",
                                 "describe_exit", "describe_emitted", "observe_enter", "observe_exit"};
static_assert(sizeof(names) / sizeof(names[0]) == size_t(Hook::count));

PyObject* set_hook(PyObject*, PyObject* args) {
    const char* name;
    PyObject* callable;
    if (!PyArg_ParseTuple(args, "sO:set_hook", &name, &callable)) return nullptr;
    for (int i = 0; i < int(Hook::count); ++i) {
        if (std::strcmp(names[i], name) != 0) continue;
        Py_XSETREF(hooks[i], Py_NewRef(callable));
        Py_RETURN_NONE;
    }
    return PyErr_Format(PyExc_ValueError, "there is no hook %R", PyTuple_GET_ITEM(args, 0));
}

PyMethodDef functions[] = {
    {"set_hook", set_hook, METH_VARARGS,
     "set_hook(name, callable, /)\n--\n\nConnect the Python side of scopes."},
    {nullptr, nullptr, 0, nullptr},
};

std::string_view file_of(PyObject* code) {
    PyObject* file = reinterpret_cast<PyCodeObject*>(code)->co_filename;
    Py_ssize_t bytes = 0;
    const char* utf8 = PyUnicode_AsUTF8AndSize(file, &bytes);
    if (!utf8) PyErr_Clear();
    return utf8 ? std::string_view(utf8, size_t(bytes)) : std::string_view();
}

// The folder of our package, which the hook's own file lies in.
std::string_view own_folder(PyObject* hook) {
    const std::string_view file =
        PyFunction_Check(hook) ? file_of(PyFunction_GET_CODE(hook)) : std::string_view();
    const size_t package = file.rfind("/kinetograph/");
    return package == std::string_view::npos ? std::string_view() : file.substr(0, package + 13);
}

// A signal handler of the program may run in the middle of a hook. What it raises is the program's; what our
// own code raises is not. The innermost frame tells.
bool was_raised_by_us(PyObject* hook, PyObject* traceback) {
    PyTracebackObject* innermost = nullptr;
    for (PyObject* at = traceback; at && PyTraceBack_Check(at);) {
        innermost = reinterpret_cast<PyTracebackObject*>(at);
        at = reinterpret_cast<PyObject*>(innermost->tb_next);
    }
    if (!innermost) return true;
    PyCodeObject* code = PyFrame_GetCode(innermost->tb_frame);
    const std::string_view folder = own_folder(hook);
    const bool is_ours = !folder.empty() && file_of(reinterpret_cast<PyObject*>(code)).starts_with(folder);
    Py_DECREF(code);
    return is_ours;
}

void report_our_own_error(PyObject* hook) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const bool is_ours = was_raised_by_us(hook, traceback);
    PyErr_Restore(type, value, traceback);
    if (is_ours) PyErr_WriteUnraisable(hook);
}

}  // namespace

PyObject* call_hook_for_result(Hook hook, PyObject* argument) {
    PyObject* callable = hooks[int(hook)];
    if (!callable) return nullptr;
    PyObject* result = PyObject_CallOneArg(callable, argument);
    if (!result) report_our_own_error(callable);
    return result;
}

bool call_hook(Hook hook, PyObject* argument) {
    Py_XDECREF(call_hook_for_result(hook, argument));
    return !PyErr_Occurred();
}

PyObject* call_hook_vector(Hook hook, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyObject* callable = hooks[int(hook)];
    if (!callable) return PyErr_Format(PyExc_RuntimeError, "kinetograph is not fully imported");
    return PyObject_Vectorcall(callable, args, size_t(nargs), kwnames);
}

PyObject* refuse_argument(const char* hint, const char* format, ...) {
    PyErr_Clear();  // what we tell says more
    va_list values;
    va_start(values, format);
    PyObject* text = PyUnicode_FromFormatV(format, values);
    va_end(values);
    PyObject* error_class = hooks[int(Hook::refuse)];
    PyObject* args = text ? Py_BuildValue("(O)", text) : nullptr;
    PyObject* options = args ? Py_BuildValue("{ss}", "hint", hint) : nullptr;
    PyObject* error = options && error_class ? PyObject_Call(error_class, args, options) : nullptr;
    if (error)
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
    else if (!PyErr_Occurred())
        PyErr_SetObject(PyExc_TypeError, text);  // before the package is fully imported
    for (PyObject* each : {text, args, options, error}) Py_XDECREF(each);
    return nullptr;
}

int add_hooks(PyObject* module) {
    return PyModule_AddFunctions(module, functions);
}

}  // namespace kinetograph::bind
