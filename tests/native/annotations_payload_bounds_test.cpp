// NVIDIA's own NVTX hands our injection payloads that are too long, that lie, or that have no end.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "nvtx_payloads.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

TEST(long_arrays_are_cut_and_told_of) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("long");
    const std::vector<uint8_t> numbers(1'025, 7);
    const uint64_t schema = registered(domain,
                                       {entry("numbers", NVTX_PAYLOAD_ENTRY_TYPE_UINT8,
                                              NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, numbers.size())},
                                       numbers.size(), "Long");
    const nvtxPayloadData_t payload{schema, numbers.size(), numbers.data()};
    const auto session = start();
    mark_with(domain, "long", &payload, 1);
    const trace::Trace trace = stop(session);
    CHECK(args(trace, "long").starts_with(R"("payload":{"numbers":[7,7,)"));
    CHECK(notes_that_begin(trace, "1 arrays in payloads of NVTX are here with their first 1,024") == 1);
}

TEST(what_is_cut_or_cannot_be_read_is_told_of) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("losses");
    wait_for_other_losses();
    const std::string text(5'000, 'x');
    CHECK(told_by(domain, {{NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, text.size() + 1, text.c_str()}},
                  "1 texts in payloads of NVTX are here with their first 4,096") ==
          '"' + text.substr(0, 4096) + '"');
    CHECK(told_by(domain, {{NVTX_TYPE_PAYLOAD_SCHEMA_RAW, text.size(), text.data()}},
                  "1 arrays in payloads of NVTX are here")
              .size() == 2 + 2 + 2 * 1024);
    const int32_t number = 7;
    const nvtxPayloadData_t one{NVTX_PAYLOAD_ENTRY_TYPE_INT32, sizeof number, &number};
    told_by(domain, std::vector<nvtxPayloadData_t>(1'030, one), "6 payloads of NVTX were left out");
    const nvtxPayloadData_t shorter{NVTX_PAYLOAD_ENTRY_TYPE_INT32, 2, &number}, unknown{1 << 25, 4, &number};
    CHECK(told_by(domain, {one, shorter, unknown}, "2 values in payloads of NVTX are null") ==
          "[7,null,null]");
    const char* nobody = nullptr;
    const uint64_t schema =
        registered(domain, {entry("text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING)}, sizeof nobody, "Nobody");
    const auto session = start();
    const nvtxPayloadData_t null{schema, sizeof nobody, &nobody};
    mark_with(domain, "no loss", &null, 1);
    const trace::Trace trace = stop(session);
    for (const trace::Note& note : trace.notes) CHECK(note.kind != "partial");
}

// Beyond what the recorder keeps of an event all of it would be lost: the category, too.
TEST(a_payload_that_is_too_long_is_there_with_its_beginning) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("too long");
    const uint64_t text =
        registered(domain, {entry("text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING)}, sizeof(char*), "Text");
    const uint64_t row = registered(
        domain, {entry("row", text, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 1'000)}, 8'000, "Row");
    const uint64_t table = registered(
        domain, {entry("rows", row, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 16)}, 128'000, "Table");
    const std::string long_text(4'000, 'x');
    const std::vector<const char*> texts(16'000, long_text.c_str());
    wait_for_other_losses();
    const std::string told = told_by(domain, {{table, 128'000, texts.data()}, {table, 128'000, texts.data()}},
                                     "1 events of NVTX have only the first 40 KiB of their payloads");
    const std::string one = R"({"text":")" + long_text + R"("})";
    std::string all = one;
    for (int i = 1; i < 10; ++i) all += ',' + one;
    CHECK(told == R"([{"rows":[{"row":[)" + all + R"(,{}]}]}])");
}

TEST(an_event_keeps_its_name_and_category_where_its_payload_is_too_long) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("far behind");
    std::vector<nvtxPayloadSchemaEntry_t> entries(11, entry("text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING));
    entries.push_back(
        entry("message", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE));
    const uint64_t schema = registered(domain, entries, 12 * sizeof(char*), "Far");
    const std::string long_text(4'000, 'x'), long_name(50'000, 'n');
    std::vector<const char*> texts(11, long_text.c_str());
    texts.push_back("the name");
    const nvtxPayloadData_t payload{schema, 12 * sizeof(char*), texts.data()};
    const uint64_t names = registered_enum(domain, {{long_name.c_str(), 1, 0}}, 1);
    const uint8_t value = 1;
    const nvtxPayloadData_t name{names, 1, &value};
    CHECK(told_by(domain, {name}) == "null");
    CHECK(told_by(domain, {payload, name}).starts_with("[{"));
    const auto session = start();
    nvtxMarkPayload(domain, &payload, 1);
    CHECK(category(stop(session), "the name") == "far behind");
}

TEST(a_message_is_found_in_structs_and_payloads_behind_the_cut) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("deep and far");
    const uint64_t header = registered(
        domain, {entry("message", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE)},
        sizeof(char*), "Header");
    std::vector<nvtxPayloadSchemaEntry_t> entries(11, entry("text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING));
    const uint64_t long_ones = registered(domain, entries, 11 * sizeof(char*), "Long");
    entries.push_back(entry("header", header));
    const uint64_t far = registered(domain, entries, 12 * sizeof(char*), "Far");
    const std::string long_text(4'000, 'x');
    std::vector<const char*> texts(11, long_text.c_str());
    texts.push_back("within");
    const char* behind = "behind";
    const nvtxPayloadData_t payload{far, 12 * sizeof(char*), texts.data()},
        several[] = {{long_ones, 11 * sizeof(char*), texts.data()},
                     {NVTX_TYPE_PAYLOAD_SCHEMA_RAW, long_text.size(), long_text.data()},
                     {header, sizeof behind, &behind}};
    const auto session = start();
    nvtxMarkPayload(domain, &payload, 1);
    nvtxMarkPayload(domain, several, 3);
    const trace::Trace trace = stop(session);
    CHECK(category(trace, "within") == "deep and far");
    CHECK(category(trace, "behind") == "deep and far");
    CHECK(notes_that_begin(trace, "1 arrays in payloads") == 0);  // of what is not shown nothing is cut
}

TEST(raw_bytes_that_nobody_counted_are_not_read) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("uncounted");
    wait_for_other_losses();
    CHECK(told_by(domain, {{NVTX_TYPE_PAYLOAD_SCHEMA_RAW, SIZE_MAX, "some bytes"}},
                  "1 values in payloads of NVTX are null") == "null");
}

TEST(what_the_end_of_a_range_tells_costs_nothing_of_what_its_begin_told) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("both ends");
    const std::vector<nvtxPayloadSchemaEntry_t> entries(9, entry("text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING));
    const uint64_t schema = registered(domain, entries, 9 * sizeof(char*), "Texts");
    const std::string text(4'000, 'x');
    const std::vector<const char*> texts(9, text.c_str());
    const nvtxPayloadData_t payload{schema, 9 * sizeof(char*), texts.data()};
    const auto session = start();
    nvtxRangePushPayload(domain, &payload, 1);
    nvtxRangePopPayload(domain, &payload, 1);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1 && trace.args_of(0).size() > 9 * text.size());
    CHECK(count_in_note(trace, "arguments of ranges were left out: with them a range had more than") == 1);
}

TEST(structs_of_no_length_and_of_endless_number_end) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("empty");
    const uint64_t empty = dynamic(
        domain, {entry("none", NVTX_PAYLOAD_ENTRY_TYPE_UINT8, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE)},
        "Empty");
    const uint64_t schema = dynamic(
        domain, {entry("length", NVTX_PAYLOAD_ENTRY_TYPE_UINT64), entry("all", empty, length_elsewhere, 0),
                 entry("last", NVTX_PAYLOAD_ENTRY_TYPE_UINT8)});
    const std::string told = told_by(domain, schema, packed(UINT64_MAX, uint64_t(1)));
    CHECK(told.starts_with(R"({"length":18446744073709551615,"all":)") && told.ends_with(R"("last":null})"));
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

// By its selector, which is its first entry.
TEST(a_union_within_itself_ends) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("endless union");
    constexpr uint64_t id = 1 << 24;
    const auto endless = [&](uint64_t union_id, size_t size) {
        registered(domain, {entry("n", NVTX_PAYLOAD_ENTRY_TYPE_UINT64), entry("again", union_id)}, size,
                   "Endless", NVTX_PAYLOAD_SCHEMA_TYPE_UNION, union_id);
        const uint64_t schema =
            registered(domain, {entry("which", NVTX_PAYLOAD_ENTRY_TYPE_UINT64), entry("one", union_id)},
                       2 * sizeof(uint64_t), "Around");
        return told_by(domain, schema, packed(uint64_t(1), uint64_t(1)));
    };
    CHECK(endless(id, 8) == R"({"which":1,"one":null})");
    CHECK(endless(id + 1, 0) == R"({"which":1,"one":null})");
}

// A chain, and many that wait for nobody: to look at all of them with each took seconds.
TEST(many_schemas_that_wait_for_others_are_registered_in_no_time) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("chain");
    constexpr uint64_t first = 1 << 24, many = 2'000;
    const std::clock_t began = std::clock();  // of this process: others may take the machine meanwhile
    for (uint64_t id = first; id < first + many; ++id)
        registered(domain, {entry("level", NVTX_PAYLOAD_ENTRY_TYPE_INT32), entry("next", id + 1)}, 0, "Chain",
                   NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, id);
    registered(domain, {entry("end", NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE)}, 0, "End",
               NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, first + many);
    CHECK(std::clock() - began < CLOCKS_PER_SEC / 2);
    CHECK(told_by(domain, first + many - 1, packed(7, 0, 2.5)) == R"({"level":7,"next":{"end":2.5}})");
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 2);
    setenv("NVTX_INJECTION64_PATH", argv[1], 1);
    return test::run_all();
}
