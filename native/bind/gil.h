// Letting go of the GIL and taking it back, also while the interpreter ends.
//
// Up to Python 3.13 a daemon thread that asks for the GIL when the interpreter is ending is ended by
// pthread_exit, which unwinds through our frames and aborts the process at the first noexcept one. Such a
// thread is parked here instead, as Python 3.14 does; the process ends around it.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace kinetograph::bind {

// Never returns if the interpreter is ending: the handler is not left, so nothing is unwound further.
template <class Take>
void take_gil(Take&& take) {
    try {
        take();
    } catch (...) {
        for (;;) pause();
    }
}

class WithoutGil {
public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    ~WithoutGil() {
        take_gil([this] { PyEval_RestoreThread(state_); });
    }
    WithoutGil(const WithoutGil&) = delete;

private:
    PyThreadState* state_;
};

class WithGil {
public:
    WithGil() {
        take_gil([this] { state_ = PyGILState_Ensure(); });
    }
    ~WithGil() { PyGILState_Release(state_); }
    WithGil(const WithGil&) = delete;

private:
    PyGILState_STATE state_{};
};

}  // namespace kinetograph::bind
