#include "bind/intra_kernel.h"

#include <span>

#include "bind/gil.h"
#include "bind/text.h"
#include "bind/trace.h"
#include "intra_kernel/decode.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kinetograph::bind {

namespace {

// The bytes of any object that has the buffer protocol, held while they are read.
class HeldBytes {
public:
    explicit HeldBytes(nb::handle owner) {
        if (PyObject_GetBuffer(owner.ptr(), &view_, PyBUF_SIMPLE) != 0) nb::raise_python_error();
    }
    ~HeldBytes() { PyBuffer_Release(&view_); }
    HeldBytes(const HeldBytes&) = delete;
    std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(view_.buf), size_t(view_.len)};
    }

private:
    Py_buffer view_{};
};

nb::object decode(nb::object buffer, nb::list task_names, int64_t offset_ns, uint8_t device_type,
                  int32_t device_index) {
    intra_kernel::DecodeOptions options{{}, offset_ns, device_type, device_index};
    for (const nb::handle name : task_names) options.task_names.push_back(from_python(name));
    const HeldBytes held(buffer);
    trace::Trace trace = [&] {
        const WithoutGil unlocked;
        return intra_kernel::decode(held.bytes(), options);
    }();
    return wrap_trace(std::move(trace));
}

}  // namespace

void bind_intra_kernel(nb::module_& module) {
    module.def("decode_intra_kernel", &decode, "buffer"_a, "task_names"_a, "offset_ns"_a = 0,
               "device_type"_a = 0, "device_index"_a = -1,
               nb::sig("def decode_intra_kernel(buffer: object, task_names: list[str], offset_ns: int = 0, "
                       "device_type: int = 0, device_index: int = -1) -> Trace"));
}

}  // namespace kinetograph::bind
