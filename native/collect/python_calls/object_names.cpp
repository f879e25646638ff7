#include "collect/python_calls/object_names.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collect/python_calls/code_names.h"
#include "collect/python_calls/keep_error.h"
#include "collect/python_names/origins.h"
#include "collect/python_names/places.h"
#include "record/object_name.h"
#include "record/recorder.h"

namespace kinetograph::collect {

namespace {

struct NamedCode {
    PyCodeObject* code;
    std::string kind;
};
std::vector<NamedCode> named;

const NamedCode* find_named(const PyCodeObject* code) {
    const auto found =
        std::find_if(named.begin(), named.end(), [&](const NamedCode& known) { return known.code == code; });
    return found == named.end() ? nullptr : &*found;
}

// Something known of objects that may go at any time; another one at the same address is not mistaken for it.
class ByObject {
public:
    // 0 when it is not known.
    uint32_t find(PyObject* object) const {
        const auto known = all_.find(object);
        if (known == all_.end()) return 0;
        const auto* reference = reinterpret_cast<const PyWeakReference*>(known->second.reference);
        return reference->wr_object == object ? known->second.number : 0;
    }

    // False with an exception set where an object cannot be referred to weakly.
    bool set(PyObject* object, uint32_t number) {
        // First, since it may collect garbage, and that may come here.
        PyObject* reference = PyWeakref_NewRef(object, nullptr);
        if (!reference) return false;
        PyObject* before = std::exchange(all_[object], {reference, number}).reference;
        Py_XDECREF(before);
        return true;
    }

    void clear() {
        const auto gone = std::exchange(all_, {});
        for (const auto& [object, known] : gone) Py_DECREF(known.reference);
    }

private:
    struct Known {
        PyObject* reference = nullptr;
        uint32_t number = 0;
    };
    std::unordered_map<PyObject*, Known> all_;
};

ByObject names, class_numbers;
uint32_t last_object = 0, last_class = 0;

uint32_t number_of_class(PyObject* type) {
    if (const uint32_t known = class_numbers.find(type)) return known;
    return class_numbers.set(type, last_class + 1) ? ++last_class : 0;
}

// `kind: Class`, and behind a separator what tells the class and the object from others.
std::string spelled(const NamedCode& code, PyTypeObject* type, uint32_t type_number) {
    PyObject* name = PyType_GetName(type);
    const std::string text = code.kind + text_of(name) + record::object_separator +
                             std::to_string(type_number) + record::object_separator +
                             std::to_string(++last_object);
    Py_XDECREF(name);
    return text;
}

uint32_t new_name(PyCodeObject* code, PyObject* object) {
    const KeepError keep;
    PyTypeObject* type = Py_TYPE(object);
    const uint32_t type_number = number_of_class(reinterpret_cast<PyObject*>(type));
    if (type_number == 0) return 0;
    const uint32_t name = record::Recorder::instance().intern(spelled(*find_named(code), type, type_number));
    if (!names.set(object, name)) return 0;
    remember_origin(name, origin_of(code));
    return name;
}

}  // namespace

void name_by_object(PyCodeObject* code, std::string kind) {
    if (is_named_by_object(code)) return;
    Py_INCREF(code);
    named.push_back({code, std::move(kind)});
}

bool is_named_by_object(const PyCodeObject* code) {
    return find_named(code) != nullptr;
}

size_t count_named_by_object() {
    return named.size();
}

uint32_t object_name(const Frame* frame) {
    PyObject* object = first_argument(frame);
    if (!object) return 0;
    const uint32_t known = names.find(object);
    return known != 0 ? known : new_name(code_of(frame), object);
}

void forget_objects() {
    names.clear();
    class_numbers.clear();
    last_object = last_class = 0;
}

}  // namespace kinetograph::collect
