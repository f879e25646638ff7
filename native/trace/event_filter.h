// Which of the recorded events a session wants, and what its windows leave of them.
#pragma once

#include <cstdint>

#include "record/object_name.h"
#include "record/recording.h"
#include "trace/builder.h"
#include "trace/clip.h"
#include "trace/recorded_names.h"

namespace kinetograph::trace {

inline bool is_call(uint8_t category) {
    return category == uint8_t(Category::python_function);
}

// Not so in a damaged file, or when foreign code gets its numbers wrong.
inline bool makes_sense(uint8_t category, uint8_t scope) {
    return category < record::category_count && scope <= uint8_t(record::RecordScope::static_runtime_model);
}

class EventFilter {
public:
    EventFilter(const BuildOptions& options, const base::ClockFit& clock)
        : options_(options),
          shortest_call_(uint64_t(double(options.calls.shortest_ns) / clock.ns_per_tick())) {}

    bool wants_category(uint8_t category) const { return (options_.wanted.categories >> category & 1) != 0; }

    bool wants_call(uint32_t name, uint8_t flags) const {
        if (is_wanted_object(flags)) return true;
        if (!(flags & record::flag_garbage ? options_.calls.garbage : options_.calls.functions)) return false;
        if (flags & record::flag_builtin && !options_.calls.builtins) return false;
        return !options_.calls.by_name ||
               wanted_names_.get(name, [&] { return options_.calls.by_name(name); });
    }

    bool wants(const record::ThreadRecording& thread, const record::Record& record, Clipped& clipped) const {
        return is_host_event(record.kind) && makes_sense(record.category, record.scope) &&
               wants_category(record.category) &&
               (is_call(record.category)
                    ? wants_call(record)
                    : record.kind != record::RecordKind::span || wants_scope(record.scope)) &&
               clip(record.start, record.last_tick(), record.flags, thread.windows, clipped);
    }

    // Would be wanted if it had lasted longer.
    bool is_too_brief(const record::ThreadRecording& thread, const record::Record& record) const {
        if (shortest_call_ == 0) [[likely]]
            return false;
        Clipped clipped;
        return record.kind == record::RecordKind::span && is_call(record.category) &&
               wants_category(record.category) && !is_long_enough(record) &&
               wants_call(record.name, record.flags) &&
               clip(record.start, record.last_tick(), record.flags, thread.windows, clipped);
    }

    bool wants(const record::ThreadRecording& thread, const record::OpenScopeCopy& scope,
               Clipped& clipped) const {
        const auto category = uint8_t(scope.meta), kind = uint8_t(scope.meta >> 8);
        const auto flags = uint8_t(scope.meta >> 16);
        return makes_sense(category, kind) && wants_category(category) &&
               (is_call(category) ? wants_call(scope.name, flags) : wants_scope(kind)) &&
               clip(scope.start, scope.seen_until, flags | record::flag_unfinished, thread.windows, clipped);
    }

private:
    static bool is_host_event(record::RecordKind kind) {
        return kind == record::RecordKind::span || kind == record::RecordKind::instant ||
               kind == record::RecordKind::counter || kind == record::RecordKind::memory;
    }

    bool wants_scope(uint8_t scope) const {
        return options_.wanted.scopes == 0 || (options_.wanted.scopes >> scope & 1) != 0;
    }

    bool wants_call(const record::Record& record) const {
        return is_long_enough(record) && wants_call(record.name, record.flags);
    }

    bool is_long_enough(const record::Record& record) const {
        return record.end - record.start >= shortest_call_ || is_wanted_object(record.flags);
    }

    bool is_wanted_object(uint8_t flags) const {
        return options_.calls.objects && flags & record::flag_object;
    }

    const BuildOptions& options_;
    mutable IdCache<bool> wanted_names_;
    uint64_t shortest_call_;  // ticks
};

}  // namespace kinetograph::trace
