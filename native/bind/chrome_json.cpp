#include "bind/chrome_json.h"

#include "bind/gil.h"
#include "bind/sinks.h"
#include "bind/text.h"
#include "bind/trace.h"
#include "format/chrome_json.h"

namespace nb = nanobind;

namespace kinetograph::bind {

void write_trace(TraceObject& self, nb::object target, nb::str trace_name) {
    const std::string name = from_python(trace_name);
    write_blocks(self, target, [&name](const trace::Trace& trace, format::Sink& sink) {
        format::write_chrome_json(trace, sink, name);
    });
}

nb::object read_trace(nb::object read, std::string directory) {
    nb::object piece;  // keeps the bytes alive until the next ones
    const format::Source source = [&]() -> std::string_view {
        const WithGil gil;
        piece = read();
        if (!PyBytes_Check(piece.ptr())) throw nb::type_error("expected read() to return bytes");
        return {PyBytes_AS_STRING(piece.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(piece.ptr()))};
    };
    trace::Trace trace = [&] {
        const WithoutGil no_gil;
        return format::read_chrome_json(source, trace::Storage{std::move(directory)});
    }();
    return wrap_trace(std::move(trace));
}

void bind_parse_error(nb::module_& module) {
    PyObject* type = PyErr_NewException("kinetograph._native.ParseError", PyExc_ValueError, nullptr);
    if (type == nullptr) nb::raise_python_error();
    module.attr("ParseError") = nb::steal(type);
    nb::register_exception_translator(
        [](const std::exception_ptr& pointer, void* type) {
            try {
                std::rethrow_exception(pointer);
            } catch (const format::ParseError& error) {
                const nb::tuple details = nb::make_tuple(to_python(error.what()), error.offset);
                PyErr_SetObject(static_cast<PyObject*>(type), details.ptr());
            }
        },
        type);
}

}  // namespace kinetograph::bind
