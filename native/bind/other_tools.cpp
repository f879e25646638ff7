#include "bind/other_tools.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include "bind/tool_arguments.h"
#include "bind/utf8.h"
#include "emit/itt.h"
#include "emit/jit.h"
#include "emit/nvtx.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

// Handles of tools are numbers in Python; 0: none.
using Handle = uintptr_t;

template <class T>
T* pointer(Handle handle) {
    return reinterpret_cast<T*>(handle);
}

template <class T>
Handle number(T* pointer) {
    return reinterpret_cast<Handle>(pointer);
}

// What the program has annotated by us, under the GIL.
uint64_t made_by_nvtx = 0, made_by_itt = 0;

// A str, or the number of a registered one.
template <class Use>
auto with_message(nb::handle message, Use&& use) {
    ++made_by_nvtx;
    if (PyLong_Check(message.ptr()))
        return use(emit::nvtx::Message{"", pointer<void>(nb::cast<Handle>(message))});
    const Utf8 text(message.ptr());
    return use(emit::nvtx::Message{text.text()});
}

template <class Use>
auto with_string(nb::handle name, Use&& use) {
    ++made_by_itt;
    if (PyLong_Check(name.ptr())) return use(pointer<itt::String>(nb::cast<Handle>(name)));
    return use(emit::ittapi::is_listening() ? emit::ittapi::make_string(Utf8(name.ptr()).text()) : nullptr);
}

int nvtx_push(nb::handle message, Handle domain, int64_t color, uint32_t category, nb::handle payload) {
    return with_message(message, [&](const emit::nvtx::Message& known) {
        return emit::nvtx::push(pointer<void>(domain), known, look_of(color, category, payload.ptr()));
    });
}

uint64_t nvtx_start(nb::handle message, Handle domain, int64_t color, uint32_t category, nb::handle payload) {
    return with_message(message, [&](const emit::nvtx::Message& known) {
        return emit::nvtx::start(pointer<void>(domain), known, look_of(color, category, payload.ptr()));
    });
}

void nvtx_mark(nb::handle message, Handle domain, int64_t color, uint32_t category, nb::handle payload) {
    with_message(message, [&](const emit::nvtx::Message& known) {
        emit::nvtx::mark(pointer<void>(domain), known, look_of(color, category, payload.ptr()));
    });
}

void itt_begin(nb::handle name, Handle domain, nb::handle payload) {
    with_string(name, [&](itt::String* known) {
        emit::ittapi::begin(pointer<itt::Domain>(domain), known, payload_of(payload.ptr()));
    });
}

uint64_t itt_begin_overlapped(nb::handle name, Handle domain, nb::handle payload) {
    return with_string(name, [&](itt::String* known) {
        return emit::ittapi::begin_overlapped(pointer<itt::Domain>(domain), known, payload_of(payload.ptr()));
    });
}

void itt_mark(nb::handle name, Handle domain) {
    with_string(name, [&](itt::String* known) { emit::ittapi::mark(pointer<itt::Domain>(domain), known); });
}

uint32_t jit_loaded(nb::str name, Handle address, uint32_t bytes, std::optional<std::string> file,
                    const std::vector<std::pair<uint32_t, uint32_t>>& lines) {
    std::vector<emit::jit::Line> table;
    for (const auto& [offset, line] : lines) table.push_back({offset, line});
    const Utf8 text(name.ptr());
    return emit::jit::tell_loaded({.name = text.text(),
                                   .source_file = file ? file->c_str() : nullptr,
                                   .address = pointer<void>(address),
                                   .bytes = bytes,
                                   .lines = table.empty() ? nullptr : table.data(),
                                   .line_count = uint32_t(table.size())});
}

void bind_nvtx(nb::module_& module) {
    module.def("nvtx_is_built", &emit::nvtx::is_built);
    module.def("nvtx_is_listening", &emit::nvtx::is_listening);
    module.def(
        "nvtx_domain", [](nb::str name) { return number(emit::nvtx::make_domain(Utf8(name.ptr()).text())); },
        "name"_a);
    module.def(
        "nvtx_string",
        [](Handle domain, nb::str text) {
            return number(emit::nvtx::register_text(pointer<void>(domain), Utf8(text.ptr()).text()));
        },
        "domain"_a, "text"_a);
    module.def(
        "nvtx_name_category",
        [](Handle domain, uint32_t category, nb::str name) {
            emit::nvtx::name_category(pointer<void>(domain), category, Utf8(name.ptr()).text());
        },
        "domain"_a, "category"_a, "name"_a);
    module.def(
        "nvtx_name_thread",
        [](nb::str name) { emit::nvtx::name_thread(uint32_t(gettid()), Utf8(name.ptr()).text()); }, "name"_a);
    module.def("nvtx_push", &nvtx_push, "message"_a, "domain"_a = 0, "color"_a = -1, "category"_a = 0,
               "payload"_a = nb::none());
    module.def(
        "nvtx_pop", [](Handle domain) { return emit::nvtx::pop(pointer<void>(domain)); }, "domain"_a = 0);
    module.def("nvtx_start", &nvtx_start, "message"_a, "domain"_a = 0, "color"_a = -1, "category"_a = 0,
               "payload"_a = nb::none());
    module.def(
        "nvtx_end", [](uint64_t range, Handle domain) { emit::nvtx::end(pointer<void>(domain), range); },
        "range"_a, "domain"_a = 0);
    module.def("nvtx_mark", &nvtx_mark, "message"_a, "domain"_a = 0, "color"_a = -1, "category"_a = 0,
               "payload"_a = nb::none());
}

void bind_itt(nb::module_& module) {
    module.def("itt_is_listening", &emit::ittapi::is_listening);
    module.def(
        "itt_domain", [](nb::str name) { return number(emit::ittapi::make_domain(Utf8(name.ptr()).text())); },
        "name"_a);
    module.def(
        "itt_string", [](nb::str text) { return number(emit::ittapi::make_string(Utf8(text.ptr()).text())); },
        "text"_a);
    module.def(
        "itt_name_thread", [](nb::str name) { emit::ittapi::name_thread(Utf8(name.ptr()).text()); },
        "name"_a);
    module.def("itt_begin", &itt_begin, "name"_a, "domain"_a, "payload"_a = nb::none());
    module.def("itt_end", [](Handle domain) { emit::ittapi::end(pointer<itt::Domain>(domain)); }, "domain"_a);
    module.def("itt_begin_overlapped", &itt_begin_overlapped, "name"_a, "domain"_a, "payload"_a = nb::none());
    module.def(
        "itt_end_overlapped",
        [](uint64_t task, Handle domain) {
            emit::ittapi::end_overlapped(pointer<itt::Domain>(domain), task);
        },
        "task"_a, "domain"_a);
    module.def("itt_mark", &itt_mark, "name"_a, "domain"_a);
    module.def("itt_pause", &emit::ittapi::pause);
    module.def("itt_resume", &emit::ittapi::resume);
    module.def("itt_detach", &emit::ittapi::detach);
    module.def("jit_is_active", &emit::jit::is_active);
    module.def("jit_loaded", &jit_loaded, "name"_a, "address"_a, "bytes"_a, "file"_a.none(), "lines"_a);
    module.def("jit_unloaded", &emit::jit::tell_unloaded, "method"_a);
}

}  // namespace

void bind_other_tools(nb::module_& module) {
    module.def("own_annotations", [] { return std::pair(made_by_nvtx, made_by_itt); });
    bind_nvtx(module);
    bind_itt(module);
}

}  // namespace kinetograph::bind
