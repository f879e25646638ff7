// The calls of a trace merged by path: what `kinetograph summary --tree` and folded stacks are made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/device_work.h"
#include "trace/trace.h"

namespace kinetograph::trace {

struct CallTreeOptions {
    bool with_python = true;  // otherwise the time of Python functions belongs to the event around them
    // Turns the inside of a JSON string into what it means; for stacks that were recorded as an argument.
    void (*append_unescaped)(std::string& out, std::string_view text) = nullptr;
};

// All spans that were reached by the same names, on whatever thread. Python sees a matrix of int64_t.
struct CallNode {
    int64_t parent;  // index of a node before this one, -1 for a root
    int64_t name;    // id for CallTree::name_of
    int64_t category;
    int64_t count;     // calls: later runs of a generator belong to its call
    int64_t total_ns;  // on the host, as self_ns
    int64_t self_ns;
    int64_t self_device_ns;   // of a kernel or copy, below the event that launched it
    int64_t device_total_ns;  // of all below
};
inline constexpr size_t call_node_fields = 8;
static_assert(sizeof(CallNode) == call_node_fields * sizeof(int64_t));

struct CallTree {
    std::vector<CallNode> nodes;           // parents first
    std::vector<std::string> extra_names;  // of ids from Trace::strings.size() on
    std::string_view name_of(const Trace& trace, int64_t name) const {
        const auto strings = static_cast<int64_t>(trace.strings.size());
        return name < strings ? trace.strings[static_cast<uint32_t>(name)] : extra_names[name - strings];
    }
};

// Linear. Device work hangs below the event that launched it, with no time of the host.
CallTree merge_calls(const Trace& trace, const Nesting& nesting, const DeviceWork& work,
                     const CallTreeOptions& options);

}  // namespace kinetograph::trace
