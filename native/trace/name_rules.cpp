#include "trace/name_rules.h"

#include <algorithm>

namespace kinetograph::trace {

namespace {

constexpr std::string_view hidden_names[] = {
    "[memory]",
    "[OutOfMemory]",
    "aten::_version",
    "aten::is_leaf",
    "aten::output_nr",
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
};

}  // namespace

NameRules::NameRules(const Trace& trace)
    : counted_as_(trace.strings.size()), is_hidden_(trace.strings.size()) {
    uint32_t first_step = 0;
    for (uint32_t name = 0; name < trace.strings.size(); ++name) {
        const std::string_view text = trace.strings[name];
        counted_as_[name] = name;
        is_hidden_[name] =
            std::find(std::begin(hidden_names), std::end(hidden_names), text) != std::end(hidden_names);
        if (!text.starts_with(step_prefix)) continue;
        if (first_step == 0) first_step = name;
        counted_as_[name] = first_step;
    }
}

}  // namespace kinetograph::trace
