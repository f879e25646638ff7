#include "collect/cupti/metric_session.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "collect/cupti/captures.h"
#include "collect/cupti/metric_choice.h"
#include "collect/cupti/synchronize.h"
#include "record/recorder.h"

namespace kinetograph::collect::cupti {

namespace {

constexpr std::string_view scopes_without_values =
    "scopes have no hardware metrics: CUPTI gave none for them";
// Kernels are told apart by their order alone.
constexpr std::string_view kernels_without_values =
    "kernels or graphs have no hardware metrics: CUPTI gave fewer than were launched, and if it was not the "
    "last that it left out, those behind have the values of others";
constexpr std::string_view values_without_kernels =
    "hardware metrics belong to no kernel: CUPTI counted more than were seen to be launched, so that values "
    "may be those of others";

constexpr std::string_view not_waited =
    "hardware metrics were read without waiting for the GPU, since a stream was being captured or the driver "
    "refused: what still ran then is not counted";

// Never destroyed: a callback may still be on its way when we unsubscribe.
struct Watched {
    LaunchLog launches;
    Captures captures;
};
Watched& watched() {
    static auto* const watched = new Watched;
    return *watched;
}

void on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId callback, const void* data) {
    if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (call.callbackSite == CUPTI_API_EXIT) watched().captures.see(domain, callback, call);
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) watched().launches.see(callback, call);
}

std::vector<Launch> of_context(const std::vector<Launch>& launches, CUcontext context) {
    std::vector<Launch> own;
    for (const Launch& launch : launches)
        if (launch.context == context) own.push_back(launch);
    return own;
}

}  // namespace

Subscription::Subscription(const Cupti& cupti, const MetricFunctions& functions, bool sees_launches)
    : cupti_(cupti) {
    const CUptiResult result = cupti_.subscribe(&subscriber_, on_call, nullptr);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        throw MetricRefusal({MetricProblem::in_use,
                             "another tool (torch.profiler, Nsight, ...) uses CUPTI, which allows only one"});
    check(functions, "cuptiSubscribe", result);
    watched().captures.forget();
    Captures::watch(cupti_, subscriber_);
    if (sees_launches) LaunchLog::watch(cupti_, subscriber_);
}

Subscription::~Subscription() {
    cupti_.unsubscribe(subscriber_);
}

MetricSession::MetricSession(const Driver& driver, const Cupti& cupti, std::vector<MetricDevice> devices,
                             const MetricOptions& options)
    : driver_(driver),
      functions_(find_range_functions(dlopen(cupti.path.c_str(), RTLD_LAZY | RTLD_NOLOAD))),
      per_kernel_(options.per_kernel),
      subscription_(cupti, functions_, per_kernel_),
      counters_(functions_),
      devices_(std::move(devices)) {
    // The program cannot run a range again, as CUPTI does with a kernel.
    for (MetricDevice& device : devices_)
        device.host =
            choose_metrics(functions_, {chip_of(functions_, device.index)}, options.metrics, !per_kernel_);
    for (MetricDevice& device : devices_)
        device.profiler =
            std::make_unique<RangeProfiler>(functions_, *device.host, device.context->get(), per_kernel_);
}

void MetricSession::fail(const char* what, const MetricError& error) {
    if (failure_.empty())
        failure_ = std::string("hardware metrics could not be ") + what + ": " + error.what();
}

bool MetricSession::start() {
    first_pushed_ += pushed_.size();
    pushed_.clear();
    try {
        for (MetricDevice& device : devices_) device.profiler->start();
        return true;
    } catch (const MetricError& error) {
        fail("started", error);
        return false;
    }
}

void MetricSession::resume() {
    if (is_counting_ || !start()) return;
    is_counting_ = true;
    if (!per_kernel_) return;
    // Half of the room: a launch of another thread may be under way when it is reached.
    const size_t batch = std::max<size_t>(1, devices_.front().profiler->most_ranges() / 2);
    watched().launches.start(driver_, {batch, [this](const std::vector<Launch>& launches) {
                                           read(launches);
                                           start();
                                       }});
}

void MetricSession::pause(bool may_wait) {
    if (!is_counting_) return;
    end_range();
    may_wait = may_wait && !watched().captures.is_any_under_way();
    if (!may_wait || !wait_for_devices(driver_).is_done) missed_running_ = true;
    is_counting_ = false;
    read(watched().launches.stop());
}

void MetricSession::tell(record::ThreadBuffer& thread) {
    for (MetricDevice& device : devices_) tell(thread, device);
    if (!failure_.empty()) record::tell_note(thread, "metrics", failure_, 0);
    failure_.clear();
    if (missed_running_) record::tell_note(thread, "metrics", not_waited, 0);
    missed_running_ = false;
}

void MetricSession::read(const std::vector<Launch>& launches) {
    for (MetricDevice& device : devices_) {
        try {
            read_device(device, of_context(launches, device.context->get()));
        } catch (const MetricError& error) {
            fail("read", error);
        }
    }
}

void MetricSession::read_device(MetricDevice& device, const std::vector<Launch>& launches) {
    const std::vector<CountedRange> counted = device.profiler->stop();
    const std::vector<RangeEvent> events =
        per_kernel_ ? name_kernels(counted, launches) : name_ranges(counted, pushed_, first_pushed_);
    device.missing += (per_kernel_ ? launches.size() : pushed_.size()) - events.size();
    if (per_kernel_) device.surplus += counted.size() - events.size();
    device.events.insert(device.events.end(), events.begin(), events.end());
}

void MetricSession::tell(record::ThreadBuffer& thread, MetricDevice& device) {
    const std::vector<RangeEvent> events = std::exchange(device.events, {});
    for (const RangeEvent& event : events) append(thread, device.index, device.host->metrics(), event);
    const std::string_view without_values = per_kernel_ ? kernels_without_values : scopes_without_values;
    if (device.missing != 0) record::tell_note(thread, "metrics", without_values, uint32_t(device.missing));
    if (device.surplus != 0)
        record::tell_note(thread, "metrics", values_without_kernels, uint32_t(device.surplus));
    device.missing = device.surplus = 0;
}

// Numbers instead of names, so that scopes of one name are counted one by one.
void MetricSession::begin_range(std::string_view name) {
    if (per_kernel_ || !is_counting_ || is_in_range_) return;
    if (pushed_.size() >= devices_.front().profiler->most_ranges()) {
        read({});
        is_counting_ = start();
        if (!is_counting_) return;
    }
    try {
        const std::string number = std::to_string(first_pushed_ + pushed_.size());
        for (const MetricDevice& device : devices_) device.profiler->push(number.c_str());
        const uint64_t now = base::ticks();
        pushed_.push_back({std::string(name), now, now});
        is_in_range_ = true;
    } catch (const MetricError& error) {
        fail("begun", error);
    }
}

void MetricSession::end_range() {
    if (!is_in_range_) return;
    is_in_range_ = false;
    try {
        for (const MetricDevice& device : devices_) device.profiler->pop();
    } catch (const MetricError& error) {
        fail("ended", error);
    }
    pushed_.back().end = base::ticks();
}

}  // namespace kinetograph::collect::cupti
