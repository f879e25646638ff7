#include "collect/python_names/places.h"

#include <algorithm>

namespace kinetograph::collect {

std::string text_of(PyObject* text) {
    if (!text || !PyUnicode_Check(text)) return {};
    Py_ssize_t bytes = 0;
    if (const char* utf8 = PyUnicode_AsUTF8AndSize(text, &bytes)) return {utf8, size_t(bytes)};
    PyErr_Clear();
    PyObject* spelled = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    if (!spelled) {
        PyErr_Clear();
        return {};
    }
    std::string result(PyBytes_AS_STRING(spelled), size_t(PyBytes_GET_SIZE(spelled)));
    Py_DECREF(spelled);
    return result;
}

bool find_places(NamePlaces& found) {
    std::vector<std::string>& search_path = found.search_path;
    search_path.clear();
    if (PyObject* path = PySys_GetObject("path"); path && PyList_Check(path))
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(path); ++i)
            search_path.push_back(text_of(PyList_GET_ITEM(path, i)));
    std::stable_sort(search_path.begin(), search_path.end(),
                     [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
    if (!found.own_folder.empty()) return true;
    PyObject* package = PyImport_ImportModule("kinetograph");
    PyObject* file = package ? PyObject_GetAttrString(package, "__file__") : nullptr;
    if (!file) return false;
    const std::string path = text_of(file);
    found.own_folder = path.substr(0, path.rfind('/') + 1);
    Py_DECREF(file);
    Py_DECREF(package);
    return true;
}

}  // namespace kinetograph::collect
