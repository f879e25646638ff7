// What the names of functions are made with, as Python has it at a moment. Needs the GIL.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

namespace kinetograph::collect {

struct NamePlaces {
    std::vector<std::string> search_path;  // sys.path, longest entry first
    std::string own_folder;                // of this package
};

// False with an exception.
bool find_places(NamePlaces& found);

// As UTF-8; what that has no form for is written as Python's backslashreplace does. Empty if it is no string.
std::string text_of(PyObject* text);

}  // namespace kinetograph::collect
