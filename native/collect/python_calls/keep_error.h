// Hooks run while an exception may be on its way through the program: what they ask of Python must not touch
// it.
#pragma once

#include <Python.h>

namespace kinetograph::collect {

class KeepError {
public:
    KeepError() { PyErr_Fetch(&type_, &value_, &traceback_); }
    ~KeepError() { PyErr_Restore(type_, value_, traceback_); }
    KeepError(const KeepError&) = delete;

private:
    PyObject *type_, *value_, *traceback_;
};

}  // namespace kinetograph::collect
