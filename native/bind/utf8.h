// The UTF-8 of a str, for as long as this object and the str live. Lone surrogates are spelled out as \udcXX.
#pragma once

#include <Python.h>

#include <string_view>

namespace kinetograph::bind {

// With the GIL. Never raises.
class Utf8 {
public:
    explicit Utf8(PyObject* text) {
        Py_ssize_t bytes = 0;
        if (const char* utf8 = PyUnicode_AsUTF8AndSize(text, &bytes)) {
            view_ = {utf8, size_t(bytes)};
            return;
        }
        PyErr_Clear();
        spelled_ = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
        if (spelled_)
            view_ = {PyBytes_AS_STRING(spelled_), size_t(PyBytes_GET_SIZE(spelled_))};
        else
            PyErr_Clear();
    }
    ~Utf8() { Py_XDECREF(spelled_); }
    Utf8(const Utf8&) = delete;

    // Ends with a NUL.
    std::string_view view() const { return view_; }
    const char* text() const { return view_.data(); }

private:
    PyObject* spelled_ = nullptr;
    std::string_view view_ = "<name that cannot be encoded>";
};

}  // namespace kinetograph::bind
