// Ranges of torch.compile and launches of Triton's kernels, for execution traces: torch tells of them only in
// a thread whose state has a profiler. So while one begins, there is one that does nothing.
#include <torch/csrc/profiler/orchestration/observer.h>

#include <memory>

namespace {

using namespace torch::profiler::impl;

// Torch hands on what a kernel was launched with only to one that wants the shapes of inputs.
struct SilentProfiler : ProfilerStateBase {
    SilentProfiler() : ProfilerStateBase(ProfilerConfig(ProfilerState::CPU, /*report_input_shapes=*/true)) {}

    ActiveProfilerType profilerType() override { return ActiveProfilerType::NONE; }
    void reportMemoryUsage(void*, int64_t, size_t, size_t, c10::Device) override {}
};

}  // namespace

// In the calling thread, one after the other. Where a profiler of torch's runs, it is heard already, and its
// callbacks take whatever is over it for their own.
extern "C" __attribute__((visibility("default"))) void kinetograph_torch_hear_ranges() noexcept try {
    if (ProfilerStateBase::get() != nullptr) return;
    ProfilerStateBase::push(std::make_shared<SilentProfiler>());
} catch (...) {
}

// Also after the first did nothing: what is not ours stays.
extern "C" __attribute__((visibility("default"))) void kinetograph_torch_hear_no_more() noexcept try {
    auto* top = ProfilerStateBase::get(/*global=*/false);
    if (top == nullptr || top->profilerType() != ActiveProfilerType::NONE) return;
    ProfilerStateBase::pop(/*global=*/false);
} catch (...) {
}
