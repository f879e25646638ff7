#include "bind/scope.h"

#include "bind/emission.h"
#include "bind/hooks.h"
#include "bind/python_thread.h"
#include "bind/scope_object.h"
#include "bind/scoped_function.h"
#include "bind/utf8.h"
#include "collect/python_calls/stacks.h"
#include "record/recorder.h"

namespace kinetograph::bind {

using record::active;

// ---- names

namespace {

constexpr size_t max_shared_scopes = 8192;
constexpr size_t shortcuts = 1024;

base::StringTable* names;                     // of the recorder, which lives for ever
PyObject* shared_scopes;                      // dict: name -> scope, never shrinks
ScopeObject* shortcut_by_address[shortcuts];  // borrowed from shared_scopes

size_t shortcut_of(PyObject* name) {
    return (reinterpret_cast<uintptr_t>(name) >> 4) % shortcuts;
}

constexpr uint32_t user_scope =
    record::open_meta(record::Category::user_annotation, record::RecordScope::user_scope);

}  // namespace

uint32_t intern_text(PyObject* text) {
    return names->intern(Utf8(text).view());
}

uint32_t name_id_of(ScopeObject* scope) {
    if (!names->is_valid(scope->name_id)) [[unlikely]]
        scope->name_id = intern_text(scope->name);
    return scope->name_id;
}

// ---- the hot path

namespace {

record::Lane& lane_to_begin(record::ThreadBuffer& thread, const ScopeObject* scope, bool* is_new) {
    if (scope->meta & record::is_operator) [[unlikely]]
        return record::lane_in_operator(thread, current_context(), is_new);
    return record::lane_of(thread, current_context(), is_new);
}

record::Lane& lane_to_end(record::ThreadBuffer& thread, const ScopeObject* scope) {
    if (scope->meta & record::is_operator) [[unlikely]]
        if (record::Lane* lane = record::lane_with_open(thread, scope->name_id)) return *lane;
    return record::lane_of(thread, current_context());
}

// Of a scope that nobody records: arrays are the program's.
[[gnu::cold]] void let_go_of_inputs(ScopeObject* scope) {
    if (scope->details != Py_None && PyObject_SetAttrString(scope->details, "inputs", Py_None) != 0)
        PyErr_Clear();
}

}  // namespace

bool begin(ScopeObject* scope, uint32_t bits) {
    auto* self = reinterpret_cast<PyObject*>(scope);
    if (bits & record::active_observers) [[unlikely]]
        if (!call_hook(Hook::observe_enter, self)) return false;
    if (bits & record::active_emission) [[unlikely]]
        if (!emit_begin(scope)) return false;
    if (!(bits & record::active_sessions)) {
        let_go_of_inputs(scope);
        return true;
    }
    record::ThreadBuffer* thread = recording_python_thread();
    if (thread && scope->details != Py_None) [[unlikely]] {
        if (!call_hook(Hook::describe_enter, self)) return false;
        thread = recording_python_thread();
    }
    if (!thread) {
        if (record::current_thread)
            record::count_loss(*record::current_thread, &record::LossCounts::unrecorded);
        let_go_of_inputs(scope);
        return true;
    }
    bool is_new_lane = false;
    record::Lane& lane = lane_to_begin(*thread, scope, &is_new_lane);
    record::begin_scope(*thread, lane, name_id_of(scope), scope->meta);
    if (is_new_lane) [[unlikely]]
        name_lane(lane.number);
    return true;
}

namespace {

bool end_with_more(ScopeObject* scope, uint64_t now, uint32_t stack) {
    if (scope->details == Py_None) {
        if (record::ThreadBuffer* thread = recording_python_thread())
            record::end_out_of_order(*thread, lane_to_end(*thread, scope), scope->name_id, now, nullptr, 0,
                                     stack);
        return true;
    }
    PyObject* text = call_hook_for_result(Hook::describe_exit, reinterpret_cast<PyObject*>(scope));
    const char* payload = text && PyBytes_Check(text) ? PyBytes_AS_STRING(text) : nullptr;
    const size_t bytes = payload ? size_t(PyBytes_GET_SIZE(text)) : 0;
    if (record::ThreadBuffer* thread = recording_python_thread())
        record::end_out_of_order(*thread, lane_to_end(*thread, scope), scope->name_id, now, payload, bytes,
                                 stack);
    Py_XDECREF(text);
    return !PyErr_Occurred();
}

}  // namespace

bool end(ScopeObject* scope, uint32_t bits) {
    if (bits & record::active_sessions) {
        const uint64_t now = base::ticks();
        if (record::ThreadBuffer* thread = recording_python_thread()) {
            const uint32_t stack = bits & record::active_stacks ? collect::current_stack() : 0;
            if (scope->details == Py_None && stack == 0) [[likely]]
                record::end_scope(*thread, lane_to_end(*thread, scope), scope->name_id, now);
            else if (!end_with_more(scope, now, stack))
                return false;
        }
    }
    if (bits & record::active_emission) [[unlikely]]
        emit_end(scope);
    if (bits & record::active_observers) [[unlikely]]
        return call_hook(Hook::observe_exit, reinterpret_cast<PyObject*>(scope));
    return true;
}

namespace {

// Steps of a profile: begun in one asyncio task, ended in another, or begun before anybody recorded. Ends
// what is open in this thread, on whatever lane, and counts nothing when it is not.
PyObject* end_where_open(PyObject*, PyObject* object) {
    if (!is_scope(object)) return PyErr_Format(PyExc_TypeError, "end_where_open() expects a scope");
    auto* scope = reinterpret_cast<ScopeObject*>(object);
    const uint64_t now = base::ticks();
    const uint32_t bits = active.load(std::memory_order_relaxed);
    record::ThreadBuffer* thread = bits & record::active_sessions ? recording_python_thread() : nullptr;
    if (thread)
        if (record::Lane* lane = record::lane_with_open(*thread, scope->name_id))
            record::end_scope(*thread, *lane, scope->name_id, now);
    if (bits & record::active_emission) emit_end(scope);
    if (bits & record::active_observers && !call_hook(Hook::observe_exit, object)) return nullptr;
    Py_RETURN_NONE;
}

// For a scope that was made just now, and that nobody else has.
PyObject* run_by_operators(PyObject*, PyObject* object) {
    if (!is_scope(object)) return PyErr_Format(PyExc_TypeError, "run_by_operators() expects a scope");
    reinterpret_cast<ScopeObject*>(object)->meta |= record::is_operator;
    return Py_NewRef(object);
}

PyMethodDef functions[] = {
    {"run_by_operators", run_by_operators, METH_O,
     "run_by_operators(scope, /)\n--\n\nThe same scope. It lies in the operator that runs it, in whichever "
     "context."},
    {"end_where_open", end_where_open, METH_O,
     "end_where_open(scope, /)\n--\n\nEnd a scope on whatever lane of this thread it is open."},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* scope_enter(PyObject* self, PyObject*) {
    const uint32_t bits = active.load(std::memory_order_relaxed);
    if (bits != 0 && !begin(reinterpret_cast<ScopeObject*>(self), bits)) [[unlikely]]
        return nullptr;
    return Py_NewRef(self);
}

PyObject* scope_exit(PyObject* self, PyObject* const*, Py_ssize_t) {
    const uint32_t bits = active.load(std::memory_order_relaxed);
    if (bits != 0 && !end(reinterpret_cast<ScopeObject*>(self), bits)) [[unlikely]]
        return nullptr;
    Py_RETURN_NONE;
}

PyMethodDef enter_method = {"__enter__", scope_enter, METH_NOARGS, "Begin the scope."};
PyMethodDef exit_method = {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(scope_exit)),
                           METH_FASTCALL, "End the scope; an exception passes through."};

// `with` looks __enter__ and __exit__ up on the type and binds them, which for an ordinary method allocates.
// This descriptor hands out what was bound once for a shared scope.
struct BoundOnce {
    PyObject_HEAD PyMethodDef* method;
    PyObject* ScopeObject::* bound;
};

PyObject* bound_once_get(PyObject* self, PyObject* scope, PyObject*) {
    auto* descriptor = reinterpret_cast<BoundOnce*>(self);
    if (!scope) return Py_NewRef(self);
    if (!is_scope(scope)) [[unlikely]]
        return PyErr_Format(PyExc_TypeError, "%s belongs to scopes, not to %.200s",
                            descriptor->method->ml_name, Py_TYPE(scope)->tp_name);
    PyObject* bound = reinterpret_cast<ScopeObject*>(scope)->*(descriptor->bound);
    return bound ? Py_NewRef(bound) : PyCFunction_New(descriptor->method, scope);
}

// contextlib.ExitStack takes __enter__ from the type and calls it with the scope.
PyObject* bound_once_call(PyObject* self, PyObject* args, PyObject* kwargs) {
    const Py_ssize_t count = PyTuple_GET_SIZE(args);
    PyObject* scope = count > 0 ? PyTuple_GET_ITEM(args, 0) : nullptr;
    if (!scope || !is_scope(scope))
        return PyErr_Format(PyExc_TypeError, "expected a scope as first argument");
    PyObject* bound = bound_once_get(self, scope, nullptr);
    PyObject* rest = PyTuple_GetSlice(args, 1, count);
    PyObject* result = bound && rest ? PyObject_Call(bound, rest, kwargs) : nullptr;
    Py_XDECREF(bound);
    Py_XDECREF(rest);
    return result;
}

PyTypeObject bound_once_type = [] {
    PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
    type.tp_name = "kinetograph.BoundOnce";
    type.tp_basicsize = sizeof(BoundOnce);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    type.tp_descr_get = bound_once_get;
    type.tp_call = bound_once_call;
    return type;
}();

int add_bound_method(PyMethodDef& method, PyObject* ScopeObject::* bound) {
    auto* descriptor = PyObject_New(BoundOnce, &bound_once_type);
    if (!descriptor) return -1;
    descriptor->method = &method;
    descriptor->bound = bound;
    const int result =
        PyDict_SetItemString(scope_type.tp_dict, method.ml_name, reinterpret_cast<PyObject*>(descriptor));
    Py_DECREF(descriptor);
    return result;
}

// ---- making scopes

ScopeObject* new_scope(PyObject* name) {
    auto* scope = PyObject_New(ScopeObject, &scope_type);
    if (!scope) return nullptr;
    scope->name = Py_NewRef(name);
    scope->enter = scope->exit = nullptr;
    scope->details = Py_NewRef(Py_None);
    scope->name_id = 0;
    scope->meta = user_scope;
    scope->emitted = nullptr;
    return scope;
}

void scope_dealloc(PyObject* self) {
    auto* scope = reinterpret_cast<ScopeObject*>(self);
    Py_XDECREF(scope->name);
    Py_XDECREF(scope->enter);
    Py_XDECREF(scope->exit);
    Py_XDECREF(scope->details);
    PyObject_Free(self);
}

// The bound methods refer to their scope: a cycle, but one that is shared until the process ends.
bool share(ScopeObject* scope) {
    auto* self = reinterpret_cast<PyObject*>(scope);
    if (PyDict_GET_SIZE(shared_scopes) >= Py_ssize_t(max_shared_scopes)) return true;
    if (PyDict_SetItem(shared_scopes, scope->name, self) != 0) return false;
    scope->enter = PyCFunction_New(&enter_method, self);
    scope->exit = PyCFunction_New(&exit_method, self);
    if (!scope->enter || !scope->exit) return false;
    shortcut_by_address[shortcut_of(scope->name)] = scope;
    return true;
}

PyObject* find_or_share(PyObject* name) {
    PyObject* known = PyDict_GetItemWithError(shared_scopes, name);
    if (known) {
        auto* scope = reinterpret_cast<ScopeObject*>(known);
        // Only the very string the scope holds may be found by address: another one can be freed and its
        // address be reused for another name.
        if (scope->name == name) shortcut_by_address[shortcut_of(name)] = scope;
        return Py_NewRef(known);
    }
    if (PyErr_Occurred()) return nullptr;
    ScopeObject* scope = new_scope(name);
    if (!scope) return nullptr;
    if (!share(scope)) Py_CLEAR(scope);
    return reinterpret_cast<PyObject*>(scope);
}

bool check_name(PyObject* name) {
    if (PyUnicode_Check(name)) return true;
    refuse_argument(
        PyCallable_Check(name) ? "as a decorator write @kg.scope(\"name\")" : "write kg.scope(str(value))",
        "scope() expects a name of type str, got %.200s", Py_TYPE(name)->tp_name);
    return false;
}

}  // namespace

PyObject* shared_scope(PyObject* name) {
    ScopeObject* shortcut = shortcut_by_address[shortcut_of(name)];
    if (shortcut && shortcut->name == name) [[likely]]
        return Py_NewRef(reinterpret_cast<PyObject*>(shortcut));
    if (PyUnicode_CheckExact(name)) return find_or_share(name);
    PyObject* exact = PyUnicode_FromObject(name);  // a subclass of str may compare as it likes
    if (!exact) return nullptr;
    PyObject* scope = find_or_share(exact);
    Py_DECREF(exact);
    return scope;
}

namespace {

// A scope with a kind, arguments, inputs or metadata: `details` is prepared by the Python side.
PyObject* detailed_scope(PyObject* name, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyObject* prepared = call_hook_vector(Hook::prepare, args, nargs, kwnames);  // (meta, details)
    if (!prepared) return nullptr;
    ScopeObject* scope = new_scope(name);
    PyObject* details = nullptr;
    unsigned int meta = 0;
    if (scope && PyArg_ParseTuple(prepared, "IO", &meta, &details)) {
        scope->meta = meta;
        Py_SETREF(scope->details, Py_NewRef(details));
    } else {
        Py_CLEAR(scope);
    }
    Py_DECREF(prepared);
    return reinterpret_cast<PyObject*>(scope);
}

// torch.profiler.record_function(name="x") is written too: the name among the keywords, if nothing stands
// before them.
PyObject* scope_by_keywords(PyObject* const* args, PyObject* kwnames) {
    PyObject* options = PyDict_New();
    PyObject* name = nullptr;
    for (Py_ssize_t i = 0; options && kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) {
        PyObject* key = PyTuple_GET_ITEM(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(key, "name") == 0)
            name = args[i];
        else if (PyDict_SetItem(options, key, args[i]) != 0)
            Py_CLEAR(options);
    }
    PyObject* scope = nullptr;
    if (options && !name)
        refuse_argument("with kg.scope(\"load\"): ...", "scope() expects a name");
    else if (options)
        scope = PyObject_VectorcallDict(reinterpret_cast<PyObject*>(&scope_type), &name, 1, options);
    Py_XDECREF(options);
    return scope;
}

PyObject* scope_vectorcall(PyObject*, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (nargs == 1 && !kwnames) [[likely]] {
        ScopeObject* shortcut = shortcut_by_address[shortcut_of(args[0])];
        if (shortcut && shortcut->name == args[0]) [[likely]]
            return Py_NewRef(reinterpret_cast<PyObject*>(shortcut));
        return check_name(args[0]) ? shared_scope(args[0]) : nullptr;
    }
    if (nargs == 0) return scope_by_keywords(args, kwnames);
    return check_name(args[0]) ? detailed_scope(args[0], args, nargs, kwnames) : nullptr;
}

PyObject* scope_call(PyObject* self, PyObject* args, PyObject* kwargs) {
    PyObject* function = nullptr;
    static const char* names[] = {"function", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char**>(names), &function)) return nullptr;
    PyObject* const stack[] = {self, function};
    return call_hook_vector(Hook::decorate, stack, 2, nullptr);
}

PyObject* scope_repr(PyObject* self) {
    return PyUnicode_FromFormat("kinetograph.scope(%R)", reinterpret_cast<ScopeObject*>(self)->name);
}

PyObject* scope_kind(PyObject* self, void*) {
    return PyLong_FromUnsignedLong(reinterpret_cast<ScopeObject*>(self)->meta >> 8 & 0xff);
}

PyObject* scope_name(PyObject* self, void*) {
    return Py_NewRef(reinterpret_cast<ScopeObject*>(self)->name);
}

PyObject* scope_details(PyObject* self, void*) {
    return Py_NewRef(reinterpret_cast<ScopeObject*>(self)->details);
}

// Nothing of a scope ever changes, so a copy of what holds one may hold the same.
PyObject* scope_copy(PyObject* self, PyObject*) {
    return Py_NewRef(self);
}

PyObject* scope_reduce(PyObject* self, PyObject*) {
    const auto* scope = reinterpret_cast<ScopeObject*>(self);
    if (scope->details == Py_None && scope->meta == user_scope)
        return Py_BuildValue("O(O)", &scope_type, scope->name);
    return refuse_argument("make it anew where it is needed", "%R cannot be pickled: it has more than a name",
                           self);
}

PyMethodDef scope_methods[] = {
    {"__copy__", scope_copy, METH_NOARGS, nullptr},
    {"__deepcopy__", scope_copy, METH_O, nullptr},
    {"__reduce__", scope_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef scope_getset[] = {
    {"name", scope_name, nullptr, "The name the scope is recorded under.", nullptr},
    {"_kind", scope_kind, nullptr, nullptr, nullptr},
    {"_details", scope_details, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

const char scope_doc[] =
    "scope(name, /, args=None, *, kind=RecordScope.USER_SCOPE, inputs=None, **metadata)\n--\n\n"
    "A named span of the program: context manager and decorator, for functions, generators and `async "
    "def`.\n\n"
    ">>> with kg.scope(\"load\"):\n"
    "...     data = read()\n\n"
    "`args` is a text shown with the event, `inputs` are array-likes whose shapes and types are noted when "
    "the session\n"
    "asks for shapes, and `metadata` are further values. Without a session it costs one load.";

}  // namespace

PyTypeObject scope_type = [] {
    PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
    type.tp_name = "kinetograph.scope";
    type.tp_basicsize = sizeof(ScopeObject);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    type.tp_dealloc = scope_dealloc;
    type.tp_vectorcall = scope_vectorcall;
    type.tp_call = scope_call;
    type.tp_repr = scope_repr;
    type.tp_methods = scope_methods;
    type.tp_getset = scope_getset;
    type.tp_doc = scope_doc;
    return type;
}();

// ---- the module

int add_scope_types(PyObject* module) {
    names = &record::Recorder::instance().strings();
    shared_scopes = PyDict_New();
    if (!shared_scopes || PyType_Ready(&bound_once_type) != 0 || PyType_Ready(&scope_type) != 0) return -1;
    if (add_bound_method(enter_method, &ScopeObject::enter) != 0) return -1;
    if (add_bound_method(exit_method, &ScopeObject::exit) != 0) return -1;
    PyType_Modified(&scope_type);
    if (add_scoped_function(module) != 0 || PyModule_AddFunctions(module, functions) != 0) return -1;
    // tp_vectorcall makes the type callable although it has no tp_new.
    return PyModule_AddObjectRef(module, "scope", reinterpret_cast<PyObject*>(&scope_type));
}

}  // namespace kinetograph::bind
