#include "collect/python_calls/garbage.h"

#include <Python.h>

#include "collect/python_calls/calls.h"
#include "collect/python_calls/hook.h"
#include "record/recorder.h"

namespace kinetograph::collect {

namespace {

constexpr const char* name = "Python GC";

PyObject* callbacks() {
    PyObject* module = PyImport_ImportModule("gc");
    PyObject* list = module ? PyObject_GetAttrString(module, "callbacks") : nullptr;
    Py_XDECREF(module);
    if (list && PyList_Check(list)) return list;
    Py_XDECREF(list);
    PyErr_Clear();
    return nullptr;
}

long number_in(PyObject* info, const char* key) {
    PyObject* value = info && PyDict_Check(info) ? PyDict_GetItemString(info, key) : nullptr;
    return value && PyLong_Check(value) ? PyLong_AsLong(value) : 0;
}

void end(record::ThreadBuffer& thread, PyObject* info) {
    record::Lane& lane = thread.calls;
    if (lane.too_deep != 0) {  // so the pause, which was the last to begin, is not on the lane
        --lane.too_deep;
        return;
    }
    const uint32_t id = record::Recorder::instance().intern(name);
    if (lane.depth == 0 ||
        uint32_t(lane.entries[lane.depth - 1].name_and_meta.load(std::memory_order_relaxed) >> 32) != id)
        return;
    const record::Record record = record::finished_record(lane, lane.entries[lane.depth - 1], base::ticks());
    char text[96];
    const int bytes = std::snprintf(text, sizeof text, "\"generation\":%ld,\"collected\":%ld",
                                    number_in(info, "generation"), number_in(info, "collected"));
    record::append_with_payload(thread, record, nullptr, text, size_t(bytes));
    lane.publish_more(-1);
}

// gc calls this with "start" or "stop" in the thread whose allocation set it off.
PyObject* on_collection(PyObject*, PyObject* const* args, Py_ssize_t count) {
    record::ThreadBuffer* thread = count == 2 ? calling_thread() : nullptr;
    if (!thread || !PyUnicode_Check(args[0])) Py_RETURN_NONE;
    // As the hook finds them, which has to see them end.
    if (rules.with_calls && thread->calls_generation != rules.generation) find_calls_of_this_thread();
    if (PyUnicode_CompareWithASCIIString(args[0], "start") == 0)
        enter(*thread, record::Recorder::instance().intern(name), garbage_meta, true);
    else
        end(*thread, args[1]);
    Py_RETURN_NONE;
}

PyMethodDef definition = {"kinetograph_watches_gc",
                          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(on_collection)),
                          METH_FASTCALL, nullptr};
PyObject* watcher = nullptr;

void remove_from(PyObject* list) {
    const Py_ssize_t at = PySequence_Index(list, watcher);
    if (at < 0 || PySequence_DelItem(list, at) != 0) PyErr_Clear();
}

}  // namespace

void watch_garbage_collection(bool on) {
    if (on == (watcher != nullptr)) return;
    PyObject* list = callbacks();
    if (!list) return;
    if (on) {
        watcher = PyCFunction_New(&definition, nullptr);
        if (!watcher || PyList_Append(list, watcher) != 0) PyErr_Clear();
    } else {
        remove_from(list);
        Py_CLEAR(watcher);
    }
    Py_DECREF(list);
}

}  // namespace kinetograph::collect
