// Hardware counters on a time grid, from the outside: a program that uses (a fake) CUDA, the samples that its
// devices take, and the events that come of them.
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cupti.h>

#include "base/clock.h"
#include "collect/cupti/metrics.h"
#include "cuda_session.h"

using namespace kinetograph;
using collect::MetricProblem;
using record::Recorder;
using namespace test;

namespace {

const std::string bytes_read = "dram__bytes_read.sum";
const std::string active = "sm__cycles_active.avg";
const std::string busy = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
constexpr uint64_t interval_ns = 100'000;

void take(int count, uint64_t value, int device = 0) {
    cuda().call<decltype(fake_take_samples)>("fake_take_samples", device, count, value);
}

bool is_sampling(int device = 0) {
    return cuda().call<decltype(fake_is_sampling)>("fake_is_sampling", device) != 0;
}

collect::MetricAnswer open(std::vector<std::string> metrics) {
    return collect::open_sampling({std::move(metrics), interval_ns});
}

// A session that samples, in the order in which Python does it.
class SampledSession {
public:
    explicit SampledSession(std::vector<std::string> metrics = {bytes_read}) {
        cuda();
        use_ = collect::start_cuda({});
        CHECK(open(std::move(metrics)).problem == MetricProblem::none);
        record::SessionOptions session;
        session.all_threads = true;
        id_ = Recorder::instance().start(session);
        resume();
    }
    void pause() const {
        collect::pause_sampling();
        Recorder::instance().pause(id_);
    }
    // The first sample is worth nothing.
    void resume() const {
        Recorder::instance().resume(id_);
        collect::resume_sampling();
        take(1, 999);
    }
    Trace stop(const trace::BuildOptions& options = {}) {
        collect::flush_cuda(use_, true);
        collect::pause_sampling();
        record::Recording recording = Recorder::instance().stop(id_);
        collect::close_sampling();
        collect::stop_cuda(use_);
        return trace::build_trace(std::move(recording), options);
    }

private:
    uint64_t use_;
    record::SessionId id_;
};

template <class Condition>
void wait_until(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool all_are_read() {
    return cuda().call<decltype(fake_unread_samples)>("fake_unread_samples", 0) == 0;
}

using Values = std::vector<std::string>;

Values values(const Trace& trace, const std::string& metric, int device = 0) {
    Values found;
    for (const size_t row : rows_of(trace, Category::hardware_counters)) {
        CHECK(trace.kind[row] == uint8_t(trace::EventKind::counter));
        if (name_of(trace, row) == metric && trace.tracks[trace.track[row]].device_index == device)
            found.push_back(row_args(trace, row));
    }
    return found;
}

// Answers of a session that records, and samples nothing yet.
collect::MetricAnswer refusal_of(const std::vector<std::string>& metrics) {
    const uint64_t use = collect::start_cuda({});
    const collect::MetricAnswer answer = open(metrics);
    CHECK(cuda().number("fake_sampled_devices") == 0);
    collect::stop_cuda(use);
    return answer;
}

}  // namespace

TEST(each_sample_is_a_value_of_each_metric_beside_the_kernels) {
    SampledSession session({bytes_read, active});
    cuda().launch("kernel");
    take(2, 1);
    take(1, 3);
    const Trace trace = session.stop();
    CHECK((values(trace, bytes_read) == Values{"\"value\":100", "\"value\":100", "\"value\":300"}));
    CHECK((values(trace, active) == Values{"\"value\":101", "\"value\":101", "\"value\":301"}));
    CHECK(count(trace, Category::kernel) == 1);
    CHECK(!has_note(trace, "counters"));
}

TEST(counters_lie_in_the_process_of_their_device) {
    SampledSession session;
    take(2, 1);
    const Trace trace = session.stop();
    const std::vector<size_t> rows = rows_of(trace, Category::hardware_counters);
    CHECK(rows.size() == 2);
    const trace::Track& track = trace.tracks[trace.track[rows[0]]];
    CHECK(track.name == "counters" && track.device_type == 1 && track.device_index == 0);
    CHECK(trace.processes[track.process].labels == "GPU 0");
    CHECK(trace.duration_ns[rows[0]] == 0 && trace.start_ns[rows[1]] > trace.start_ns[rows[0]]);
    for (const trace::Track& other : trace.tracks) CHECK(other.name.find("kg-") == std::string::npos);
}

TEST(every_device_has_its_own) {
    cuda().call<decltype(fake_set_devices)>("fake_set_devices", 2);
    SampledSession session;
    take(1, 999, 1);
    take(1, 1, 0);
    take(1, 2, 1);
    const Trace trace = session.stop();
    cuda().call<decltype(fake_set_devices)>("fake_set_devices", 1);
    CHECK(values(trace, bytes_read, 0) == Values{"\"value\":100"});
    CHECK(values(trace, bytes_read, 1) == Values{"\"value\":200"});
}

TEST(the_device_samples_as_often_as_it_is_told) {
    SampledSession session;
    CHECK(is_sampling());
    CHECK(cuda().call<decltype(fake_sampling_interval)>("fake_sampling_interval") == interval_ns);
    session.stop();
    CHECK(!is_sampling() && cuda().number("fake_sampled_devices") == 0);
}

TEST(samples_are_read_while_the_session_runs) {
    SampledSession session;
    for (int i = 0; i < 4; ++i) {
        take(1500, 1);
        wait_until(all_are_read);
    }
    const Trace trace = session.stop();
    CHECK(values(trace, bytes_read).size() == 6000);  // three times what is read at once
    CHECK(!has_note(trace, "lost"));
}

TEST(nothing_is_sampled_in_a_pause) {
    SampledSession session;
    take(1, 1);
    session.pause();
    CHECK(!is_sampling());
    take(1, 2);
    session.resume();
    take(1, 3);
    CHECK((values(session.stop(), bytes_read) == Values{"\"value\":100", "\"value\":300"}));
}

TEST(time_without_samples_is_noted) {
    SampledSession session;
    take(1, 1);
    cuda().call<decltype(fake_miss_samples)>("fake_miss_samples", 0, 7);
    take(1, 2);
    // Of 1000 ticks each, which some counters take a while for: samples from beyond the end are left out.
    wait_until([start = base::ticks()] { return base::ticks() - start > 10'000; });
    const Trace trace = session.stop();
    CHECK(values(trace, bytes_read).size() == 2);
    CHECK(has_note(trace, "7 samples of hardware counters were lost: they were not read in time"));
}

TEST(more_samples_than_an_image_holds_are_counted) {
    SampledSession session;
    wait_until(all_are_read);
    take(5000, 1);  // 2000 is what comes in 200 ms
    wait_until(all_are_read);
    take(1, 2);
    const Trace trace = session.stop();
    CHECK(values(trace, bytes_read).size() == 2001);
    CHECK(values(trace, bytes_read).back() == "\"value\":200");
    CHECK(has_note(trace, "3000 samples of hardware counters were lost"));
}

TEST(after_an_overflow_sampling_begins_anew) {
    SampledSession session;
    take(1, 1);
    cuda().call<decltype(fake_overflow_samples)>("fake_overflow_samples", 0);
    collect::pause_sampling();  // which reads
    CHECK(!is_sampling());
    collect::resume_sampling();
    CHECK(is_sampling());
    take(2, 2);
    const Trace trace = session.stop();
    CHECK(values(trace, bytes_read) == Values{"\"value\":200"});
    CHECK(has_note(trace, "1 times there were more samples of hardware counters than CUPTI keeps"));
}

TEST(an_overflow_while_a_session_runs_does_not_end_the_sampling) {
    SampledSession session;
    cuda().call<decltype(fake_overflow_samples)>("fake_overflow_samples", 0);
    wait_until([] { return cuda().call<decltype(fake_has_overflowed)>("fake_has_overflowed", 0) == 0; });
    take(2, 2);
    const Trace trace = session.stop();
    CHECK(values(trace, bytes_read) == Values{"\"value\":200"});
    CHECK(has_note(trace, "1 times there were more samples of hardware counters than CUPTI keeps"));
}

TEST(what_cannot_be_read_is_noted) {
    SampledSession session;
    take(1, 1);
    cuda().fail("cuptiPmSamplingDecodeData", CUPTI_ERROR_UNKNOWN);
    const Trace trace = session.stop();
    cuda().fail("cuptiPmSamplingDecodeData", 0);
    CHECK(values(trace, bytes_read).empty());
    CHECK(has_note(trace, "hardware counters could not be read: cuptiPmSamplingDecodeData gave error 999"));
}

TEST(what_cannot_be_started_is_noted) {
    cuda().fail("cuptiPmSamplingStart", CUPTI_ERROR_UNKNOWN);
    SampledSession session;
    const Trace trace = session.stop();
    cuda().fail("cuptiPmSamplingStart", 0);
    CHECK(has_note(trace, "hardware counters could not be sampled: cuptiPmSamplingStart gave error 999"));
}

TEST(unknown_names_come_with_those_that_begin_alike) {
    const collect::MetricAnswer answer = refusal_of({bytes_read, "dram__bytes_read.total"});
    CHECK(answer.problem == MetricProblem::unknown_metric);
    CHECK(answer.metrics == std::vector<std::string>{"dram__bytes_read.total"});
    CHECK(answer.candidates.size() == 1 && answer.candidates[0].size() == 5);
}

TEST(samples_have_but_one_pass) {
    const collect::MetricAnswer answer = refusal_of({bytes_read, busy});
    CHECK(answer.problem == MetricProblem::too_many_passes && answer.text == "8");
    CHECK((answer.passes == std::vector<size_t>{1, 8}));
}

TEST(what_cupti_refuses_is_told_and_nothing_stays_on) {
    const std::vector<std::pair<int, MetricProblem>> refusals = {
        {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, MetricProblem::no_permission},
        {CUPTI_ERROR_HARDWARE_BUSY, MetricProblem::in_use},
        {CUPTI_ERROR_NOT_SUPPORTED, MetricProblem::unsupported}};
    for (const char* function :
         {"cuptiProfilerInitialize", "cuptiPmSamplingGetCounterAvailability", "cuptiPmSamplingEnable",
          "cuptiPmSamplingSetConfig", "cuptiPmSamplingCounterDataImageInitialize"})
        for (const auto& [result, problem] : refusals) {
            cuda().fail(function, result);
            const collect::MetricAnswer answer = refusal_of({bytes_read});
            cuda().fail(function, 0);
            CHECK(answer.problem == problem);
            CHECK(answer.text.find(function) == 0);
        }
    SampledSession session;
    take(1, 1);
    CHECK(values(session.stop(), bytes_read).size() == 1);
}

TEST(a_device_that_cannot_sample_by_time_is_told) {
    cuda().call<decltype(fake_set_capability)>("fake_set_capability", 80);
    const collect::MetricAnswer answer = refusal_of({bytes_read});
    cuda().call<decltype(fake_set_capability)>("fake_set_capability", 90);
    CHECK(answer.problem == MetricProblem::unsupported);
    CHECK(answer.text == "GPU 0 has compute capability 8.0, and sampling by time needs 8.6 or newer");
}

TEST(another_tool_is_told_of) {
    cuda().launch("lets go of CUPTI");
    cuda().fail("cuptiSubscribe", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    const collect::MetricAnswer answer = refusal_of({bytes_read});
    cuda().fail("cuptiSubscribe", 0);
    CHECK(answer.problem == MetricProblem::in_use && answer.text.find("another tool") == 0);
}

TEST(one_session_samples_at_a_time_and_others_go_on) {
    SampledSession session;
    CudaSession other;
    CHECK(open({bytes_read}).problem == MetricProblem::in_use);
    take(1, 1);
    CHECK(values(session.stop(), bytes_read).size() == 1);
    cuda().launch("kernel");
    trace::BuildOptions without;
    without.wanted.categories = ~(uint64_t(1) << uint64_t(Category::hardware_counters));
    const Trace trace = other.stop(true, without);
    CHECK(count(trace, Category::kernel) == 1);
    CHECK(count(trace, Category::hardware_counters) == 0);
}

TEST(the_last_session_to_stop_ends_a_sampling_that_nobody_closed) {
    const uint64_t use = collect::start_cuda({});
    CHECK(open({bytes_read}).problem == MetricProblem::none);
    collect::resume_sampling();
    collect::stop_cuda(use);
    CHECK(!is_sampling());
    cuda().launch("lets go of CUPTI");
    CHECK(cuda().number("fake_is_subscribed") == 0);
}

TEST(sessions_come_one_after_the_other) {
    for (uint64_t value = 1; value <= 3; ++value) {
        SampledSession session;
        cuda().launch("kernel");
        take(1, value);
        const Trace trace = session.stop();
        CHECK(values(trace, bytes_read) == Values{"\"value\":" + std::to_string(value * 100)});
        CHECK(count(trace, Category::kernel) == 1);
        if (value == 2) cuda().launch("lets go of CUPTI");
    }
}

CHECK_MAIN
