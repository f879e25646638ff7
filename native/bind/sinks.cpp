#include "bind/sinks.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "bind/gil.h"

namespace nb = nanobind;

namespace kinetograph::bind {

namespace {

class DescriptorSink final : public format::Sink {
public:
    explicit DescriptorSink(int descriptor) : descriptor_(descriptor) {}
    void write(std::string_view block) override {
        while (!block.empty()) {
            const ssize_t written = ::write(descriptor_, block.data(), block.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) throw std::system_error(errno, std::generic_category());
            block.remove_prefix(static_cast<size_t>(written));
        }
    }

private:
    int descriptor_;
};

// The view is only good during the call, so the callee gets bytes of its own.
class CallableSink final : public format::Sink {
public:
    explicit CallableSink(nb::handle target) : target_(target) {}
    void write(std::string_view block) override {
        const WithGil gil;
        target_(nb::bytes(block.data(), block.size()));
    }

private:
    nb::handle target_;
};

// OSError with its errno, as Python's own files raise it.
void raise_os_error(int error) {
    errno = error;
    PyErr_SetFromErrno(PyExc_OSError);
    nb::raise_python_error();
}

void write_without_gil(const trace::Trace& trace, format::Sink& sink, const WriteBlocks& write) {
    const WithoutGil no_gil;
    write(trace, sink);
}

}  // namespace

void write_blocks(TraceObject& self, nb::object target, const WriteBlocks& write) {
    const TraceObject::Writing writing(self);
    if (!nb::isinstance<nb::int_>(target)) {
        CallableSink sink(target);
        return write_without_gil(writing.trace(), sink, write);
    }
    try {
        DescriptorSink sink(nb::cast<int>(target));
        write_without_gil(writing.trace(), sink, write);
    } catch (const std::system_error& error) {
        raise_os_error(error.code().value());
    }
}

}  // namespace kinetograph::bind
