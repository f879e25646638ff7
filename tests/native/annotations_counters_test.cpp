// Counters of NVTX: what their semantics say of them, alone, in groups and in batches.
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nvtx_events.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

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

nvtxSemanticsCounter_t scaled(uint64_t numerator, uint64_t denominator) {
    nvtxSemanticsCounter_t meaning{};
    meaning.header.structSize = sizeof meaning;
    meaning.header.semanticId = NVTX_SEMANTIC_ID_COUNTERS_V1;
    meaning.header.version = 1;
    meaning.unitScaleNumerator = numerator;
    meaning.unitScaleDenominator = denominator;
    return meaning;
}

nvtxSemanticsCounter_t differences(uint64_t numerator, uint64_t denominator) {
    nvtxSemanticsCounter_t meaning = scaled(numerator, denominator);
    meaning.flags = NVTX_COUNTER_FLAG_VALUETYPE_DELTA | NVTX_COUNTER_FLAG_INTERPOLATION_UNTIL_NEXT;
    return meaning;
}

std::vector<std::string> values_of(const trace::Trace& trace, std::string_view name) {
    std::vector<std::string> values;
    for (size_t row = 0; row < trace.size(); ++row)
        if (trace.strings[trace.name[row]] == name) values.emplace_back(trace.args_of(row));
    return values;
}

TEST(counters_mean_what_their_semantics_say) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting with meaning");
    const nvtxSemanticsCounter_t meaning = differences(1024, 2);
    nvtxCounterAttr_t attributes{};
    attributes.structSize = sizeof attributes;
    attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
    attributes.name = "freed";
    attributes.semantics = &meaning.header;
    const uint64_t freed = nvtxCounterRegister(domain, &attributes);
    attributes.name = "queue";
    attributes.semantics = nullptr;
    const uint64_t queue = nvtxCounterRegister(domain, &attributes);
    const auto session = start();
    for (int i = 0; i < 3; ++i) nvtxCounterSampleInt64(domain, freed, 1);
    nvtxCounterSampleInt64(domain, queue, 5);
    nvtxCounterSampleNoValue(domain, queue, NVTX_COUNTER_SAMPLE_UNCHANGED);
    nvtxCounterSampleNoValue(domain, queue, NVTX_COUNTER_SAMPLE_ZERO);
    const trace::Trace trace = stop(session);
    std::vector<std::string_view> values;
    for (size_t row = 0; row < trace.size(); ++row) values.push_back(trace.args_of(row));
    CHECK(values == std::vector<std::string_view>(
                        {"\"value\":512", "\"value\":1024", "\"value\":1536", "\"value\":5", "\"value\":0"}));
}

uint64_t counter_of(nvtxDomainHandle_t domain, const char* name, uint64_t type,
                    const nvtxSemanticsCounter_t* meaning = nullptr) {
    nvtxCounterAttr_t attributes{};
    attributes.structSize = sizeof attributes;
    attributes.schemaId = type;
    attributes.name = name;
    if (meaning) attributes.semantics = &meaning->header;
    return nvtxCounterRegister(domain, &attributes);
}

// Two numbers, of which the second has a meaning of its own.
uint64_t group_of(nvtxDomainHandle_t domain, const nvtxSemanticsCounter_t& meaning) {
    nvtxPayloadSchemaEntry_t entries[2] = {};
    for (nvtxPayloadSchemaEntry_t& entry : entries) entry.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32;
    entries[0].name = "level";
    entries[1].name = "more";
    entries[1].semantics = &meaning.header;
    nvtxPayloadSchemaAttr_t schema{};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
    schema.name = "group";
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    schema.entries = entries;
    schema.numEntries = 2;
    return nvtxPayloadSchemaRegister(domain, &schema);
}

TEST(each_counter_of_a_group_may_have_a_meaning_of_its_own) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting in groups");
    const nvtxSemanticsCounter_t tenfold = scaled(10, 1), more = differences(0, 0);
    const uint64_t group = counter_of(domain, "group", group_of(domain, more), &tenfold);
    const int32_t sample[] = {3, 4};
    const auto session = start();
    for (int i = 0; i < 2; ++i) nvtxCounterSample(domain, group, sample, sizeof sample);
    const trace::Trace trace = stop(session);
    CHECK(values_of(trace, "group.level") == (std::vector<std::string>{"\"value\":30", "\"value\":30"}));
    CHECK(values_of(trace, "group.more") == (std::vector<std::string>{"\"value\":40", "\"value\":80"}));
}

TEST(numbers_of_a_group_that_have_no_name_are_told_apart) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting without names");
    nvtxPayloadSchemaEntry_t entries[2] = {};
    for (nvtxPayloadSchemaEntry_t& entry : entries) entry.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32;
    nvtxPayloadSchemaAttr_t schema{};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
    schema.entries = entries;
    schema.numEntries = 2;
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    const uint64_t pair = counter_of(domain, "pair", nvtxPayloadSchemaRegister(domain, &schema));
    const int32_t sample[] = {3, 4};
    const auto session = start();
    nvtxCounterSample(domain, pair, sample, sizeof sample);
    const trace::Trace trace = stop(session);
    CHECK(values_of(trace, "pair.0") == std::vector<std::string>{"\"value\":3"});
    CHECK(values_of(trace, "pair.1") == std::vector<std::string>{"\"value\":4"});
}

// What threads count together: each value is there once, in the order of its time.
TEST(differences_of_several_threads_add_up_in_the_order_of_their_times) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting together");
    const nvtxSemanticsCounter_t one = differences(0, 0);
    const uint64_t sum = counter_of(domain, "sum", NVTX_PAYLOAD_ENTRY_TYPE_INT64, &one);
    const auto session = start();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int n = 0; n < 5'000; ++n) nvtxCounterSampleInt64(domain, sum, 1);
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(values_by_time(stop(session)) == numbers_up_to(20'000));
}

// Of a struct: a pointer, two numbers, the time of the sample, and a number.
TEST(what_is_no_number_in_a_group_is_none) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting mixed groups");
    struct Sample {
        const double* elsewhere;
        int32_t two[2];
        uint64_t time;
        int32_t level;
    };
    nvtxPayloadSchemaEntry_t entries[4] = {};
    entries[0].flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER;
    entries[0].type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
    entries[1].flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
    entries[1].type = NVTX_PAYLOAD_ENTRY_TYPE_INT32;
    entries[1].arrayOrUnionDetail = 2;
    entries[2].flags = NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP;
    entries[2].type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64;
    entries[3].type = NVTX_PAYLOAD_ENTRY_TYPE_INT32;
    entries[3].name = "level";
    nvtxPayloadSchemaAttr_t schema{};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
    schema.entries = entries;
    schema.numEntries = 4;
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    const uint64_t group = counter_of(domain, "mixed", nvtxPayloadSchemaRegister(domain, &schema));
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_UNION;
    const uint64_t one_of = counter_of(domain, "one of", nvtxPayloadSchemaRegister(domain, &schema));
    const double number = 1;
    const Sample sample{&number, {11, 22}, 123456789, 5};
    wait_for_other_losses();
    const auto session = start();
    nvtxCounterSample(domain, group, &sample, sizeof sample);
    nvtxCounterSampleNoValue(domain, group, NVTX_COUNTER_SAMPLE_ZERO);
    nvtxCounterSample(domain, one_of, &sample, sizeof sample);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 2);
    CHECK(values_of(trace, "mixed.level") == (std::vector<std::string>{"\"value\":5", "\"value\":0"}));
    CHECK(notes_that_begin(trace, "5 values of NVTX counters were not recorded") == 1);
}

TEST(a_difference_that_is_no_number_is_left_out_of_the_sum) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting what is not");
    const nvtxSemanticsCounter_t meaning = differences(1, 1);
    const uint64_t sum = counter_of(domain, "sum", NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, &meaning);
    wait_for_other_losses();
    const auto session = start();
    for (const double value : {1.0, 2.0, double(NAN), double(INFINITY), 1.0})
        nvtxCounterSampleFloat64(domain, sum, value);
    const trace::Trace trace = stop(session);
    CHECK(values_of(trace, "sum") == (std::vector<std::string>{"\"value\":1", "\"value\":3", "\"value\":4"}));
    CHECK(notes_that_begin(trace, "2 values of NVTX counters were not recorded") == 1);
}

TEST(differences_are_summed_up_while_nobody_records) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting unseen");
    const nvtxSemanticsCounter_t meaning = differences(1, 1);
    const uint64_t alone = counter_of(domain, "alone", NVTX_PAYLOAD_ENTRY_TYPE_INT64, &meaning),
                   group = counter_of(domain, "group", group_of(domain, meaning));
    const int32_t sample[] = {3, 4};
    const auto count = [&] {
        nvtxCounterSampleInt64(domain, alone, 5);
        nvtxCounterSample(domain, group, sample, sizeof sample);
    };
    count();
    const auto session = start();
    count();
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 3);
    CHECK(args(trace, "alone") == "\"value\":10" && args(trace, "group.more") == "\"value\":8");
    CHECK(args(trace, "group.level") == "\"value\":3");
}

TEST(counters_of_narrow_numbers_are_read_and_those_of_none_are_told_of) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting narrowly");
    const uint64_t half = counter_of(domain, "half", NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16),
                   brain = counter_of(domain, "brain", NVTX_PAYLOAD_ENTRY_TYPE_BF16),
                   text = counter_of(domain, "text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING);
    const uint16_t minus_one_and_a_half_as_half = 0xbe00, three_as_brain = 0x4040;
    const auto session = start();
    nvtxCounterSample(domain, half, &minus_one_and_a_half_as_half, 2);
    nvtxCounterSample(domain, brain, &three_as_brain, 2);
    nvtxCounterSample(domain, text, "no number", 8);
    nvtxCounterSample(domain, half, &three_as_brain, 1);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 2);
    CHECK(args(trace, "half") == "\"value\":-1.5" && args(trace, "brain") == "\"value\":3");
    CHECK(notes_that_begin(trace, "2 values of NVTX counters were not recorded") == 1);
}

TEST(many_values_that_cannot_be_read_are_counted_without_a_record_each) {
    constexpr int many = 100'000;
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting in vain");
    const uint64_t text = counter_of(domain, "text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING);
    const auto session = start();
    nvtxCounterSample(domain, text, "no number", 8);
    const size_t before = record::Recorder::instance().memory_bytes();
    for (int i = 1; i < many; ++i) nvtxCounterSample(domain, text, "no number", 8);
    CHECK(record::Recorder::instance().memory_bytes() - before < size_t(many) * 64);
    const uint64_t told = count_in_note(stop(session), "values of NVTX counters were not recorded");
    CHECK(told <= many && told > many - many / 10);
    wait_for_other_losses();
    const auto next = start();
    nvtxCounterSample(domain, text, "no number", 8);
    nvtxCounterSampleInt64(domain, 12345, 1);
    CHECK(count_in_note(stop(next), "values of NVTX counters were not recorded") >= 2);
}

void submit(nvtxDomainHandle_t domain, uint64_t counter, const std::vector<int64_t>& times) {
    const std::vector<int64_t> values(times.size(), 7);
    nvtxCounterBatch_t batch{};
    batch.counterId = counter;
    batch.counters = values.data();
    batch.countersSize = values.size() * sizeof(int64_t);
    batch.timestamps = times.data();
    batch.timestampsSize = times.size() * sizeof(int64_t);
    nvtxCounterBatchSubmit(domain, &batch);
}

TEST(values_with_times_of_another_clock_are_told_of) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting elsewhere");
    const uint64_t queue = counter_of(domain, "queue", NVTX_PAYLOAD_ENTRY_TYPE_INT64);
    const auto session = start();
    const int64_t now = nvtxTimestampGet(), much_later = now + 86'400 * int64_t(1'000'000'000);
    submit(domain, queue, {1, now, much_later, INT64_MAX});
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1);
    CHECK(notes_that_begin(trace, "3 values of NVTX counters were not recorded: nvtxTimestampGet did not") ==
          1);
}

TEST(times_of_a_source_that_is_not_known_are_not_ours) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting on a switch");
    nvtxSemanticsTime_t unknown{};
    unknown.header.structSize = sizeof unknown;
    unknown.header.semanticId = NVTX_SEMANTIC_ID_TIME_V1;
    unknown.timeDomainId = NVTX_TIMESTAMP_TYPE_NONE;
    nvtxCounterAttr_t attributes{};
    attributes.structSize = sizeof attributes;
    attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
    attributes.name = "packets";
    attributes.semantics = &unknown.header;
    const uint64_t packets = nvtxCounterRegister(domain, &attributes);
    const auto session = start();
    submit(domain, packets, {nvtxTimestampGet()});
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 0);
    CHECK(notes_that_begin(trace, "1 values or events that NVTX gave with times of their own") == 1);
}

TEST(values_from_before_a_session_are_none_of_it_and_no_loss) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting early");
    const uint64_t queue = counter_of(domain, "queue", NVTX_PAYLOAD_ENTRY_TYPE_INT64);
    const int64_t before = nvtxTimestampGet();
    submit(domain, queue, {1, before});
    const auto session = start();
    submit(domain, queue, {before, nvtxTimestampGet()});
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1);
    CHECK(std::none_of(trace.notes.begin(), trace.notes.end(),
                       [](const trace::Note& note) { return note.kind == "annotations"; }));
}

TEST(a_batch_of_what_is_no_number_is_told_of) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("counting nothing");
    const auto session = start();
    submit(domain, counter_of(domain, "nothing", NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR), {1, 2, 3});
    CHECK(notes_that_begin(stop(session), "3 values or events that NVTX gave with times of their own") == 1);
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 2);
    setenv("NVTX_INJECTION64_PATH", argv[1], 1);
    return test::run_all();
}
