// What a trace says of the versions of CUDA.
#include <dlfcn.h>

#include <algorithm>
#include <string>

#include "check.h"
#include "cuda_session.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

std::string metadata(const Trace& trace, std::string_view key) {
    const auto found = std::find_if(trace.metadata.begin(), trace.metadata.end(),
                                    [&](const auto& member) { return member.first == key; });
    return found == trace.metadata.end() ? "" : found->second;
}

}  // namespace

// In this order: a library that was loaded stays.
TEST(without_a_runtime_only_the_driver_and_cupti_have_one) {
    CudaSession session;
    const Trace trace = session.stop();
    CHECK(metadata(trace, "cuda_driver_version") == "13000");
    CHECK(metadata(trace, "cupti_version") == "130001");
    CHECK(metadata(trace, "cuda_runtime_version").empty());
}

TEST(a_runtime_that_is_mapped_tells_its_own) {
    CHECK(dlopen(FAKE_CUDART, RTLD_NOW | RTLD_LOCAL));
    CudaSession session;
    CHECK(metadata(session.stop(), "cuda_runtime_version") == "12080");
}

CHECK_MAIN
