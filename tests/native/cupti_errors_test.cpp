// Whatever call of CUPTI fails, and whenever: the program goes on, the trace says what is missing, and the
// next session is as if nothing had been.
#include <string>

#include <cupti.h>

#include "check.h"
#include "cuda_session.h"

// There where leaks are looked for.
extern "C" __attribute__((weak)) void __lsan_disable();
extern "C" __attribute__((weak)) void __lsan_enable();

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

// Buffers that a CUPTI has which refuses to flush are given up: they may be another tool's by now.
struct GivesUpBuffers {
    GivesUpBuffers() {
        if (__lsan_disable) __lsan_disable();
    }
    ~GivesUpBuffers() {
        if (__lsan_enable) __lsan_enable();
    }
};

constexpr const char* functions[] = {"cuptiGetVersion",
                                     "cuptiSubscribe",
                                     "cuptiUnsubscribe",
                                     "cuptiEnableCallback",
                                     "cuptiEnableDomain",
                                     "cuptiFinalize",
                                     "cuptiActivityRegisterCallbacks",
                                     "cuptiActivityEnable",
                                     "cuptiActivityDisable",
                                     "cuptiActivityFlushAll",
                                     "cuptiActivitySetAttribute",
                                     "cuptiActivityGetNextRecord",
                                     "cuptiActivityGetNumDroppedRecords",
                                     "cuptiSetThreadIdType",
                                     "cuptiActivityRegisterTimestampCallback"};

bool has_everything(const Trace& trace) {
    return count(trace, Category::kernel) == 1 && count(trace, Category::cuda_runtime) == 1;
}

void check(const char* function, const Trace& trace) {
    const bool is_told = has_everything(trace) || has_note(trace, "CUPTI");
    if (!is_told) std::fprintf(stderr, "nothing is said of %s\n", function);
    CHECK(is_told);
    CHECK(count(trace, Category::user_annotation) == 1);
}

void check_the_next_session() {
    cuda().launch("lets go of what the last session left");
    CudaSession session;
    scope("step", [] { cuda().launch("k"); });
    const Trace trace = session.stop();
    CHECK(has_everything(trace));
    CHECK(!has_note(trace, "CUPTI"));
    cuda().launch("lets go, too");
}

}  // namespace

TEST(a_function_fails_from_the_start) {
    const GivesUpBuffers gives_up;
    for (const char* function : functions) {
        cuda().fail(function, CUPTI_ERROR_UNKNOWN);
        CudaSession session;
        scope("step", [] { cuda().launch("k"); });
        check(function, session.stop());
        cuda().fail(function, 0);
        check_the_next_session();
    }
}

TEST(a_function_fails_while_a_session_runs) {
    const GivesUpBuffers gives_up;
    for (const char* function : functions) {
        CudaSession session;
        scope("step", [] { cuda().launch("k"); });
        cuda().fail(function, CUPTI_ERROR_UNKNOWN);
        check(function, session.stop());
        cuda().fail(function, 0);
        check_the_next_session();
    }
}

TEST(a_flush_that_fails_is_no_other_tool_and_a_session_right_behind_it_has_everything) {
    CudaSession session;
    cuda().launch("k");
    cuda().fail("cuptiActivityFlushAll", CUPTI_ERROR_UNKNOWN);
    const Trace trace = session.stop();
    CHECK(has_note(trace, "error 999") && !has_note(trace, "took CUPTI over"));
    cuda().fail("cuptiActivityFlushAll", 0);
    CudaSession next;
    cuda().launch("k");
    const Trace whole = next.stop();
    CHECK(has_everything(whole));
    CHECK(!has_note(whole, "CUPTI"));
    cuda().launch("lets go");
}

TEST(everything_fails_at_once) {
    for (const char* function : functions) cuda().fail(function, CUPTI_ERROR_UNKNOWN);
    CudaSession session;
    scope("step", [] { cuda().launch("k"); });
    check("all of them", session.stop());
    for (const char* function : functions) cuda().fail(function, 0);
    check_the_next_session();
}

CHECK_MAIN
