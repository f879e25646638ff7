#include "collect/python_calls/code_names.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/python_calls/code_extra.h"
#include "collect/python_calls/keep_error.h"
#include "collect/python_calls/object_names.h"
#include "collect/python_names/origins.h"
#include "collect/python_names/places.h"
#include "record/recorder.h"

namespace kinetograph::collect {

Py_ssize_t code_slot = -1;

namespace {

WantedFunctions wanted;
NamePlaces places;

// sys.path when it was last read. A program's own folder is put in front of it only as the program begins,
// which may be after we have.
struct SeenPath {
    PyObject* list = nullptr;
    PyObject* first = nullptr;
    Py_ssize_t size = 0;

    static SeenPath now() {
        PyObject* path = PySys_GetObject("path");
        if (!path || !PyList_Check(path) || PyList_GET_SIZE(path) == 0) return {path, nullptr, 0};
        return {path, PyList_GET_ITEM(path, 0), PyList_GET_SIZE(path)};
    }
    bool operator==(const SeenPath&) const = default;
    bool is_current() const { return *this == now(); }
};
SeenPath seen_path;

bool read_places() {
    seen_path = SeenPath::now();
    return find_places(places);
}
struct MethodKey {
    const PyMethodDef* method;
    const PyTypeObject* type;
    bool operator==(const MethodKey&) const = default;
};
struct MethodHash {
    size_t operator()(const MethodKey& key) const {
        return std::hash<const void*>{}(key.method) * 31 + std::hash<const void*>{}(key.type);
    }
};
std::unordered_map<MethodKey, uint32_t, MethodHash> builtin_names;

uint32_t intern(std::string name, const std::string& qualified) {
    if (!qualified.empty()) name += record::qualified_name_separator + qualified;
    return record::Recorder::instance().intern(name);
}

uint32_t name_of(const PyCodeObject* code, const Origin& origin) {
    return record::Recorder::instance().intern(
        call_name(origin, code->co_firstlineno, text_of(code->co_name), text_of(code->co_qualname)));
}

// The functions of ours that call the program's: `handover.py`, and the wrappers of `decorate.py`.
bool calls_the_program(const PyCodeObject* code) {
    const std::string name = text_of(code->co_name);
    return name == "call_program" || name == "scoped";
}

// The line of our .pth file, which Python compiles without a name.
bool is_line_of_pth(const PyCodeObject* code, const Origin& origin) {
    if (origin.path != "<string>" || !code->co_consts) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); ++i)
        if (text_of(PyTuple_GET_ITEM(code->co_consts, i)) == "KINETOGRAPH_RUN") return true;
    return false;
}

// A CodeWord without its generation.
uint64_t decision_about(const PyCodeObject* code, const Origin& origin) {
    if (is_line_of_pth(code, origin)) return CodeWord::line_of_pth;
    if (is_our_own(origin, places.own_folder))
        return calls_the_program(code) ? CodeWord::way_to_program : CodeWord::own;
    const bool passes = wanted.filter.wants(origin);
    const bool is_by_object = is_named_by_object(code) && (wanted.objects || (wanted.functions && passes));
    if (!passes && !is_by_object) return CodeWord::excluded;
    const uint32_t name = name_of(code, origin);
    remember_origin(name, origin);
    const uint64_t mark = is_by_object ? CodeWord::by_object : wanted.functions ? 0 : CodeWord::only_named;
    return mark | name;
}

const char* last_part(const char* dotted) {
    const char* dot = std::strrchr(dotted, '.');
    return dot ? dot + 1 : dotted;
}

// As Python prints it, but for the address, which would make every object a name of its own.
uint32_t method_name(const PyMethodDef* method, const PyTypeObject* type) {
    if (std::string_view(type->tp_name).starts_with("kinetograph.")) return own_builtin;
    const std::string name = method->ml_name ? method->ml_name : "?";
    return intern("<built-in method " + name + " of " + type->tp_name + " object>",
                  last_part(type->tp_name) + ("." + name));
}

uint32_t function_name(const PyCFunctionObject* function) {
    const std::string name = function->m_ml->ml_name ? function->m_ml->ml_name : "?";
    const std::string module = text_of(function->m_module);
    if (module.starts_with("kinetograph.")) return own_builtin;
    return intern("<built-in function " + name + ">", module.empty() ? "" : module + "." + name);
}

// What was asked for before; most programs call a few C functions most of the time.
struct RecentName {
    MethodKey key{};
    uint32_t name = 0;
};
std::array<RecentName, 512> recent_names;

template <class Make>
uint32_t known_name(const PyMethodDef* method, const PyTypeObject* type, Make&& make) {
    const MethodKey key{method, type};
    const size_t mixed =
        reinterpret_cast<uintptr_t>(method) / sizeof(PyMethodDef) ^ reinterpret_cast<uintptr_t>(type) / 64;
    RecentName& recent = recent_names[mixed % recent_names.size()];
    if (recent.key == key) [[likely]]
        return recent.name;
    auto [known, is_new] = builtin_names.try_emplace(key, 0);
    if (is_new) known->second = make();
    recent = {key, known->second};
    return known->second;
}

}  // namespace

bool take_code_slot() {
    if (code_slot >= 0) return true;
    const Py_ssize_t slot = request_code_slot();
    PyObject* probe = slot < 0 ? nullptr : Py_CompileString("0", "<kinetograph>", Py_eval_input);
    if (!probe) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "no slot is left in code objects");
        return false;
    }
    code_slot = slot;
    const auto mark = reinterpret_cast<void*>(uintptr_t(0x5eed));
    const bool works = set_code_slot(probe, slot, mark) == 0 &&
                       word_of(reinterpret_cast<PyCodeObject*>(probe)).bits == 0x5eed;
    Py_DECREF(probe);
    if (works) return true;
    code_slot = -1;
    PyErr_SetString(PyExc_RuntimeError, "this Python keeps data in code objects in a way we do not know");
    return false;
}

bool prepare_names(const WantedFunctions& functions) {
    wanted = functions;
    builtin_names.clear();
    recent_names.fill({});
    return read_places();
}

Origin origin_of(const PyCodeObject* code) {
    if (!seen_path.is_current()) read_places();
    return origin_of(text_of(code->co_filename), places.search_path);
}

CodeWord decide(PyCodeObject* code, uint32_t generation) {
    const KeepError keep;  // an exception may be on its way through the program
    const CodeWord word{uint64_t(generation) << 33 | decision_about(code, origin_of(code))};
    // Without memory for the slot it is decided again next time.
    if (set_code_slot(reinterpret_cast<PyObject*>(code), code_slot, reinterpret_cast<void*>(word.bits)) != 0)
        PyErr_Clear();
    return word;
}

uint32_t builtin_name(PyObject* callable) {
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) {
        const auto* method = reinterpret_cast<PyMethodDescrObject*>(callable);
        const PyTypeObject* type = PyDescr_TYPE(callable);
        return known_name(method->d_method, type, [&] { return method_name(method->d_method, type); });
    }
    const auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
    PyObject* self = function->m_self;
    if (!self || PyModule_Check(self))
        return known_name(function->m_ml, nullptr, [&] { return function_name(function); });
    return known_name(function->m_ml, Py_TYPE(self),
                      [&] { return method_name(function->m_ml, Py_TYPE(self)); });
}

}  // namespace kinetograph::collect
