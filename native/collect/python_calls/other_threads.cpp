#include "collect/python_calls/other_threads.h"

#include <Python.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "collect/python_calls/calls.h"
#include "collect/python_calls/loaded_module.h"
#include "record/recorder.h"

namespace kinetograph::collect {

namespace {

using record::RecordKind;

record::Record record_of(RecordKind kind, record::OtherThread thread, uint32_t name) {
    return {base::ticks(),
            thread.packed(),
            name,
            kind,
            uint8_t(record::Category::python_function),
            0,
            0,
            0,
            0,
            0};
}

std::vector<uint32_t> names_on_stack(PyThreadState* state) {
    std::vector<uint32_t> names;
    for (const OpenFrames::Call& call : open_frames(state, true).frames) names.push_back(call.name);
    return names;
}

void record_stack(record::ThreadBuffer& buffer, PyThreadState* state) {
    const std::vector<uint32_t> names = names_on_stack(state);
    if (names.empty()) return;
    const record::OtherThread thread{int32_t(state->native_thread_id), uint32_t(PyThreadState_GetID(state))};
    record::append_with_payload(buffer, record_of(RecordKind::open_stack, thread, 0), nullptr,
                                reinterpret_cast<const char*>(names.data()), names.size() * sizeof(uint32_t));
}

void record_stacks(record::ThreadBuffer& buffer) {
    PyThreadState* self = PyThreadState_Get();
    PyThreadState* state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; state; state = PyThreadState_Next(state))
        if (state != self) record_stack(buffer, state);
}

void record_name(record::ThreadBuffer& buffer, PyObject* thread) {
    PyObject* tid = PyObject_GetAttrString(thread, "_native_id");
    PyObject* name = tid ? PyObject_GetAttrString(thread, "_name") : nullptr;
    Py_ssize_t bytes = 0;
    const char* utf8 = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &bytes) : nullptr;
    if (utf8 && PyLong_Check(tid)) {
        const uint32_t id = record::Recorder::instance().intern({utf8, size_t(bytes)});
        const record::OtherThread itself{int32_t(PyLong_AsLong(tid)), 0};
        record::append(buffer, record_of(RecordKind::other_thread_name, itself, id));
    }
    Py_XDECREF(name);
    Py_XDECREF(tid);
    PyErr_Clear();
}

// As the threading module knows them; a copy, since asking a Thread for its name may run Python code.
PyObject* known_threads() {
    PyObject* threading = loaded_module("threading");
    PyObject* active = threading ? PyObject_GetAttrString(threading, "_active") : nullptr;
    Py_XDECREF(threading);
    PyObject* threads = active && PyDict_Check(active) ? PyDict_Values(active) : nullptr;
    Py_XDECREF(active);
    PyErr_Clear();
    return threads;
}

void record_names(record::ThreadBuffer& buffer) {
    PyObject* threads = known_threads();
    if (!threads) return;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(threads); ++i)
        record_name(buffer, PyList_GET_ITEM(threads, i));
    Py_DECREF(threads);
}

}  // namespace

void record_other_threads(OtherThreads wanted) {
    record::ThreadBuffer* buffer = record::recording_thread();
    if (!buffer) return;
    if (wanted.stacks) record_stacks(*buffer);
    record_names(*buffer);
}

}  // namespace kinetograph::collect
