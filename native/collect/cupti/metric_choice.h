// Which metrics a session gets, and in words that Python understands why it gets none.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collect/cupti/metric_host.h"
#include "collect/cupti/metrics.h"

namespace kinetograph::collect::cupti {

// Why they cannot be had.
struct MetricRefusal : std::exception {
    explicit MetricRefusal(MetricAnswer answer) : answer(std::move(answer)) {}
    const char* what() const noexcept override { return answer.text.c_str(); }
    MetricAnswer answer;
};

// Of a chip that has them all. Throws MetricRefusal if it does not or if, with `in_one_pass`, they take
// several; and MetricError.
std::unique_ptr<MetricHost> choose_metrics(const MetricFunctions& functions, const Chip& chip,
                                           const std::vector<std::string>& metrics, bool in_one_pass);

// What `open` throws, or that there is no problem.
MetricAnswer answer_of(const std::function<void()>& open);

}  // namespace kinetograph::collect::cupti
