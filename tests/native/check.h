// All a native test needs: CHECK, and a main that runs the tests of its file.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace kinetograph::test {

struct Test {
    const char* name;
    void (*run)();
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

struct Register {
    Register(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

[[noreturn]] inline void fail(const char* file, int line, const char* what) {
    std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
    std::exit(1);
}

inline int run_all() {
    for (const Test& test : tests()) {
        std::printf("%s\n", test.name);
        std::fflush(stdout);
        test.run();
    }
    return 0;
}

}  // namespace kinetograph::test

#define CHECK(condition) ((condition) ? void() : ::kinetograph::test::fail(__FILE__, __LINE__, #condition))

#define TEST(name)                                                            \
    static void name();                                                       \
    static const ::kinetograph::test::Register register_##name(#name, &name); \
    static void name()

#define CHECK_MAIN                             \
    int main() {                               \
        return ::kinetograph::test::run_all(); \
    }
