// The words of Kineto's dialect that writer and reader must agree on.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/trace.h"

namespace kinetograph::format {

using record::Category;
using record::RecordScope;

// Host events that carry an External id of their own; all others refer to one.
inline bool owns_external_id(uint8_t category, uint8_t kind) {
    const bool host = category == uint8_t(Category::cpu_op) || category == uint8_t(Category::user_annotation);
    return host && kind == uint8_t(trace::EventKind::span);
}

// What the category alone tells. Only a scope that differs is written.
inline uint8_t usual_scope(uint8_t category) {
    const bool user = category == uint8_t(Category::user_annotation);
    return uint8_t(user ? RecordScope::user_scope : RecordScope::function);
}

// Arguments that are columns of a Trace, or exist in the JSON only; they never stand in Trace::args_text.
namespace argument {
inline constexpr std::string_view external_id = "External id";
inline constexpr std::string_view record_function_id = "Record function id";
inline constexpr std::string_view event_index = "Ev Idx";
inline constexpr std::string_view python_id = "Python id";
inline constexpr std::string_view python_parent_id = "Python parent id";
inline constexpr std::string_view correlation = "correlation";
inline constexpr std::string_view sequence = "Sequence number";
inline constexpr std::string_view finished = "finished";
inline constexpr std::string_view scope = "Record scope";  // ours
inline constexpr std::string_view async = "Async span";    // ours
inline constexpr std::string_view resumed = "Resumed";     // ours
}  // namespace argument

// Stays in the text; the writer only looks whether it is there and not 0.
inline constexpr std::string_view forward_thread = "\"Fwd thread id\":";

// Stays in the text, too: the writer puts what it says behind the name of the operator, as torch does in its
// files ("aten::add.Tensor"), and the reader takes it off again.
inline constexpr std::string_view overload_name = "Overload name";

// Of the operator around each backward function; it has the same number.
inline constexpr std::string_view autograd_engine = "autograd::engine::evaluate_function";

// M events that stand for process_name and thread_name where there is no name: they keep the order of the
// rows, and Perfetto counts an empty name as an error.
inline constexpr std::string_view unnamed_process = "kinetograph_process";
inline constexpr std::string_view unnamed_thread = "kinetograph_thread";

// Additional arguments of our thread_name rows.
namespace track_argument {
inline constexpr std::string_view lane_of = "lane_of";  // tid of the track whose crossing spans these are
inline constexpr std::string_view task_of = "task_of";  // tid of the thread the task runs on
inline constexpr std::string_view device_type = "device_type";
inline constexpr std::string_view device_index = "device_index";
inline constexpr std::string_view framework_thread = "framework_thread";
}  // namespace track_argument

inline constexpr std::string_view spans_pid = "\"Spans\"";
inline constexpr std::string_view markers_pid = "\"Traces\"";
inline constexpr std::string_view marker_name = "Iteration Start: ";  // and the name of the profiler
inline constexpr std::string_view window_end_pid = "\"\"";
inline constexpr std::string_view window_end_name = "Record Window End";

inline bool is_memory_name(std::string_view name) {
    return name == "[memory]" || name == "[OutOfMemory]";
}

}  // namespace kinetograph::format
