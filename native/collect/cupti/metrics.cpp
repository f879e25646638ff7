#include "collect/cupti/metrics.h"

#include <memory>
#include <mutex>

#include "base/fork.h"
#include "collect/cupti/collector.h"
#include "collect/cupti/metric_session.h"

namespace kinetograph::collect {

namespace {

using cupti::MetricError;
using cupti::MetricSession;

// One per process. Calls come from Python's threads, one after the other.
struct Metrics {
    std::mutex mutex;
    std::unique_ptr<MetricSession> session;
};
Metrics* metrics = nullptr;

MetricProblem problem_of(CUptiResult result) {
    switch (result) {
        case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
        case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
            return MetricProblem::no_permission;
        case CUPTI_ERROR_HARDWARE_BUSY:
            return MetricProblem::in_use;
        default:
            return MetricProblem::unsupported;
    }
}

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
    try {
        metrics->session = make_session(options);
        return {};
    } catch (const cupti::MetricRefusal& refusal) {
        return refusal.answer;
    } catch (const MetricError& error) {
        return {problem_of(error.result), error.what()};
    } catch (const std::exception& error) {
        return {MetricProblem::unsupported, error.what()};
    }
}

void resume_metrics() {
    prepare_metrics();
    std::lock_guard lock(metrics->mutex);
    if (metrics->session) metrics->session->resume();
}

void pause_metrics() {
    prepare_metrics();
    std::lock_guard lock(metrics->mutex);
    if (metrics->session) metrics->session->pause(record::recording_thread());
}

void close_metrics() {
    prepare_metrics();
    std::lock_guard lock(metrics->mutex);
    if (metrics->session) metrics->session->pause(nullptr);
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
