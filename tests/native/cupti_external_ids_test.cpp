// Ids that a thread gives to its calls: arguments of those that it makes meanwhile.
#include <string>
#include <thread>

#include "check.h"
#include "cuda_session.h"

using namespace kinetograph;
using namespace kinetograph::test;
using collect::ExternalId;
using collect::pop_external_id;
using collect::push_external_id;

namespace {

std::string args_of_call(const Trace& trace, size_t number) {
    return row_args(trace, rows_of(trace, Category::cuda_runtime).at(number));
}

}  // namespace

TEST(the_innermost_id_is_an_argument_of_each_call) {
    CudaSession session;
    push_external_id(ExternalId::operators, 1);
    push_external_id(ExternalId::operators, 2);
    cuda().launch("k");
    pop_external_id(ExternalId::operators);
    cuda().launch("k");
    pop_external_id(ExternalId::operators);
    cuda().launch("k");
    const Trace trace = session.stop();
    CHECK(args_of_call(trace, 0) == "\"cbid\":211,\"External correlation id\":2");
    CHECK(args_of_call(trace, 1) == "\"cbid\":211,\"External correlation id\":1");
    CHECK(args_of_call(trace, 2) == "\"cbid\":211");
}

TEST(ids_of_operators_and_of_users_are_apart_and_a_kernel_is_that_of_its_call) {
    CudaSession session;
    push_external_id(ExternalId::operators, 41);
    push_external_id(ExternalId::users, uint64_t(-1));
    cuda().launch("k");
    pop_external_id(ExternalId::users);
    pop_external_id(ExternalId::operators);
    const Trace trace = session.stop();
    CHECK(args_of_call(trace, 0) ==
          "\"cbid\":211,\"External correlation id\":41,\"User correlation id\":18446744073709551615");
    CHECK(trace.correlation[rows_of(trace, Category::kernel).at(0)] ==
          trace.correlation[rows_of(trace, Category::cuda_runtime).at(0)]);
}

TEST(an_id_that_was_pushed_before_the_session_counts) {
    push_external_id(ExternalId::users, 7);
    CudaSession session;
    cuda().launch("k");
    pop_external_id(ExternalId::users);
    CHECK(args_of_call(session.stop(), 0) == "\"cbid\":211,\"User correlation id\":7");
}

TEST(another_thread_has_none_of_them_and_too_many_pops_are_harmless) {
    CudaSession session;
    push_external_id(ExternalId::users, 7);
    std::thread([] {
        pop_external_id(ExternalId::users);
        cuda().launch("k");
    }).join();
    pop_external_id(ExternalId::users);
    pop_external_id(ExternalId::users);
    CHECK(args_of_call(session.stop(), 0) == "\"cbid\":211");
}

CHECK_MAIN
