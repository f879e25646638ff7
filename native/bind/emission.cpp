#include "bind/emission.h"

#include <array>
#include <iterator>

#include "bind/hooks.h"
#include "bind/python_thread.h"
#include "bind/tool_arguments.h"
#include "bind/utf8.h"
#include "emit/scopes.h"
#include "emit/tool.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

// By kind of scope, so that those of a program stand out from operators.
constexpr uint32_t colors[] = {0xff4c78a8, 0xffe45756, 0xff72b7b2, 0xff9d755d, 0xffb279a2,
                               0xffbab0ac, 0xff54a24b, 0xfff58518, 0xffeeca3b, 0xffff9da6};

// All of them beforehand: one that is copied as a whole just after its members were set waits for those.
constexpr auto looks = [] {
    std::array<emit::Look, std::size(colors)> all;
    for (uint32_t kind = 0; kind < all.size(); ++kind) all[kind] = {true, colors[kind], kind + 1, {}};
    return all;
}();

uint32_t kind_of(uint32_t meta) {
    return meta >> 8 & 0xff;
}

emit::Wish wish_of(uint32_t meta) {
    return emit::wish_for_kind(kind_of(meta));
}

const emit::Look& look_of_kind(uint32_t meta) {
    return looks[kind_of(meta) % looks.size()];
}

emit::Range range_named(PyObject* text, const emit::Look& look) {
    return {Utf8(text).view(), look};
}

emit::Range range_of(ScopeObject* scope) {
    if (!scope->emitted) [[unlikely]] {
        scope->emitted = emit::name_of(Utf8(scope->name).view());
        if (!scope->emitted) return range_named(scope->name, look_of_kind(scope->meta));
    }
    return {*scope->emitted, look_of_kind(scope->meta)};
}

// What `describe_emitted` gives: (name or None, color, category or 0, payload).
emit::Range range_of_description(ScopeObject* scope, PyObject* description) {
    PyObject *text, *payload;
    long long color;
    unsigned category;
    if (!PyArg_ParseTuple(description, "OLIO", &text, &color, &category, &payload)) {
        PyErr_Clear();
        return range_of(scope);
    }
    emit::Range range =
        PyUnicode_Check(text) ? range_named(text, look_of_kind(scope->meta)) : range_of(scope);
    if (color >= 0) range.look.color = uint32_t(color);
    if (category != 0) range.look.category = category;
    range.look.payload = payload_of(payload);
    return range;
}

bool begin_described(ScopeObject* scope) {
    PyObject* description = call_hook_for_result(Hook::describe_emitted, reinterpret_cast<PyObject*>(scope));
    if (!description && PyErr_Occurred()) return false;
    const bool is_described = description && PyTuple_Check(description);
    emit::begin_scope(scope, current_context(),
                      is_described ? range_of_description(scope, description) : range_of(scope),
                      wish_of(scope->meta));
    Py_XDECREF(description);
    return true;
}

}  // namespace

bool emit_begin(ScopeObject* scope) {
    if (scope->details != Py_None) [[unlikely]]
        return !emit::is_wanted(wish_of(scope->meta)) || begin_described(scope);
    emit::begin_scope(scope, current_context(), range_of(scope), wish_of(scope->meta));
    return true;
}

void emit_end(ScopeObject* scope) {
    emit::end_scope(scope, current_context());
}

void emit_mark(PyObject* name) {
    emit::mark(range_named(name, {}));
}

// A counter is for ever in a tool: beyond the names that are known there is none.
void emit_count(PyObject* name, double value) {
    if (emit::Name* known = emit::name_of(Utf8(name).view())) emit::count(*known, value);
}

void bind_emission(nb::module_& module) {
    module.def(
        "start_emission",
        [](bool itt, uint64_t user, uint32_t kinds) { emit::start(emit::target(itt), user, kinds); }, "itt"_a,
        "user"_a, "kinds"_a = emit::every_kind);
    module.def("stop_emission", &emit::stop, "user"_a);
    module.def("emits_to", [](bool itt) { return emit::is_on(emit::target(itt)); }, "itt"_a);
    module.def("nvtx_scope_domain", [] { return reinterpret_cast<uintptr_t>(emit::nvtx_scope_domain()); });
    module.def("is_emitting", [] {
        return (record::active.load(std::memory_order_relaxed) & record::active_emission) != 0;
    });
}

}  // namespace kinetograph::bind
