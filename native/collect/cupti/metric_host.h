// What metrics a chip has, how many passes some of them take, and what their values are. Needs no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/cupti/metric_functions.h"

namespace kinetograph::collect::cupti {

// Which metrics there are depends on how they are counted.
struct Chip {
    std::string name;
    CUpti_ProfilerType use = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    std::vector<uint8_t> available =
        {};  // CUPTI's image of the counters that a device has now, if it is asked
};

class MetricHost {
public:
    // Throws MetricError, as all that follows.
    MetricHost(const MetricFunctions& functions, const Chip& chip);
    ~MetricHost();
    MetricHost(const MetricHost&) = delete;
    MetricHost& operator=(const MetricHost&) = delete;

    // Of all metrics, without their endings: sm__throughput, dram__bytes_read.
    std::vector<std::string> base_names() const;
    // Whether it is a whole name of this chip's, with its ending: dram__bytes_read.sum.
    bool knows(const std::string& metric) const;
    // Whole names that begin like this one, which may lack its ending or have a wrong one.
    std::vector<std::string> named_like(const std::string& metric) const;

    // Once: these are what `config`, `passes` and `evaluate` are about.
    void choose(const std::vector<std::string>& metrics);
    const std::vector<uint8_t>& config() const { return config_; }
    size_t passes() const { return passes_; }
    const std::vector<std::string>& metrics() const { return metrics_; }
    // Pointers to their names, as CUPTI wants them.
    const char** metric_pointers() const { return const_cast<const char**>(pointers_.data()); }
    std::vector<double> evaluate(const std::vector<uint8_t>& counter_data, size_t range) const;

private:
    struct Base {
        std::string name;
        CUpti_MetricType type;
    };
    std::vector<Base> bases() const;
    std::vector<std::string> endings_of(const Base& base) const;
    CUptiResult add(const std::vector<std::string>& metrics);
    void check(const char* function, CUptiResult result) const { cupti::check(functions_, function, result); }

    const MetricFunctions& functions_;
    const Chip chip_;
    CUpti_Profiler_Host_Object* host_ = nullptr;
    std::vector<std::string> metrics_;
    std::vector<const char*> pointers_;
    std::vector<uint8_t> config_;
    size_t passes_ = 0;
};

// How many each of them would take alone.
std::vector<size_t> passes_of_each(const MetricFunctions& functions, const Chip& chip,
                                   const std::vector<std::string>& metrics);

}  // namespace kinetograph::collect::cupti
