// Text between Python and the trace. Names may hold bytes that are no UTF-8, and str may hold lone
// surrogates; neither may raise.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace kinetograph::bind {

inline nanobind::object to_python(std::string_view text) {
    PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
    if (decoded == nullptr) nanobind::raise_python_error();
    return nanobind::steal(decoded);
}

inline std::string from_python(nanobind::handle text) {
    PyObject* encoded = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "replace");
    if (encoded == nullptr) nanobind::raise_python_error();
    const nanobind::object owner = nanobind::steal(encoded);
    return {PyBytes_AS_STRING(encoded), static_cast<size_t>(PyBytes_GET_SIZE(encoded))};
}

}  // namespace kinetograph::bind
