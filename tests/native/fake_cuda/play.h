// The fake CUDA as a test sees it: loaded into this process under its real names, and played by its
// functions.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "check.h"
#include "fake_cuda.h"

namespace kinetograph::test {

class FakeCuda {
public:
    FakeCuda() : cuda_(open(FAKE_CUDA)), cupti_(open(FAKE_CUPTI)) {}

    // cuInit, as a program calls it.
    void initialise() const { function<int(unsigned)>("cuInit")(0); }

    template <class Signature, class... Arguments>
    auto call(const char* name, Arguments... arguments) const {
        return function<Signature>(name)(arguments...);
    }

    uint32_t launch(const char* kernel, uint32_t stream = 7, uint32_t device = 0) const {
        return call<decltype(fake_launch)>("fake_launch", kernel, device, stream);
    }
    void fail(const char* name, int result) const { call<decltype(fake_fail)>("fake_fail", name, result); }
    int number(const char* name) const { return function<int()>(name)(); }
    bool is_enabled(uint32_t kind) const {
        return call<decltype(fake_is_enabled)>("fake_is_enabled", kind) != 0;
    }

private:
    static void* open(const char* path) {
        void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        if (!library) std::fprintf(stderr, "%s\n", dlerror());
        CHECK(library);
        return library;
    }
    template <class Signature>
    Signature* function(const char* name) const {
        void* symbol = dlsym(cupti_, name);
        if (!symbol) symbol = dlsym(cuda_, name);
        CHECK(symbol);
        return reinterpret_cast<Signature*>(symbol);
    }

    void* cuda_;
    void* cupti_;
};

}  // namespace kinetograph::test
