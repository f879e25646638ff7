// NVIDIA's own NVTX calls our injection: what is pushed, started, marked, described by schemas, from many
// threads.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "annotation_session.h"
#include "check.h"
#include "found.h"

using namespace kinetograph;
using test::start;
using test::stop;

namespace {

size_t row_of(const trace::Trace& trace, std::string_view name) {
    for (size_t row = 0; row < trace.size(); ++row)
        if (trace.strings[trace.name[row]] == name) return row;
    CHECK(!"an event of that name");
    return 0;
}

std::string category(const trace::Trace& trace, std::string_view name) {
    return trace.categories[trace.category[row_of(trace, name)]];
}

std::string args(const trace::Trace& trace, std::string_view name) {
    return std::string(trace.args_of(row_of(trace, name)));
}

nvtxEventAttributes_t event_called(const char* name) {
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    return event;
}

TEST(every_way_without_a_domain) {
    const auto session = start();
    CHECK(nvtxRangePushA("narrow") == 0);
    CHECK(nvtxRangePushW(L"w\u00efde \U0001f600") == 1);
    CHECK(nvtxRangePop() == 1);
    CHECK(nvtxRangePop() == 0);
    CHECK(nvtxRangePop() < 0);
    nvtxMarkA("mark");
    nvtxMarkW(L"wide mark");
    const nvtxRangeId_t a = nvtxRangeStartA("started"), w = nvtxRangeStartW(L"wide started");
    CHECK(a != 0 && w != 0 && a != w);
    nvtxRangeEnd(a);
    nvtxRangeEnd(w);
    nvtxRangeEnd(12345);
    nvtxRangePushA(nullptr);
    nvtxRangePop();
    nvtxRangePushEx(nullptr);
    nvtxRangePop();
    const trace::Trace trace = stop(session);
    for (const char* name : {"narrow",
                             "w\xc3\xaf"
                             "de \xf0\x9f\x98\x80",
                             "mark", "wide mark", "started", "wide started"})
        CHECK(category(trace, name) == "user_annotation");
    CHECK(trace.size() == 8);
    CHECK(trace.flags[row_of(trace, "started")] == trace::event_async);
}

TEST(domains_categories_colours_and_payloads) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("a domain");
    CHECK(nvtxDomainCreateW(L"a domain") == domain);
    nvtxDomainNameCategoryA(domain, 3, "third");
    const auto session = start();
    nvtxEventAttributes_t event = event_called("unsigned");
    event.category = 3;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff76b900;
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = UINT64_MAX;
    CHECK(nvtxDomainRangePushEx(domain, &event) == 0);
    event = event_called("float");
    event.category = 4;
    event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    event.payload.fValue = 0.5f;
    CHECK(nvtxDomainRangePushEx(domain, &event) == 1);
    // The stack of another domain is another one.
    CHECK(nvtxRangePushA("elsewhere") == 0);
    CHECK(nvtxDomainRangePop(domain) == 1);
    CHECK(nvtxDomainRangePop(domain) == 0);
    CHECK(nvtxRangePop() == 0);
    event = event_called("");
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    CHECK(nvtxDomainRegisterStringW(domain, L"registered") == event.message.registered);
    nvtxDomainMarkEx(domain, &event);
    nvtxDomainDestroy(domain);
    const trace::Trace trace = stop(session);
    CHECK(category(trace, "unsigned") == "a domain");
    CHECK(args(trace, "unsigned") ==
          R"("category":"third","color":"#76b900","payload":18446744073709551615)");
    CHECK(args(trace, "float") == R"("category":4,"payload":0.5)");
    CHECK(category(trace, "registered") == "a domain");
}

TEST(a_domain_called_like_a_category_is_told_from_it) {
    const auto session = start();
    const nvtxEventAttributes_t event = event_called("no kernel");
    nvtxDomainMarkEx(nvtxDomainCreateA("kernel"), &event);
    CHECK(category(stop(session), "no kernel") == "domain kernel");
}

struct Inner {
    int16_t level;
    double ratio;
};
struct Outer {
    int32_t number;
    const char* text;
    Inner inner;
    uint8_t bytes[3];
    uint8_t mode;
    char name[4];
    uint32_t length;
    uint16_t half;
};

uint64_t registered(nvtxDomainHandle_t domain, std::vector<nvtxPayloadSchemaEntry_t> entries, size_t size,
                    const char* name, uint64_t kind = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC) {
    nvtxPayloadSchemaAttr_t schema{};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    schema.name = name;
    schema.type = kind;
    schema.entries = entries.data();
    schema.numEntries = entries.size();
    schema.payloadStaticSize = size;
    return nvtxPayloadSchemaRegister(domain, &schema);
}

nvtxPayloadSchemaEntry_t entry(const char* name, uint64_t type, uint64_t flags = 0, uint64_t detail = 0,
                               uint64_t offset = 0) {
    nvtxPayloadSchemaEntry_t made{};
    made.name = name;
    made.type = type;
    made.flags = flags;
    made.arrayOrUnionDetail = detail;
    made.offset = offset;
    return made;
}

uint64_t mode_enum(nvtxDomainHandle_t domain) {
    const nvtxPayloadEnum_t values[] = {{"slow", 1, 0}, {"fast", 2, 0}};
    nvtxPayloadEnumAttr_t attributes{};
    attributes.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                           NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
    attributes.entries = values;
    attributes.numEntries = 2;
    attributes.sizeOfEnum = 1;
    return nvtxPayloadEnumRegister(domain, &attributes);
}

uint64_t outer_schema(nvtxDomainHandle_t domain) {
    const uint64_t inner = registered(
        domain,
        {entry("level", NVTX_PAYLOAD_ENTRY_TYPE_INT16), entry("ratio", NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE)},
        sizeof(Inner), "Inner");
    return registered(
        domain,
        {entry("number", NVTX_PAYLOAD_ENTRY_TYPE_INT32), entry("text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING),
         entry("inner", inner, 0, 0, offsetof(Outer, inner)),
         entry("bytes", NVTX_PAYLOAD_ENTRY_TYPE_UINT8, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 3,
               offsetof(Outer, bytes)),
         entry("mode", mode_enum(domain), 0, 0, offsetof(Outer, mode)),
         entry("name", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 0, 4, offsetof(Outer, name)),
         entry("length", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, 0, 0, offsetof(Outer, length)),
         entry("half", NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16, 0, 0, offsetof(Outer, half))},
        sizeof(Outer), "Outer");
}

void mark_with(nvtxDomainHandle_t domain, const char* name, const nvtxPayloadData_t* payloads, int count) {
    nvtxEventAttributes_t event = event_called(name);
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = count;
    event.payload.ullValue = reinterpret_cast<uintptr_t>(payloads);
    nvtxDomainMarkEx(domain, &event);
}

TEST(payloads_are_read_by_their_schemas) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("payloads");
    const uint64_t schema = outer_schema(domain);
    CHECK(schema >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
    const Outer outer{-5, "a \"text\"", {7, 0.25}, {1, 2, 3}, 2, {'f', 'o', 'u', 'r'}, 9, 0x3c00};
    const nvtxPayloadData_t payload{schema, sizeof outer, &outer};
    const auto session = start();
    mark_with(domain, "whole", &payload, 1);
    const nvtxPayloadData_t cut{schema, offsetof(Outer, inner), &outer};
    mark_with(domain, "cut", &cut, 1);
    const nvtxPayloadData_t unknown{schema + 1000, 4, &outer};
    const nvtxPayloadData_t two[] = {payload, unknown};
    mark_with(domain, "two", two, 2);
    const nvtxPayloadData_t nowhere{schema, sizeof outer, nullptr};
    mark_with(domain, "nowhere", &nowhere, 1);
    mark_with(domain, "none", nullptr, 3);
    const trace::Trace trace = stop(session);
    const std::string json =
        R"({"number":-5,"text":"a \"text\"","inner":{"level":7,"ratio":0.25},"bytes":[1,2,3],"mode":"fast",)"
        R"("name":"four","length":9,"half":1})";
    CHECK(args(trace, "whole") == "\"payload\":" + json);
    CHECK(args(trace, "cut") ==
          R"("payload":{"number":-5,"text":"a \"text\"","inner":{"level":null,"ratio":null},)"
          R"("bytes":null,"mode":null,"name":null,"length":null,"half":null})");
    CHECK(args(trace, "two") == "\"payload\":[" + json + ",null]");
    CHECK(args(trace, "nowhere") == "\"payload\":null");
    CHECK(args(trace, "none") == "\"payload\":[]");
}

TEST(lengths_and_unions_are_those_that_the_data_says) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("dynamic");
    struct Data {
        uint32_t length;
        uint32_t which;
        float choice;
        uint16_t values[4];
    };
    const uint64_t choices = registered(
        domain,
        {entry("as float", NVTX_PAYLOAD_ENTRY_TYPE_FLOAT), entry("as int", NVTX_PAYLOAD_ENTRY_TYPE_INT32)},
        sizeof(float), "Choices", NVTX_PAYLOAD_SCHEMA_TYPE_UNION);
    const uint64_t schema = registered(
        domain,
        {entry("length", NVTX_PAYLOAD_ENTRY_TYPE_UINT32), entry("which", NVTX_PAYLOAD_ENTRY_TYPE_UINT32),
         entry("choice", choices, 0, 1, offsetof(Data, choice)),
         entry("values", NVTX_PAYLOAD_ENTRY_TYPE_UINT16, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX, 0,
               offsetof(Data, values))},
        sizeof(Data), "Data");
    const auto session = start();
    Data data{3, 0, 1.5f, {1, 2, 3, 4}};
    nvtxPayloadData_t payload{schema, sizeof data, &data};
    mark_with(domain, "three", &payload, 1);
    data.length = 5;
    data.which = 9;
    mark_with(domain, "more than there are", &payload, 1);
    const trace::Trace trace = stop(session);
    CHECK(args(trace, "three") == R"("payload":{"length":3,"which":0,"choice":1.5,"values":[1,2,3]})");
    CHECK(args(trace, "more than there are") ==
          R"("payload":{"length":5,"which":9,"choice":null,"values":null})");
}

TEST(a_schema_within_itself_ends) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("endless");
    nvtxPayloadSchemaEntry_t entries[] = {entry("again", 1 << 24),
                                          entry("number", NVTX_PAYLOAD_ENTRY_TYPE_INT)};
    nvtxPayloadSchemaAttr_t schema{};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    schema.entries = entries;
    schema.numEntries = 2;
    schema.schemaId = 1 << 24;
    CHECK(nvtxPayloadSchemaRegister(domain, &schema) == 1 << 24);
    const auto session = start();
    const int64_t data = 5;
    const nvtxPayloadData_t payload{1 << 24, sizeof data, &data};
    mark_with(domain, "endless", &payload, 1);
    CHECK(args(stop(session), "endless").find("null") != std::string::npos);
}

size_t notes_that_begin(const trace::Trace& trace, std::string_view text) {
    return size_t(std::count_if(trace.notes.begin(), trace.notes.end(),
                                [&](const trace::Note& note) { return note.text.starts_with(text); }));
}

TEST(an_array_that_is_cut_is_told_of) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("long");
    const uint64_t schema = registered(
        domain, {entry("all", NVTX_PAYLOAD_ENTRY_TYPE_UINT8, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 1025)},
        1025, "Long");
    const std::vector<uint8_t> data(1025, 7);
    const nvtxPayloadData_t payload{schema, data.size(), data.data()};
    const auto session = start();
    mark_with(domain, "long", &payload, 1);
    CHECK(notes_that_begin(stop(session), "1 arrays in payloads of NVTX") == 1);
}

TEST(domains_that_there_is_no_room_for_are_told_of_once) {
    const auto session = start();
    for (int i = 0; i < 300; ++i) {
        const nvtxDomainHandle_t domain = nvtxDomainCreateA(("crowd " + std::to_string(i)).c_str());
        const nvtxEventAttributes_t event = event_called("in a crowd");
        nvtxDomainMarkEx(domain, &event);
    }
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 300);
    CHECK(notes_that_begin(trace, "there are more domains") == 1);
}

TEST(arrays_within_arrays_whose_sizes_lie_end) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("liars");
    uint64_t type = NVTX_PAYLOAD_ENTRY_TYPE_UINT8;
    for (const char* name : {"innermost", "within", "between", "around"})
        type =
            registered(domain, {entry("all", type, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 1000)}, 1, name);
    const std::vector<uint8_t> data(1000, 7);
    const nvtxPayloadData_t payload{type, data.size(), data.data()};
    const auto session = start();
    mark_with(domain, "of a liar", &payload, 1);
    CHECK(row_of(stop(session), "of a liar") == 0);
}

TEST(a_message_in_a_payload_is_the_name_as_it_was_written) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("quoting");
    const uint64_t schema = registered(
        domain, {entry("message", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE)},
        sizeof(char*), "Quoting");
    const char* message = R"(a "quoted" \ name)";
    const nvtxPayloadData_t payload{schema, sizeof message, &message};
    const auto session = start();
    nvtxMarkPayload(domain, &payload, 1);
    CHECK(category(stop(session), message) == "quoting");
}

TEST(ranges_that_are_told_by_payloads) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("told");
    CHECK(nvtxDomainIsEnabled(domain) != 0);
    struct Told {
        const char* message;
        int32_t value;
    };
    const uint64_t schema =
        registered(domain,
                   {entry("message", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE),
                    entry("value", NVTX_PAYLOAD_ENTRY_TYPE_INT32)},
                   sizeof(Told), "Told");
    const auto session = start();
    const Told first{"pushed by payload", 1}, second{nullptr, 2}, third{"renamed", 3};
    const nvtxPayloadData_t one{schema, sizeof first, &first}, two{schema, sizeof second, &second},
        three{schema, sizeof third, &third};
    CHECK(nvtxRangePushPayload(domain, &one, 1) == 0);
    CHECK(nvtxRangePopPayload(domain, &two, 1) == 0);
    const nvtxRangeId_t id = nvtxRangeStartPayload(domain, &one, 1);
    nvtxRangeEndPayload(domain, id, &three, 1);
    nvtxMarkPayload(domain, &one, 1);
    const trace::Trace trace = stop(session);
    CHECK(args(trace, "pushed by payload") ==
          R"("payload":{"message":"pushed by payload","value":1},"end payload":{"message":null,"value":2})");
    CHECK(args(trace, "renamed").ends_with(R"("end payload":{"message":"renamed","value":3})"));
    CHECK(trace.size() == 3);
}

TEST(counters) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting");
    nvtxCounterAttr_t attributes{};
    attributes.structSize = sizeof attributes;
    attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
    attributes.name = "steps";
    const uint64_t steps = nvtxCounterRegister(domain, &attributes);
    const auto session = start();
    nvtxCounterSampleInt64(domain, steps, 5);
    const int64_t six = 6;
    nvtxCounterSample(domain, steps, &six, sizeof six);
    nvtxCounterSample(domain, steps, &six, 2);
    nvtxCounterSampleFloat64(domain, steps + 77, 1.0);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 2);
    CHECK(trace.args_of(0) == "\"value\":5" && trace.args_of(1) == "\"value\":6");
    CHECK(category(trace, "steps") == "counting");
}

TEST(a_thread_has_the_name_that_it_was_given) {
    const auto session = start();
    std::thread([] {
        nvtxNameOsThreadA(uint32_t(syscall(SYS_gettid)), "named by NVTX");
        nvtxMarkA("there");
    }).join();
    const trace::Trace trace = stop(session);
    CHECK(trace.tracks[trace.track[row_of(trace, "there")]].name.ends_with("(named by NVTX)"));
}

TEST(a_thread_has_the_name_that_another_gave_it) {
    const auto session = start();
    std::atomic<int32_t> tid{0};
    std::atomic<bool> is_named{false}, is_named_again{false}, is_seen{false};
    std::thread worker([&] {
        tid = int32_t(syscall(SYS_gettid));
        is_named.wait(false);
        nvtxMarkA("first");
        is_seen = true;
        is_seen.notify_all();
        is_named_again.wait(false);
        nvtxMarkA("second");
    });
    while (tid == 0) std::this_thread::yield();
    nvtxNameOsThreadA(uint32_t(tid), "before its first event");
    is_named = true;
    is_named.notify_all();
    is_seen.wait(false);
    const trace::Trace before = stop(session);
    CHECK(before.tracks[before.track[row_of(before, "first")]].name.ends_with("(before its first event)"));
    const auto next = start();
    nvtxNameOsThreadW(uint32_t(tid), L"while it runs");
    is_named_again = true;
    is_named_again.notify_all();
    worker.join();
    const trace::Trace trace = stop(next);
    CHECK(trace.tracks[trace.track[row_of(trace, "second")]].name.ends_with("(while it runs)"));
}

// For ThreadSanitizer before all: names that come and go with the sessions that need them.
TEST(many_threads_while_sessions_come_and_go) {
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number)
        threads.emplace_back([&, number] {
            const nvtxDomainHandle_t domain =
                nvtxDomainCreateA(("domain " + std::to_string(number % 2)).c_str());
            for (int i = 0; !is_over; ++i) {
                const std::string name = "made up " + std::to_string(i % 50);
                nvtxEventAttributes_t event = event_called(name.c_str());
                nvtxDomainRangePushEx(domain, &event);
                const nvtxRangeId_t id = nvtxDomainRangeStartEx(domain, &event);
                nvtxMarkA(name.c_str());
                nvtxDomainRangeEnd(domain, id);
                nvtxDomainRangePop(domain);
            }
        });
    size_t seen = 0;
    for (int i = 0; i < 40 || seen == 0; ++i) {
        const auto session = start();
        std::this_thread::yield();
        seen += stop(session).size();
    }
    is_over = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(seen > 0);
}

TEST(ranges_of_an_earlier_session_are_not_in_the_next_wherever_they_ended) {
    const auto first = start();
    const nvtxRangeId_t ended_elsewhere = nvtxRangeStartA("ended by a thread that is gone");
    std::thread([&] { nvtxRangeEnd(ended_elsewhere); }).join();
    const nvtxRangeId_t ended_later = nvtxRangeStartA("ended when nobody recorded");
    CHECK(stop(first).size() == 2);
    nvtxRangeEnd(ended_later);
    const auto next = start();
    std::thread([] { nvtxRangeEnd(nvtxRangeStartA("the first of its thread")); }).join();
    CHECK(stop(next).size() == 1);
}

TEST(a_range_that_began_before_the_window_of_a_ring_is_cut_to_it) {
    using namespace std::chrono;
    record::SessionOptions options;
    options.all_threads = true;
    options.ring_ns = 1'000'000;
    const auto session = record::Recorder::instance().start(options);
    const nvtxRangeId_t range = nvtxRangeStartA("longer than the ring");
    const auto begun = steady_clock::now();
    while (steady_clock::now() - begun < milliseconds(3)) std::this_thread::yield();
    nvtxRangeEnd(range);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1 && trace.duration_ns[0] <= options.ring_ns);
}

TEST(ranges_that_are_never_popped_are_counted_and_do_not_grow_for_ever) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("never popped");
    const nvtxEventAttributes_t event = event_called("pushed");
    constexpr int many = 70'000;
    for (int i = 0; i < many; ++i) CHECK(nvtxDomainRangePushEx(domain, &event) == i);
    CHECK(nvtxRangePushA("of another domain") == 0);
    CHECK(nvtxRangePop() == 0);
    for (int i = many; i-- > 0;) CHECK(nvtxDomainRangePop(domain) == i);
    CHECK(nvtxDomainRangePop(domain) < 0);
}

// Names that are new each time, so that the locks are taken.
void annotate_anew(const std::string& name) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA(name.c_str());
    nvtxDomainNameCategoryA(domain, 1, name.c_str());
    nvtxEventAttributes_t event = event_called("");
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, name.c_str());
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
}

TEST(a_child_that_is_forked_while_others_annotate_goes_on) {
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        for (int i = 0; !is_over; ++i) annotate_anew("in the parent " + std::to_string(i % 5'000));
    });
    for (int i = 0; i < 50; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            annotate_anew("in the child");
            _exit(0);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    is_over = true;
    other.join();
}

struct FakeTorch {
    void* library = dlopen(FAKE_TORCH, RTLD_NOW | RTLD_LOCAL);
    int (*push)(const char*) = reinterpret_cast<int (*)(const char*)>(dlsym(library, "push_operator"));
    int (*pop)() = reinterpret_cast<int (*)()>(dlsym(library, "pop_operator"));
};

TEST(operators_of_torch_are_named_without_their_numbers) {
    const FakeTorch torch;
    const struct {
        const char *told, *name;
    } operators[] = {
        {"aten::mm, seq = 3, op_id = 7", "aten::mm"},
        {"aten::t, op_id = 8", "aten::t"},
        {"aten::add, seq = 4, op_id = 9, sizes = [[2, 3], []], input_op_ids = [(7,0)]", "aten::add"},
        {"aten::sub, op_id = 9, input_op_ids = []", "aten::sub"},
        {"epoch, seq = 3 of 4, op_id = 10", "epoch, seq = 3 of 4"},
        {"a, op_id = 1, op_id = 11", "a, op_id = 1"},
        {"plain", "plain"},
        {"b, op_id = ", "b, op_id = "},
        {"c, op_id = 3rd", "c, op_id = 3rd"},
        {"d, seq = , op_id = 12", "d, seq = "},
        {", op_id = 13", ""},
    };
    const auto session = start();
    for (const auto& one : operators) torch.push(one.told);
    for (size_t left = std::size(operators); left != 0; --left) CHECK(torch.pop() == int(left) - 1);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == std::size(operators));
    for (const auto& one : operators) CHECK(category(trace, one.name) == "cpu_op");
}

TEST(operators_of_torch_have_the_sizes_of_their_inputs_where_torch_tells_them) {
    const FakeTorch torch;
    const struct {
        const char *told, *name, *args;
    } operators[] = {
        {"aten::add, seq = 4, op_id = 9, sizes = [[2, 3], [], [12]], input_op_ids = [(7,0)]", "aten::add",
         R"("Input Dims":[[2,3],[],[12]])"},
        {"aten::ones, op_id = 1, sizes = []", "aten::ones", R"("Input Dims":[])"},
        {"aten::mm, op_id = 7", "aten::mm", ""},
        // Nothing becomes JSON that might break it.
        {"open, op_id = 7, sizes = [[2, 3]", "open", ""},
        {"quoted, op_id = 7, sizes = [\"]", "quoted", ""},
        {"deep, op_id = 7, sizes = [[[2]]]", "deep", ""},
        {"comma, op_id = 7, sizes = [[2], ]", "comma", ""},
    };
    const auto session = start();
    for (const auto& one : operators) {
        torch.push(one.told);
        CHECK(torch.pop() == 0);
    }
    const trace::Trace trace = stop(session);
    for (const auto& one : operators) CHECK(args(trace, one.name) == one.args);
}

TEST(operators_that_the_observer_tells_of_do_not_come_twice) {
    const FakeTorch torch;
    void* library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_NOW);
    const auto leave =
        reinterpret_cast<void (*)(int)>(dlsym(library, "kinetograph_leave_operators_to_observer"));
    const auto session = start();
    torch.push("before, op_id = 1");
    leave(1);
    CHECK(torch.push("meanwhile, op_id = 2") == 1);
    nvtxRangePushA("of the program");
    nvtxRangePop();
    CHECK(torch.pop() == 1);
    leave(0);
    CHECK(torch.pop() == 0);
    torch.push("after, op_id = 3");
    torch.pop();
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 3);
    for (const char* name : {"before", "after"}) CHECK(category(trace, name) == "cpu_op");
    CHECK(category(trace, "of the program") == "user_annotation");
}

TEST(ranges_of_others_that_look_like_operators_keep_their_names) {
    const FakeTorch torch;
    const auto session = start();
    torch.push("aten::mm, op_id = 7");
    CHECK(nvtxRangePushA("aten::mm, op_id = 7") == 0);
    CHECK(torch.pop() == 0);
    CHECK(nvtxRangePop() == 0);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 2);
    CHECK(category(trace, "aten::mm") == "cpu_op");
    CHECK(category(trace, "aten::mm, op_id = 7") == "user_annotation");
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 2);
    setenv("NVTX_INJECTION64_PATH", argv[1], 1);
    return test::run_all();
}
