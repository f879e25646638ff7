// Failures of the file system keep their number and file, as Python's own OSError does.
#pragma once

#include <nanobind/nanobind.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace kinetograph::bind {

template <class Work>
auto with_os_errors(const std::string& path, Work&& work) {
    try {
        return work();
    } catch (const std::system_error& error) {
        errno = error.code().value();
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
        throw nanobind::python_error();
    }
}

}  // namespace kinetograph::bind
