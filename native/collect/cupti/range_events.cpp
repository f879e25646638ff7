#include "collect/cupti/range_events.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/json_members.h"
#include "collect/cupti/append_struct.h"
#include "collect/cupti/shapes.h"
#include "record/recorder.h"

namespace kinetograph::collect::cupti {

namespace {

// The largest there is if the name is none.
size_t number_of(const std::string& name) {
    size_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() && end == name.data() + name.size() ? number : SIZE_MAX;
}

// JSON knows neither infinity nor what is no number.
std::string spelled(const std::vector<std::string>& metrics, const std::vector<double>& values) {
    base::JsonMembers members;
    for (size_t index = 0; index < metrics.size() && index < values.size(); ++index) {
        if (std::isfinite(values[index]))
            members.add(metrics[index], values[index]);
        else
            members.add(metrics[index], std::string_view("N/A"));
    }
    return members.text();
}

}  // namespace

std::vector<RangeEvent> name_kernels(const std::vector<CountedRange>& counted,
                                     const std::vector<Launch>& launches) {
    std::vector<RangeEvent> events;
    uint64_t free_since = 0;  // a call may have waited for the one before it
    for (size_t index = 0; index < std::min(counted.size(), launches.size()); ++index) {
        const Launch& launch = launches[index];
        events.push_back({demangled(launch.kernel.c_str()), std::max(launch.start, free_since), launch.end,
                          counted[index].values});
        free_since = launch.end;
    }
    return events;
}

std::vector<RangeEvent> name_ranges(const std::vector<CountedRange>& counted,
                                    const std::vector<PushedRange>& pushed, size_t first) {
    std::vector<RangeEvent> events;
    for (const CountedRange& range : counted) {
        const size_t number = number_of(range.name);
        if (number < first || number - first >= pushed.size()) continue;
        const PushedRange& scope = pushed[number - first];
        events.push_back({scope.name, scope.start, scope.end, range.values});
    }
    return events;
}

void append(record::ThreadBuffer& thread, int32_t device, const std::vector<std::string>& metrics,
            const RangeEvent& event) {
    const std::string text = spelled(metrics, event.values);
    const record::DeviceWork work{{cuda_device, {}, device, 0}, 0, 0, 0};
    const uint32_t length = uint32_t(text.size());
    std::string payload(sizeof work + sizeof length, '\0');
    std::memcpy(payload.data(), &work, sizeof work);
    std::memcpy(payload.data() + sizeof work, &length, sizeof length);
    payload += text;
    const size_t units = 1 + (payload.size() + sizeof(record::Record) - 1) / sizeof(record::Record);
    record::Record* room = units <= UINT16_MAX ? record::room_for(thread, uint32_t(units)) : nullptr;
    if (!room) return;
    const uint32_t name = record::Recorder::instance().intern(event.name);
    *room = {event.start,
             event.end,
             name,
             record::RecordKind::device_work,
             uint8_t(record::Category::cuda_profiler_range),
             0,
             0,
             0,
             uint16_t(units - 1),
             0};
    std::memcpy(static_cast<void*>(room + 1), payload.data(), payload.size());
    record::publish(thread, uint32_t(units));
}

}  // namespace kinetograph::collect::cupti
