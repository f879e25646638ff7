#include "bind/tool_arguments.h"

namespace kinetograph::bind {

namespace {

emit::Payload integer_payload(PyObject* value) {
    emit::Payload payload;
    int overflow = 0;
    payload.kind = emit::Payload::Kind::signed_integer;
    payload.signed_integer = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow > 0) {
        payload.kind = emit::Payload::Kind::unsigned_integer;
        payload.unsigned_integer = PyLong_AsUnsignedLongLong(value);
    }
    if (PyErr_Occurred() || overflow < 0) {
        PyErr_Clear();
        return {};
    }
    return payload;
}

}  // namespace

emit::Payload payload_of(PyObject* value) {
    if (PyLong_Check(value)) return integer_payload(value);
    emit::Payload payload;
    if (PyFloat_Check(value)) {
        payload.kind = emit::Payload::Kind::real;
        payload.real = PyFloat_AS_DOUBLE(value);
    }
    return payload;
}

emit::Look look_of(int64_t color, uint32_t category, PyObject* payload) {
    emit::Look look;
    look.has_color = color >= 0;
    look.color = look.has_color ? uint32_t(color) : 0;
    look.category = category;
    if (payload != Py_None) look.payload = payload_of(payload);
    return look;
}

}  // namespace kinetograph::bind
