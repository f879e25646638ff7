#include "collect/cupti/metrics.h"

#include <memory>
#include <mutex>
#include <system_error>

#include "base/fork.h"
#include "base/quiet_thread.h"
#include "collect/cupti/collector.h"
#include "collect/cupti/metric_choice.h"
#include "collect/cupti/metric_session.h"
#include "record/recorder.h"

namespace kinetograph::collect {

namespace {

using cupti::MetricSession;

// One per process. Calls come from Python's threads, one after the other.
struct Metrics {
    std::mutex mutex;
    std::unique_ptr<MetricSession> session;
};
Metrics* metrics = nullptr;

std::unique_ptr<MetricSession> make_session(const MetricOptions& options) {
    const cupti::Driver* driver = cupti::initialised_driver();
    std::vector<cupti::MetricDevice> devices;
    if (driver) devices = cupti::find_used_devices(*driver);
    if (devices.empty())
        throw cupti::MetricRefusal({MetricProblem::no_context, "the program has not used CUDA yet"});
    if (!leave_cupti_to_metrics())
        throw cupti::MetricRefusal(
            {MetricProblem::in_use,
             "another session records CUDA, which cannot be had together with metrics"});
    return std::make_unique<MetricSession>(*driver, cupti::open_cupti(options.libraries), std::move(devices),
                                           options);
}

// In a thread that serves all sessions: whoever stops one need not be part of it.
void tell(MetricSession& session) {
    const auto tell = [&session](record::ThreadBuffer* thread) {
        if (thread) record::tell_or_count(thread, [&] { session.tell(*thread); });
    };
    try {
        base::start_quietly("kg-metrics", [&tell] { tell(record::serving_thread()); }).join();
    } catch (const std::system_error&) {  // there is none to be had
        tell(record::recording_thread());
    }
}

}  // namespace

// CUDA cannot be used in a forked child, which leaves what it inherited alone.
void prepare_metrics() {
    static std::once_flag once;
    std::call_once(once, [] {
        metrics = new Metrics;
        base::on_fork([] { metrics->mutex.lock(); }, [] { metrics->mutex.unlock(); },
                      [] { metrics = new Metrics; });
    });
}

MetricAnswer open_metrics(const MetricOptions& options) {
    prepare_metrics();
    std::lock_guard lock(metrics->mutex);
    if (metrics->session) return {MetricProblem::in_use, "another session measures hardware metrics"};
    return cupti::answer_of([&] { metrics->session = make_session(options); });
}

void resume_metrics() {
    prepare_metrics();
    std::lock_guard lock(metrics->mutex);
    if (metrics->session) metrics->session->resume();
}

void pause_metrics(bool may_wait) {
    prepare_metrics();
    std::lock_guard lock(metrics->mutex);
    if (!metrics->session) return;
    metrics->session->pause(may_wait);
    tell(*metrics->session);
}

void close_metrics() {
    prepare_metrics();
    std::lock_guard lock(metrics->mutex);
    if (metrics->session) metrics->session->pause(true);
    metrics->session.reset();
}

void begin_metric_range(std::string_view name) {
    prepare_metrics();
    std::lock_guard lock(metrics->mutex);
    if (metrics->session) metrics->session->begin_range(name);
}

void end_metric_range() {
    prepare_metrics();
    std::lock_guard lock(metrics->mutex);
    if (metrics->session) metrics->session->end_range();
}

}  // namespace kinetograph::collect
