// Ids that a program, or a library in it, pushes to CUPTI: arguments of the calls made meanwhile.
#include <string>

#include <cupti.h>

#include "check.h"
#include "cuda_session.h"

using namespace kinetograph;
using namespace kinetograph::test;
using collect::ExternalId;

namespace {

void push(CUpti_ExternalCorrelationKind kind, uint64_t id) {
    cuda().call<decltype(cuptiActivityPushExternalCorrelationId)>("cuptiActivityPushExternalCorrelationId",
                                                                  kind, id);
}

bool pop(CUpti_ExternalCorrelationKind kind) {
    uint64_t last = 0;
    return cuda().call<decltype(cuptiActivityPopExternalCorrelationId)>(
               "cuptiActivityPopExternalCorrelationId", kind, &last) == CUPTI_SUCCESS;
}

std::string args_of_call(const Trace& trace, size_t number) {
    return row_args(trace, rows_of(trace, Category::cuda_runtime).at(number));
}

}  // namespace

TEST(ids_that_other_code_pushed_are_arguments_of_its_calls) {
    CudaSession session;
    push(CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN, 41);
    push(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, uint64_t(-1));
    cuda().launch("k");
    CHECK(pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1) && pop(CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN));
    cuda().launch("k");
    const Trace trace = session.stop();
    CHECK(args_of_call(trace, 0) ==
          "\"cbid\":211,\"External correlation id\":41,\"User correlation id\":18446744073709551615");
    CHECK(args_of_call(trace, 1) == "\"cbid\":211");
    CHECK(trace.correlation[rows_of(trace, Category::kernel).at(0)] ==
          trace.correlation[rows_of(trace, Category::cuda_runtime).at(0)]);
}

TEST(our_own_pushes_reach_cupti_while_a_session_records) {
    CudaSession session;
    const uint64_t outer = collect::push_external_id(ExternalId::operators, 1);
    const uint64_t inner = collect::push_external_id(ExternalId::operators, 2);
    CHECK(outer != 0 && inner == outer);
    cuda().launch("k");
    collect::pop_external_id(ExternalId::operators, inner);
    cuda().launch("k");
    collect::pop_external_id(ExternalId::operators, outer);
    cuda().launch("k");
    const Trace trace = session.stop();
    CHECK(args_of_call(trace, 0) == "\"cbid\":211,\"External correlation id\":2");
    CHECK(args_of_call(trace, 1) == "\"cbid\":211,\"External correlation id\":1");
    CHECK(args_of_call(trace, 2) == "\"cbid\":211");
}

TEST(without_a_session_nothing_is_pushed_and_nothing_of_others_popped) {
    cuda().launch("lets go of what earlier tests left");
    push(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 7);
    const uint64_t pushed = collect::push_external_id(ExternalId::operators, 8);
    CHECK(pushed == 0);
    collect::pop_external_id(ExternalId::operators, pushed);
    CHECK(pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0));
    CHECK(!pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0));
}

TEST(an_id_of_a_session_that_is_over_pops_nothing_of_the_next) {
    uint64_t stale = 0;
    {
        CudaSession session;
        stale = collect::push_external_id(ExternalId::users, 1);
        session.stop();
    }
    cuda().launch("lets go of CUPTI, and of all that it was told");
    CHECK(pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1));  // as the real one forgets it
    CudaSession session;
    const uint64_t fresh = collect::push_external_id(ExternalId::users, 2);
    collect::pop_external_id(ExternalId::users, stale);
    cuda().launch("k");
    collect::pop_external_id(ExternalId::users, fresh);
    CHECK(args_of_call(session.stop(), 0) == "\"cbid\":211,\"User correlation id\":2");
}

CHECK_MAIN
