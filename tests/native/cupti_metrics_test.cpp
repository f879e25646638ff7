// Hardware metrics from the outside: a program that uses (a fake) CUDA, and the events that come of it.
#include "collect/cupti/metrics.h"

#include <string>
#include <thread>
#include <vector>

#include <cupti.h>

#include "check.h"
#include "collect/cupti/collector.h"
#include "fake_cuda/play.h"
#include "record/recorder.h"
#include "trace/builder.h"

using namespace kinetograph;
using collect::MetricProblem;
using record::Category;
using record::Recorder;
using test::FakeCuda;
using trace::Trace;

namespace {

const std::string bytes_read = "dram__bytes_read.sum";
const std::string busy = "sm__throughput.avg.pct_of_peak_sustained_elapsed";

const FakeCuda& cuda() {
    static const FakeCuda* const fake = [] {
        auto* made = new FakeCuda;
        made->initialise();
        return made;
    }();
    return *fake;
}

void launch(const char* kernel, bool is_captured = false) {
    cuda().call<decltype(fake_counted_launch)>("fake_counted_launch", kernel, int(is_captured));
}

collect::MetricAnswer open(std::vector<std::string> metrics, bool per_kernel) {
    cuda();
    return collect::open_metrics({std::move(metrics), per_kernel, {FAKE_CUPTI}});
}

// A session with metrics, in the order in which Python does it.
class MetricsSession {
public:
    explicit MetricsSession(bool per_kernel, std::vector<std::string> metrics = {bytes_read}) {
        CHECK(open(std::move(metrics), per_kernel).problem == MetricProblem::none);
        record::SessionOptions session;
        session.all_threads = true;
        id_ = Recorder::instance().start(session);
        collect::resume_metrics();
    }
    Trace stop() {
        collect::pause_metrics(true);
        record::Recording recording = Recorder::instance().stop(id_);
        collect::close_metrics();
        return trace::build_trace(std::move(recording));
    }

private:
    record::SessionId id_;
};

struct Found {
    std::string name, args;
    bool operator==(const Found&) const = default;
};

std::vector<Found> ranges(const Trace& trace) {
    std::vector<Found> found;
    for (size_t row = 0; row < trace.size(); ++row)
        if (trace.category[row] == uint8_t(Category::cuda_profiler_range))
            found.push_back({std::string(trace.strings[trace.name[row]]), std::string(trace.args_of(row))});
    return found;
}

bool has_note(const Trace& trace, std::string_view text) {
    for (const trace::Note& note : trace.notes)
        if (note.text.find(text) != std::string::npos) return true;
    return false;
}

}  // namespace

TEST(each_kernel_is_an_event_with_its_metrics) {
    MetricsSession session(true, {bytes_read, busy});
    launch("_Z3addPf");
    launch("_Z3mulPf");
    const Trace trace = session.stop();
    const std::string args =
        R"("dram__bytes_read.sum":100,"sm__throughput.avg.pct_of_peak_sustained_elapsed":101)";
    CHECK((ranges(trace) == std::vector<Found>{{"add(float*)", args}, {"mul(float*)", args}}));
    const trace::Track& track = trace.tracks[trace.track[0]];
    CHECK(track.device_type == 1 && track.device_index == 0);
    CHECK(trace.notes.empty() || !has_note(trace, "metrics"));
}

TEST(kernels_do_not_overlap) {
    MetricsSession session(true);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([] {
            for (int n = 0; n < 20; ++n) launch("k");
        });
    for (std::thread& thread : threads) thread.join();
    const Trace trace = session.stop();
    CHECK(ranges(trace).size() == 80);
    for (size_t row = 1; row < trace.size(); ++row)
        CHECK(trace.start_ns[row] >= trace.start_ns[row - 1] + trace.duration_ns[row - 1]);
}

TEST(more_kernels_than_the_counters_hold_are_all_there) {
    MetricsSession session(true);
    for (int i = 0; i < 1000; ++i) launch(("kernel " + std::to_string(i)).c_str());
    const std::vector<Found> found = ranges(session.stop());
    CHECK(found.size() == 1000);
    for (int i = 0; i < 1000; ++i) CHECK(found[size_t(i)].name == "kernel " + std::to_string(i));
}

TEST(a_captured_launch_is_no_kernel) {
    MetricsSession session(true);
    launch("before");
    launch("captured", true);
    launch("after");
    const std::vector<Found> found = ranges(session.stop());
    CHECK(found.size() == 2 && found[0].name == "before" && found[1].name == "after");
}

TEST(launches_without_values_are_noted) {
    MetricsSession session(true);
    launch("counted");
    cuda().call<decltype(fake_uncounted_launch)>("fake_uncounted_launch", "not counted");
    const Trace trace = session.stop();
    CHECK(ranges(trace).size() == 1);
    CHECK(has_note(trace, "1 kernels or graphs have no hardware metrics"));
}

TEST(scopes_of_one_name_are_measured_one_by_one) {
    MetricsSession session(false);
    launch("outside");
    for (int i = 1; i <= 2; ++i) {
        collect::begin_metric_range("step");
        for (int n = 0; n < i; ++n) launch("k");
        collect::end_metric_range();
    }
    const std::vector<Found> expected = {{"step", R"("dram__bytes_read.sum":100)"},
                                         {"step", R"("dram__bytes_read.sum":200)"}};
    CHECK(ranges(session.stop()) == expected);
}

TEST(more_scopes_than_the_counters_hold_are_all_there) {
    MetricsSession session(false);
    for (int i = 0; i < 1000; ++i) {
        collect::begin_metric_range("scope " + std::to_string(i));
        collect::end_metric_range();
    }
    const std::vector<Found> found = ranges(session.stop());
    CHECK(found.size() == 1000);
    for (int i = 0; i < 1000; ++i) CHECK(found[size_t(i)].name == "scope " + std::to_string(i));
}

TEST(a_scope_that_is_open_at_the_end_ends_there) {
    MetricsSession session(false);
    collect::begin_metric_range("open");
    launch("k");
    CHECK(ranges(session.stop()) == (std::vector<Found>{{"open", R"("dram__bytes_read.sum":100)"}}));
    collect::end_metric_range();  // of a session that is over
}

TEST(nothing_is_measured_in_a_pause) {
    MetricsSession session(true);
    launch("kept");
    collect::pause_metrics(true);
    launch("left out");
    collect::resume_metrics();
    launch("kept again");
    const std::vector<Found> found = ranges(session.stop());
    CHECK(found.size() == 2 && found[0].name == "kept" && found[1].name == "kept again");
}

TEST(a_capture_is_not_broken_by_the_end_of_metrics) {
    for (const bool per_kernel : {true, false}) {
        MetricsSession session(per_kernel);
        cuda().call<decltype(fake_begin_capture)>("fake_begin_capture", uintptr_t{0x51});
        CHECK(has_note(session.stop(), "without waiting for the GPU"));
        CHECK(cuda().number("fake_capture_is_broken") == 0);
        cuda().call<decltype(fake_end_capture)>("fake_end_capture", uintptr_t{0x51});
    }
}

TEST(unknown_names_come_with_those_that_begin_alike) {
    const collect::MetricAnswer answer =
        open({bytes_read, "dram__bytes_read.total", "dram__bites.sum"}, true);
    CHECK(answer.problem == MetricProblem::unknown_metric);
    CHECK((answer.metrics == std::vector<std::string>{"dram__bytes_read.total", "dram__bites.sum"}));
    CHECK(answer.candidates.size() == 2);
    CHECK(answer.candidates[0].size() == 5 && answer.candidates[0][3] == "dram__bytes_read.sum");
    CHECK(answer.candidates[1].size() == 4 && answer.candidates[1][0] == "dram__bytes_read");
    CHECK(cuda().number("fake_is_subscribed") == 0);
}

TEST(a_scope_has_but_one_pass) {
    const collect::MetricAnswer answer = open({bytes_read, busy}, false);
    CHECK(answer.problem == MetricProblem::too_many_passes && answer.text == "8");
    CHECK((answer.passes == std::vector<size_t>{1, 8}));
}

TEST(what_cupti_refuses_is_told_and_leaves_it_free) {
    const std::vector<std::pair<int, MetricProblem>> refusals = {
        {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, MetricProblem::no_permission},
        {CUPTI_ERROR_HARDWARE_BUSY, MetricProblem::in_use},
        {CUPTI_ERROR_NOT_SUPPORTED, MetricProblem::unsupported}};
    for (const char* function : {"cuptiProfilerInitialize", "cuptiRangeProfilerEnable"})
        for (const auto& [result, problem] : refusals) {
            cuda().fail(function, result);
            const collect::MetricAnswer answer = open({bytes_read}, true);
            cuda().fail(function, 0);
            CHECK(answer.problem == problem);
            CHECK(answer.text.find(function) == 0);
            CHECK(cuda().number("fake_is_subscribed") == 0);
        }
    cuda().fail("cuptiSubscribe", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CHECK(open({bytes_read}, true).problem == MetricProblem::in_use);
    cuda().fail("cuptiSubscribe", 0);
    MetricsSession session(true);
    launch("k");
    CHECK(ranges(session.stop()).size() == 1);
}

TEST(counters_that_cannot_be_read_are_noted) {
    MetricsSession session(true);
    launch("k");
    cuda().fail("cuptiRangeProfilerDecodeData", CUPTI_ERROR_UNKNOWN);
    const Trace trace = session.stop();
    cuda().fail("cuptiRangeProfilerDecodeData", 0);
    CHECK(ranges(trace).empty());
    CHECK(has_note(trace, "hardware metrics could not be read: cuptiRangeProfilerDecodeData gave error 999"));
}

TEST(metrics_and_records_take_turns) {
    const uint64_t use = collect::start_cuda({});
    CHECK(collect::cuda_status().state == collect::CudaState::attached);
    CHECK(open({bytes_read}, true).problem == MetricProblem::in_use);
    collect::stop_cuda(use);
    MetricsSession session(true);  // before the records have let go of CUPTI
    CHECK(open({bytes_read}, true).problem == MetricProblem::in_use);
    launch("k");
    CHECK(ranges(session.stop()).size() == 1);
    CHECK(cuda().number("fake_is_subscribed") == 0);
    const uint64_t again = collect::start_cuda({});
    CHECK(collect::cuda_status().state == collect::CudaState::attached);
    collect::stop_cuda(again);
}

CHECK_MAIN
