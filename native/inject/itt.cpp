// The ITT collector: every client of ITT loads us at its first call, because INTEL_LIBITTNOTIFY64 names us,
// and hands over the list of its function pointers.
//
// Handlers run in whatever thread annotates, without the GIL, and let no exception out.
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/itt_types.h"
#include "base/json_members.h"
#include "inject/clients.h"
#include "inject/counted_note.h"
#include "inject/events.h"
#include "inject/itt_counters.h"
#include "inject/itt_names.h"
#include "inject/itt_pause.h"
#include "inject/library_lock.h"
#include "inject/names.h"
#include "inject/nested_ranges.h"
#include "inject/process.h"
#include "inject/record_table.h"
#include "inject/text.h"
#include "inject/thread_state.h"

namespace kinetograph::inject {

namespace {

using itt::Id;

bool is_wanted() {
    return is_listening() && !is_paused.load(std::memory_order_relaxed);
}
// Also while paused: what began before must not seem to go on.
bool wants_end() {
    return is_listening();
}

bool is_null(const Id& id) {
    return id.parts[0] == 0 && id.parts[1] == 0 && id.parts[2] == 0;
}

// Ids are the client's, and mean something within a domain. The same is never that of an NVTX range.
uint64_t range_id(const void* domain, const Id& id) {
    uint64_t hash = reinterpret_cast<uintptr_t>(domain) | uint64_t(1) << 63;
    for (const unsigned long long part : id.parts) {
        hash = (hash ^ part) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
    }
    return hash | uint64_t(1) << 63;
}

// What was told of ranges that have an id, until they end. Some never do, and markers have no end: what was
// told longest ago makes room.
struct Told {
    using ByRange = std::unordered_map<uint64_t, std::string>;

    static constexpr size_t most = 1 << 15;  // in each of both
    ByRange latest, older;
    std::atomic<size_t> count{0};

    ByRange::node_type take(uint64_t range) {
        auto node = latest.extract(range);
        return node.empty() ? older.extract(range) : std::move(node);
    }
    void publish() { count.store(latest.size() + older.size(), std::memory_order_relaxed); }
};

CountedNote too_much_told{
    "partial",
    "metadata of ITT were left out: they were of markers, or of ranges behind which 32,768 others were told "
    "of, or of one range that had more than 48 KiB"};
static_assert(Told::most == 32'768 && longest_args == 48 * 1024);

Told& told() {
    static Told& all = *new Told;
    return all;
}

std::string take_told(uint64_t range) {
    Told& all = told();
    if (all.count.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard lock(library_mutex);
    auto node = all.take(range);
    all.publish();
    return node.empty() ? std::string() : std::move(node.mapped());
}

// How much had to be left out.
size_t keep_told(uint64_t range, std::string&& args) {
    Told& all = told();
    Told::ByRange forgotten;
    std::lock_guard lock(library_mutex);
    if (auto known = all.older.extract(range)) all.latest.insert(std::move(known));
    if (all.latest.size() >= all.most && !all.latest.contains(range)) {
        forgotten = std::exchange(all.older, std::move(all.latest));
        all.latest = {};
    }
    const bool fits = append_args(all.latest[range], std::move(args));
    all.publish();
    return forgotten.size() + !fits;
}

// Of the range with that id, else of the innermost task.
void tell(const Domain& domain, const Id& id, std::string&& args) {
    if (is_null(id)) return describe_range(domain, std::move(args));
    if (const size_t left_out = keep_told(range_id(&domain, id), std::move(args)))
        too_much_told.count(left_out);
}

// Operators and ranges of torch, which `emit_itt` tells behind everybody who watches all threads: our
// observer has just begun the same.
bool is_told_already(const Domain& domain, uint32_t name) {
    return &domain == &torch_domain && recorder->is_told_again(name);
}

// A task that has an id may be described by it: as the range that it is then, but among those that nest.
void begin_task(const itt::Domain* handle, Id id, Id, itt::String* name) noexcept try {
    const Domain& domain = domain_of(handle);
    const uint64_t range = is_null(id) ? 0 : range_id(&domain, id);
    if (!is_wanted()) return void(push_unrecorded(domain, range));
    const uint32_t number = name_of(domain, name);
    if (is_told_already(domain, number))
        push_unrecorded(domain, range);
    else
        push_range(domain, number, range);
} catch (...) {
}

void begin_task_of_function(const itt::Domain* handle, Id, Id, void* function) noexcept try {
    const Domain& domain = domain_of(handle);
    if (is_wanted())
        push_range(domain, name_id(domain, hex(reinterpret_cast<uintptr_t>(function))));
    else
        push_unrecorded(domain);
} catch (...) {
}

void end_task(const itt::Domain* handle) noexcept try {
    const Domain& domain = domain_of(handle);
    const uint64_t range = innermost_number(domain);
    pop_range(domain, range == 0 ? std::string() : take_told(range));
} catch (...) {
}

void begin_overlapped(const itt::Domain* handle, Id id, Id, itt::String* name) noexcept try {
    const Domain& domain = domain_of(handle);
    if (is_wanted()) begin_range(range_id(&domain, id), {domain, name_of(domain, name)});
} catch (...) {
}

void end_overlapped(const itt::Domain* handle, Id id) noexcept try {
    const Domain& domain = domain_of(handle);
    const uint64_t range = range_id(&domain, id);
    const std::string args = take_told(range);
    if (wants_end()) end_range(range, {domain, 0, args});
} catch (...) {
}

// Frames have no name but their domain's, and of those without an id one is open in each. Tasks and regions
// may have the same id, or none.
uint64_t frame_range(const Domain& domain, const Id* id) {
    constexpr uint64_t of_a_frame = 0x5851f42d4c957f2d;  // any, but without the highest bit
    return range_id(&domain, id ? *id : Id{}) ^ of_a_frame;
}

void begin_frame(const itt::Domain* handle, Id* id) noexcept try {
    const Domain& domain = domain_of(handle);
    if (is_wanted()) begin_range(frame_range(domain, id), {domain, name_id(domain, "frame")});
} catch (...) {
}

void end_frame(const itt::Domain* handle, Id* id) noexcept try {
    const Domain& domain = domain_of(handle);
    const std::string args = id ? take_told(range_id(&domain, *id)) : std::string();
    if (wants_end()) end_range(frame_range(domain, id), {domain, 0, args});
} catch (...) {
}

// Those of a clock that is not ours tell of no time in a trace.
bool are_our_times(uint64_t begin, uint64_t end) {
    return begin >= loaded_at && begin <= end && end <= recorder->ticks();
}

// Times are those that __itt_get_timestamp gave: ticks.
void submit_frame(const itt::Domain* handle, Id* id, uint64_t begin, uint64_t end) noexcept try {
    static CountedNote of_another_clock{
        "annotations",
        "frames of ITT were not recorded: their times are not those that __itt_get_timestamp gave"};
    const Domain& domain = domain_of(handle);
    const std::string args = id ? take_told(range_id(&domain, *id)) : std::string();
    if (!is_wanted()) return;
    if (!are_our_times(begin, end)) return of_another_clock.count();
    const uint64_t range = frame_range(domain, id) ^ next_range_id();
    begin_range_at(begin, range, {domain, name_id(domain, "frame"), args});
    end_range_at(end, range, {domain});
} catch (...) {
}

unsigned long long timestamp() noexcept {
    return recorder->ticks();
}

void mark_time(const itt::Domain* handle, Id, itt::String* name, int /*scope*/) noexcept try {
    const Domain& domain = domain_of(handle);
    if (is_wanted()) mark({domain, name_of(domain, name)});
} catch (...) {
}

// Events have no domain. One that is started and not ended is a point in time. Each that is made is another,
// for those of one name may lie in each other.
struct Events {
    std::vector<const RegisteredName*> names;
};

Events& events() {
    static Events& known = *new Events;
    return known;
}

const RegisteredName* event_of(int number) {
    Events& known = events();
    std::lock_guard lock(library_mutex);
    const bool is_known = number > 0 && size_t(number) <= known.names.size();
    return is_known ? known.names[size_t(number) - 1] : nullptr;
}

int create_event(const char* name, int length) noexcept try {
    const std::string_view text =
        name && length > 0 ? std::string_view(name, strnlen(name, size_t(length))) : text_of(name);
    const RegisteredName& event = registered_name(default_domain(), text);
    Events& known = events();
    std::lock_guard lock(library_mutex);
    known.names.push_back(&event);
    return int(known.names.size());
} catch (...) {
    return 0;
}

// Each thread starts and ends its own.
uint64_t event_range(int number) {
    return range_id(&this_thread(), {{uint64_t(number), 0, 0}});
}

int start_event(int number) noexcept try {
    const RegisteredName* event = event_of(number);
    if (event && is_wanted()) begin_range(event_range(number), {default_domain(), event->id()});
    return event ? 0 : -1;
} catch (...) {
    return -1;
}

int end_event(int number) noexcept try {
    const RegisteredName* event = event_of(number);
    if (event && wants_end()) end_range(event_range(number), {default_domain()});
    return event ? 0 : -1;
} catch (...) {
    return -1;
}

void add_metadata(const itt::Domain* domain, Id id, itt::String* key, itt::Number type, size_t count,
                  void* data) noexcept try {
    if (!data || !is_wanted()) return;
    tell(domain_of(domain), id,
         base::JsonMembers().add_json(text_of(key), itt_values(type, count, data)).take());
} catch (...) {
}

void add_text(const itt::Domain* domain, Id id, itt::String* key, const char* text, size_t length) noexcept
    try {
    if (!text || !is_wanted()) return;
    const std::string_view value =
        length == 0 ? text_of(text) : std::string_view(text, strnlen(text, length));
    tell(domain_of(domain), id, base::JsonMembers().add(text_of(key), value).take());
} catch (...) {
}

void name_this_thread(const char* name) noexcept {
    const std::string_view text = text_of(name);
    recorder->name_thread(text.data(), text.size());
}

// What a program says with these is that it wants nothing of this recorded.
void pause() noexcept {
    is_paused.store(true, std::memory_order_relaxed);
}
void resume() noexcept {
    is_paused.store(false, std::memory_order_relaxed);
}

itt::Domain* create_domain(const char* name) noexcept try { return itt_domain(name); } catch (...) {
    return nullptr;
}
itt::String* create_string(const char* text) noexcept try { return itt_string(text); } catch (...) {
    return nullptr;
}

IttCounter* create_typed_counter(const char* name, const char* domain, itt::Number type) noexcept try {
    return itt_counter(name, domain, type);
} catch (...) {
    return nullptr;
}
IttCounter* create_counter(const char* name, const char* domain) noexcept {
    return create_typed_counter(name, domain, itt::Number::u64);
}
IttCounter* create_counter_in(const itt::Domain* domain, const char* name, itt::Number type) noexcept {
    return create_typed_counter(name, domain ? domain->name : nullptr, type);
}

void set_counter_value(IttCounter* counter, void* value) noexcept {
    set_counter(counter, value);
}
void count_named(const itt::Domain* domain, const itt::String* name, int64_t more) noexcept try {
    add_to_counter(domain, name, more);
} catch (...) {
}

struct Handler {
    const char* name;
    void* function;
};

template <class Function>
Handler handler(const char* name, Function* function) {
    return {name, reinterpret_cast<void*>(function)};
}

using CounterName = const itt::String*;
using InDomain = const itt::Domain*;

const Handler handlers[] = {
    handler("__itt_domain_create", create_domain),
    handler("__itt_string_handle_create", create_string),
    handler("__itt_task_begin", begin_task),
    handler("__itt_task_begin_fn", begin_task_of_function),
    handler("__itt_task_end", end_task),
    handler("__itt_task_begin_overlapped", begin_overlapped),
    handler("__itt_task_end_overlapped", end_overlapped),
    handler("__itt_region_begin", begin_overlapped),
    handler("__itt_region_end", end_overlapped),
    handler("__itt_frame_begin_v3", begin_frame),
    handler("__itt_frame_end_v3", end_frame),
    handler("__itt_frame_submit_v3", submit_frame),
    handler("__itt_get_timestamp", timestamp),
    handler("__itt_marker", mark_time),
    handler("__itt_event_create", create_event),
    handler("__itt_event_start", start_event),
    handler("__itt_event_end", end_event),
    handler("__itt_metadata_add", add_metadata),
    handler("__itt_metadata_str_add", add_text),
    handler("__itt_thread_set_name", name_this_thread),
    handler("__itt_pause", pause),
    handler("__itt_resume", resume),
    handler("__itt_counter_create", create_counter),
    handler("__itt_counter_create_typed", create_typed_counter),
    handler("__itt_counter_create_v3", create_counter_in),
    handler("__itt_counter_set_value", set_counter_value),
    handler("__itt_counter_set_value_v3", set_counter_value),
    handler(
        "__itt_counter_inc", +[](IttCounter* counter) { add_to_counter(counter, 1); }),
    handler(
        "__itt_counter_dec", +[](IttCounter* counter) { add_to_counter(counter, -1); }),
    handler(
        "__itt_counter_inc_delta",
        +[](IttCounter* counter, unsigned long long by) { add_to_counter(counter, int64_t(by)); }),
    handler(
        "__itt_counter_dec_delta",
        +[](IttCounter* counter, unsigned long long by) { add_to_counter(counter, -int64_t(by)); }),
    handler(
        "__itt_counter_inc_v3", +[](InDomain domain, CounterName name) { count_named(domain, name, 1); }),
    handler(
        "__itt_counter_dec_v3", +[](InDomain domain, CounterName name) { count_named(domain, name, -1); }),
    handler(
        "__itt_counter_inc_delta_v3", +[](InDomain domain, CounterName name,
                                          unsigned long long by) { count_named(domain, name, int64_t(by)); }),
    handler(
        "__itt_counter_dec_delta_v3",
        +[](InDomain domain, CounterName name, unsigned long long by) {
            count_named(domain, name, -int64_t(by));
        }),
};

void* handler_of(const char* name) {
    for (const Handler& handler : handlers)
        if (std::strcmp(handler.name, name) == 0) return handler.function;
    return nullptr;
}

void bind(itt::Global& client) {
    for (itt::Api* api = client.functions; api && api->name; ++api)
        if (void* function = handler_of(api->name)) *api->function = function;
    // Made before the client knew that anybody listens.
    for (itt::Domain* domain = client.domains; domain; domain = domain->next) domain->flags = 1;
}

}  // namespace

}  // namespace kinetograph::inject

extern "C" __attribute__((visibility("default"))) void __itt_api_init(kinetograph::itt::Global* client,
                                                                      int /*groups*/) {
    using namespace kinetograph::inject;
    if (!recorder || !client) return;
    bind(*client);
    remember_client(client);
    take_part_in_run();
}

// Our handlers stay where they are, and so may be called until the very end.
extern "C" __attribute__((visibility("default"))) void __itt_api_fini(kinetograph::itt::Global*) {}
