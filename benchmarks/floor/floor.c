/* The least a C extension can do: what `kg.scope` is measured against.
 *
 * Each shape below does only what its name says: no sessions, no threads, no asyncio, no names in any file.
 * The GIL is the only protection, so nothing here is fit for use; it is the line under which no profiler for
 * Python can go. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <x86intrin.h>
static inline uint64_t ticks(void) {
    return __rdtsc();
}
#else
static inline uint64_t ticks(void) {
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}
#endif

typedef struct {
    uint64_t start, end;
    uint32_t name;
    uint32_t rest[3];
} Record;
_Static_assert(sizeof(Record) == 32, "the floor stores what the recorder stores");

/* 32 MiB used as a ring; the pages are touched at import, so that no page fault is measured. */
enum { record_count = 1 << 20, max_depth = 1024 };
static Record* records;
static uint64_t recorded;
static uint64_t open_starts[max_depth];
static uint32_t open_names[max_depth];
static uint32_t depth;

static inline void open_record(uint32_t name) {
    uint32_t at = depth++ & (max_depth - 1);
    open_names[at] = name;
    open_starts[at] = ticks();
}

static inline void close_record(void) {
    uint64_t end = ticks();
    uint32_t at = --depth & (max_depth - 1);
    records[recorded++ & (record_count - 1)] = (Record){open_starts[at], end, open_names[at], {0, 0, 0}};
}

/* One object per name, found again in a dict: the cheapest way to give `with f("name")` an object. */
typedef struct {
    PyObject_HEAD uint32_t name;
    vectorcallfunc call;     /* of a wrapped function */
    PyObject* function;      /* the wrapped function */
    PyObject *enter, *leave; /* of a bound-once range */
} Range;

static PyObject* none(void) {
    Py_RETURN_NONE;
}

static PyObject* empty_enter(PyObject* self, PyObject* ignored) {
    return none();
}
static PyObject* empty_exit(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    return none();
}

static PyObject* span_enter(PyObject* self, PyObject* ignored) {
    open_record(((Range*)self)->name);
    return none();
}
static PyObject* span_exit(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    close_record();
    return none();
}

/* What a range of NVTX costs at the least: the text is registered, nothing else is told. */
#ifdef FLOOR_NVTX
#include <nvtx3/nvToolsExt.h>
static nvtxDomainHandle_t nvtx_domain;
static nvtxStringHandle_t nvtx_text;

static PyObject* nvtx_enter(PyObject* self, PyObject* ignored) {
    if (nvtx_domain == NULL) {
        nvtx_domain = nvtxDomainCreateA("floor");
        nvtx_text = nvtxDomainRegisterStringA(nvtx_domain, "x");
    }
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                   .message.registered = nvtx_text};
    nvtxDomainRangePushEx(nvtx_domain, &event);
    return none();
}
static PyObject* nvtx_exit(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    nvtxDomainRangePop(nvtx_domain);
    return none();
}
#else
#define nvtx_enter empty_enter
#define nvtx_exit empty_exit
#endif

static PyObject* wrapped_call(PyObject* self, PyObject* const* args, size_t count, PyObject* keywords) {
    open_record(((Range*)self)->name);
    PyObject* result = PyObject_Vectorcall(((Range*)self)->function, args, count, keywords);
    close_record();
    return result;
}

static PyMethodDef empty_methods[] = {
    {"__enter__", empty_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))empty_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMethodDef span_methods[] = {
    {"__enter__", span_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))span_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMethodDef nvtx_methods[] = {
    {"__enter__", nvtx_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))nvtx_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

/* Up to Python 3.13 `with` makes a bound method object for __enter__ and one for __exit__ each time. A
 * descriptor runs in their place, so one that hands out a method bound once saves both. */
typedef struct {
    PyObject_HEAD Py_ssize_t offset; /* of the bound method in its Range */
} BoundOnce;

static PyObject* bound_once_get(PyObject* self, PyObject* range, PyObject* type) {
    if (range == NULL) return Py_NewRef(self);
    return Py_NewRef(*(PyObject**)((char*)range + ((BoundOnce*)self)->offset));
}
static PyTypeObject bound_once_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.BoundOnce",
    .tp_basicsize = sizeof(BoundOnce),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_descr_get = bound_once_get,
};

/* Ranges live as long as their cache, which is for ever, so there is no dealloc to write. */
#define RANGE_TYPE(type_name)                                                          \
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = type_name, .tp_basicsize = sizeof(Range), \
                                .tp_flags = Py_TPFLAGS_DEFAULT
static PyTypeObject empty_type = {RANGE_TYPE("floor.Empty"), .tp_methods = empty_methods};
static PyTypeObject span_type = {RANGE_TYPE("floor.Span"), .tp_methods = span_methods};
static PyTypeObject bound_empty_type = {RANGE_TYPE("floor.BoundEmpty")};
static PyTypeObject bound_span_type = {RANGE_TYPE("floor.BoundSpan")};
static PyTypeObject bound_nvtx_type = {RANGE_TYPE("floor.BoundNvtx")};
static PyTypeObject wrapped_type = {
    RANGE_TYPE("floor.Wrapped") | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Range, call),
};

typedef struct {
    PyTypeObject* type;
    PyMethodDef* methods; /* what a bound-once range binds; NULL for the others */
    PyObject* by_name;
} Cache;
static Cache empties = {&empty_type, NULL, NULL};
static Cache spans = {&span_type, NULL, NULL};
static Cache bound_empties = {&bound_empty_type, empty_methods, NULL};
static Cache bound_spans = {&bound_span_type, span_methods, NULL};
static Cache bound_nvtxs = {&bound_nvtx_type, nvtx_methods, NULL};

static Range* new_range(PyTypeObject* type) {
    static uint32_t names_given;
    Range* range = PyObject_New(Range, type);
    if (range != NULL) range->name = ++names_given;
    return range;
}

static PyObject* add_range(Cache* cache, PyObject* name) {
    Range* range = new_range(cache->type);
    if (range == NULL || PyDict_SetItem(cache->by_name, name, (PyObject*)range) < 0) return NULL;
    if (cache->methods != NULL) {
        range->enter = PyCFunction_New(&cache->methods[0], (PyObject*)range);
        range->leave = PyCFunction_New(&cache->methods[1], (PyObject*)range);
    }
    return (PyObject*)range;
}

static inline PyObject* cached_range(Cache* cache, PyObject* name) {
    PyObject* found = PyDict_GetItemWithError(cache->by_name, name);
    if (found != NULL) return Py_NewRef(found);
    return PyErr_Occurred() ? NULL : add_range(cache, name);
}

static PyObject* floor_empty(PyObject* self, PyObject* name) {
    return cached_range(&empties, name);
}
static PyObject* floor_span(PyObject* self, PyObject* name) {
    return cached_range(&spans, name);
}
static PyObject* floor_bound_empty(PyObject* self, PyObject* name) {
    return cached_range(&bound_empties, name);
}
static PyObject* floor_bound_span(PyObject* self, PyObject* name) {
    return cached_range(&bound_spans, name);
}
static PyObject* floor_bound_nvtx(PyObject* self, PyObject* name) {
    return cached_range(&bound_nvtxs, name);
}

static PyObject* floor_begin(PyObject* self, PyObject* name) {
    PyObject* span = cached_range(&spans, name);
    if (span == NULL) return NULL;
    open_record(((Range*)span)->name);
    Py_DECREF(span);
    return none();
}
static PyObject* floor_end(PyObject* self, PyObject* ignored) {
    close_record();
    return none();
}
static PyObject* floor_mark(PyObject* self, PyObject* name) {
    PyObject* span = cached_range(&spans, name);
    if (span == NULL) return NULL;
    uint64_t now = ticks();
    records[recorded++ & (record_count - 1)] = (Record){now, now, ((Range*)span)->name, {0, 0, 0}};
    Py_DECREF(span);
    return none();
}
static PyObject* floor_nothing(PyObject* self, PyObject* name) {
    return none();
}
static PyObject* floor_wrap(PyObject* self, PyObject* function) {
    Range* range = new_range(&wrapped_type);
    if (range == NULL) return NULL;
    range->call = wrapped_call;
    range->function = Py_NewRef(function);
    return (PyObject*)range;
}

static PyMethodDef functions[] = {
    {"empty", floor_empty, METH_O, "A context manager that does nothing, one object per name."},
    {"span", floor_span, METH_O, "The same, but it reads the clock twice and stores 32 bytes."},
    {"bound_empty", floor_bound_empty, METH_O, "`empty` with its methods bound once."},
    {"bound_span", floor_bound_span, METH_O, "`span` with its methods bound once."},
    {"bound_nvtx", floor_bound_nvtx, METH_O, "`bound_empty` with a range of NVTX."},
    {"begin", floor_begin, METH_O, "Open a record."},
    {"end", floor_end, METH_NOARGS, "Close the record opened last."},
    {"mark", floor_mark, METH_O, "Read the clock once and store 32 bytes."},
    {"nothing", floor_nothing, METH_O, "A call that does nothing: `mark` when off."},
    {"wrap", floor_wrap, METH_O, "A function with a record around each call."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "floor", .m_size = -1,
                                    .m_methods = functions};

static int add_bound_once(PyTypeObject* type, const char* name, Py_ssize_t offset) {
    BoundOnce* descriptor = PyObject_New(BoundOnce, &bound_once_type);
    if (descriptor == NULL) return -1;
    descriptor->offset = offset;
    return PyDict_SetItemString(type->tp_dict, name, (PyObject*)descriptor);
}

static int is_ready(Cache* cache) {
    cache->by_name = PyDict_New();
    if (cache->by_name == NULL || PyType_Ready(cache->type) < 0) return 0;
    if (cache->methods == NULL) return 1;
    return add_bound_once(cache->type, "__enter__", offsetof(Range, enter)) == 0 &&
           add_bound_once(cache->type, "__exit__", offsetof(Range, leave)) == 0;
}

PyMODINIT_FUNC PyInit_floor(void) {
    records = malloc(record_count * sizeof(Record));
    if (records == NULL) return PyErr_NoMemory();
    memset(records, 1, record_count * sizeof(Record));
    if (PyType_Ready(&bound_once_type) < 0 || PyType_Ready(&wrapped_type) < 0) return NULL;
    if (!is_ready(&empties) || !is_ready(&spans) || !is_ready(&bound_empties) || !is_ready(&bound_spans) ||
        !is_ready(&bound_nvtxs))
        return NULL;
    return PyModule_Create(&module);
}
