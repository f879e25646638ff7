#include "emit/itt.h"

#include <atomic>

#include "emit/itt_client.h"

namespace kinetograph::emit::ittapi {

namespace {

constexpr itt::Id no_id{};
constexpr int this_thread = 3;  // what a marker belongs to

// As in every client: a domain that the collector has switched off is not even told.
bool wants(const itt::Domain* domain) {
    return domain && domain->flags;
}

itt::Id id_of(uint64_t task) {
    return {{task, 0, 0}};
}

itt::String* payload_key() {
    static itt::String* key = make_string("payload");
    return key;
}

void add_payload(itt::Domain* domain, itt::Id task, const Payload& payload) {
    const Functions& tool = *collector();
    if (payload.kind == Payload::Kind::none || !tool.metadata_add) return;
    constexpr itt::Number types[] = {itt::Number::unknown, itt::Number::s64, itt::Number::u64,
                                     itt::Number::f64};
    Payload value = payload;
    tool.metadata_add(domain, task, payload_key(), types[int(payload.kind)], 1, &value.signed_integer);
}

}  // namespace

bool is_listening() noexcept {
    return collector() != nullptr;
}

const void* tool_function() noexcept {
    const Functions* tool = collector();
    return tool ? reinterpret_cast<const void*>(tool->task_begin) : nullptr;
}

itt::Domain* make_domain(const char* name) noexcept {
    const Functions* tool = collector();
    return tool ? tool->domain_create(name) : nullptr;
}

itt::String* make_string(const char* text) noexcept {
    const Functions* tool = collector();
    return tool ? tool->string_handle_create(text) : nullptr;
}

void name_thread(const char* name) noexcept {
    const Functions* tool = collector();
    if (tool && tool->thread_set_name) tool->thread_set_name(name);
}

void begin(itt::Domain* domain, itt::String* name, const Payload& payload) noexcept {
    if (!wants(domain) || !collector()->task_begin) return;
    collector()->task_begin(domain, no_id, no_id, name);
    add_payload(domain, no_id, payload);  // without an id: of the innermost task
}

void end(itt::Domain* domain) noexcept {
    if (wants(domain) && collector()->task_end) collector()->task_end(domain);
}

uint64_t begin_overlapped(itt::Domain* domain, itt::String* name, const Payload& payload) noexcept {
    static std::atomic<uint64_t> last_task{0};
    if (!wants(domain) || !collector()->task_begin_overlapped) return 0;
    const uint64_t task = last_task.fetch_add(1, std::memory_order_relaxed) + 1;
    collector()->task_begin_overlapped(domain, id_of(task), no_id, name);
    add_payload(domain, id_of(task), payload);
    return task;
}

void end_overlapped(itt::Domain* domain, uint64_t task) noexcept {
    if (task != 0 && wants(domain) && collector()->task_end_overlapped)
        collector()->task_end_overlapped(domain, id_of(task));
}

void mark(itt::Domain* domain, itt::String* name) noexcept {
    if (wants(domain) && collector()->marker) collector()->marker(domain, no_id, name, this_thread);
}

itt::Counter* make_counter(const char* domain, const char* name) noexcept {
    const Functions* tool = collector();
    return tool && tool->counter_create_typed ? tool->counter_create_typed(name, domain, itt::Number::f64)
                                              : nullptr;
}

void set_counter(itt::Counter* counter, double value) noexcept {
    const Functions* tool = collector();
    if (!tool || !counter) return;
    if (auto* set = tool->counter_set_value ? tool->counter_set_value : tool->counter_set_value_v3)
        set(counter, &value);
}

void pause() noexcept {
    const Functions* tool = collector();
    if (tool && tool->pause) tool->pause();
}

void resume() noexcept {
    const Functions* tool = collector();
    if (tool && tool->resume) tool->resume();
}

void detach() noexcept {
    const Functions* tool = collector();
    if (tool && tool->detach) tool->detach();
}

}  // namespace kinetograph::emit::ittapi
