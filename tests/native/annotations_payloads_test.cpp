// NVIDIA's own NVTX hands our injection payloads: numbers and texts that schemas describe, right or wrong.
#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nvtx_events.h"

using namespace kinetograph;
using namespace kinetograph::test;

namespace {

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
                    const char* name, uint64_t kind = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, uint64_t id = 0) {
    nvtxPayloadSchemaAttr_t schema{};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    schema.name = name;
    schema.type = kind;
    schema.entries = entries.data();
    schema.numEntries = entries.size();
    schema.payloadStaticSize = size;
    if (id != 0) schema.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
    schema.schemaId = id;
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

uint64_t registered_enum(nvtxDomainHandle_t domain, const std::vector<nvtxPayloadEnum_t>& values,
                         size_t size) {
    nvtxPayloadEnumAttr_t attributes{};
    attributes.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                           NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
    attributes.entries = values.data();
    attributes.numEntries = values.size();
    attributes.sizeOfEnum = size;
    return nvtxPayloadEnumRegister(domain, &attributes);
}

uint64_t mode_enum(nvtxDomainHandle_t domain) {
    return registered_enum(domain, {{"slow", 1, 0}, {"fast", 2, 0}}, 1);
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

// What becomes of a payload, as JSON.
std::string told_by(nvtxDomainHandle_t domain, std::vector<nvtxPayloadData_t> payloads,
                    std::string_view note = {}) {
    const auto session = start();
    mark_with(domain, "told", payloads.data(), int(payloads.size()));
    const trace::Trace trace = stop(session);
    CHECK(notes_that_begin(trace, note) == (note.empty() ? trace.notes.size() : 1));
    return args(trace, "told").substr(std::string_view("\"payload\":").size());
}

std::string told_by(nvtxDomainHandle_t domain, uint64_t schema, const std::vector<char>& bytes,
                    std::string_view note = {}) {
    return told_by(domain, {{schema, bytes.size(), bytes.data()}}, note);
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

// What becomes of a payload that is one value.
template <class T>
std::string told_as(nvtxDomainHandle_t domain, uint64_t type, T value) {
    return told_by(domain, {{type, sizeof value, &value}});
}

TEST(enumerations_have_values_below_zero) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("signed");
    const std::vector<nvtxPayloadEnum_t> values{{"none", uint64_t(-1), 0}, {"some", 1, 0}};
    const uint64_t narrow = registered_enum(domain, values, 1), usual = registered_enum(domain, values, 4),
                   wide = registered_enum(domain, values, 8);
    CHECK(told_as(domain, narrow, int8_t(-1)) == R"("none")");
    CHECK(told_as(domain, usual, -1) == R"("none")");
    CHECK(told_as(domain, wide, int64_t(-1)) == R"("none")");
    CHECK(told_as(domain, usual, -2) == "-2");
    CHECK(told_as(domain, wide, int64_t(-2)) == "-2");
}

TEST(a_value_with_two_names_is_told_by_the_first) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("aliases");
    const uint64_t flags = registered_enum(
        domain, {{"first", 1, 1}, {"again", 1, 1}, {"second", 2, 1}, {"both", 3, 1}, {"third", 4, 1}}, 4);
    CHECK(told_as(domain, flags, 1) == R"("first")");
    CHECK(told_as(domain, flags, 3) == R"("both")");
    CHECK(told_as(domain, flags, 5) == R"("first | third")");
    CHECK(told_as(domain, flags, 7) == R"("first | second | third")");
}

TEST(bits_that_have_no_name_are_told_beside_those_that_have) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("unnamed");
    const uint64_t flags = registered_enum(domain, {{"first", 1, 1}, {"second", 2, 1}}, 4);
    CHECK(told_as(domain, flags, 10) == R"("second | 8")");
    CHECK(told_as(domain, flags, 8) == "8");
}

TEST(long_arrays_are_cut_and_told_of) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("long");
    const std::vector<uint8_t> numbers(2'000, 7);
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

// Bytes one behind the other, without what a compiler would put between them.
template <class... Values>
std::vector<char> packed(const Values&... values) {
    std::vector<char> bytes;
    const auto append = [&](const void* value, size_t size) {
        bytes.insert(bytes.end(), static_cast<const char*>(value), static_cast<const char*>(value) + size);
    };
    (append(&values, sizeof values), ...);
    return bytes;
}

uint64_t dynamic(nvtxDomainHandle_t domain, std::vector<nvtxPayloadSchemaEntry_t> entries,
                 const char* name = "Dynamic", size_t size = 0) {
    return registered(domain, std::move(entries), size, name, NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC);
}

constexpr uint64_t length_elsewhere = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX,
                   to_zero = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED;

TEST(what_follows_an_array_of_variable_length_lies_behind_it) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("dynamic");
    const uint64_t schema =
        dynamic(domain, {entry("length", NVTX_PAYLOAD_ENTRY_TYPE_UINT32),
                         entry("values", NVTX_PAYLOAD_ENTRY_TYPE_UINT16, length_elsewhere, 0),
                         entry("text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, to_zero),
                         entry("numbers", NVTX_PAYLOAD_ENTRY_TYPE_INT16, to_zero),
                         entry("name", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16, length_elsewhere, 0),
                         entry("last", NVTX_PAYLOAD_ENTRY_TYPE_UINT32)});
    const std::vector<char> bytes =
        packed(uint32_t(3), uint16_t(1), uint16_t(2), uint16_t(3), "to 0", uint8_t(0), int16_t(-7),
               int16_t(0), u'a', u'b', u'c', uint16_t(0), uint32_t(9));
    CHECK(told_by(domain, schema, bytes) ==
          R"({"length":3,"values":[1,2,3],"text":"to 0","numbers":[-7],"name":"abc","last":9})");
}

TEST(structs_of_variable_length_lie_one_behind_the_other) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("dynamic within");
    const uint64_t list = dynamic(domain,
                                  {entry("length", NVTX_PAYLOAD_ENTRY_TYPE_UINT16),
                                   entry("values", NVTX_PAYLOAD_ENTRY_TYPE_UINT8, length_elsewhere, 0)},
                                  "List", 64);
    const uint64_t schema =
        dynamic(domain, {entry("lists", list, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 2),
                         entry("one", list), entry("last", NVTX_PAYLOAD_ENTRY_TYPE_UINT8)});
    const std::vector<char> bytes = packed(uint16_t(1), uint8_t(11), uint8_t(0), uint16_t(2), uint8_t(21),
                                           uint8_t(22), uint16_t(0), uint8_t(5));
    CHECK(told_by(domain, schema, bytes) ==
          R"({"lists":[{"length":1,"values":[11]},{"length":2,"values":[21,22]}],)"
          R"("one":{"length":0,"values":[]},"last":5})");
}

TEST(arrays_have_the_dimensions_that_the_data_says) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("dimensions");
    const uint64_t schema =
        dynamic(domain, {entry("shape", NVTX_PAYLOAD_ENTRY_TYPE_UINT16, to_zero),
                         entry("values", NVTX_PAYLOAD_ENTRY_TYPE_UINT8, length_elsewhere, 0),
                         entry("last", NVTX_PAYLOAD_ENTRY_TYPE_UINT8)});
    const std::vector<char> bytes = packed(uint16_t(2), uint16_t(3), uint16_t(0), "\1\2\3\4\5\6", uint8_t(0));
    CHECK(told_by(domain, schema, bytes) == R"({"shape":[2,3],"values":[[1,2,3],[4,5,6]],"last":0})");
    CHECK(told_by(domain, schema, packed(uint16_t(2), uint16_t(300), uint16_t(0), uint8_t(1))) ==
          R"({"shape":[2,300],"values":null,"last":null})");
}

TEST(lengths_may_be_in_another_payload) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("apart");
    const uint64_t schema = dynamic(domain, {entry("values", NVTX_PAYLOAD_ENTRY_TYPE_UINT8,
                                                   NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX, 1)});
    const uint8_t values[] = {1, 2, 3, 4, 5, 6};
    const uint32_t shape[] = {3, 2};
    const nvtxPayloadData_t data{schema, sizeof values, values};
    CHECK(told_by(domain, {data, {NVTX_PAYLOAD_ENTRY_TYPE_UINT32, sizeof shape[0], shape}}) ==
          R"([{"values":[1,2,3]},3])");
    const uint64_t shapes = registered(
        domain, {entry("shape", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 2)},
        sizeof shape, "Shape");
    CHECK(told_by(domain, {data, {shapes, sizeof shape, shape}}) ==
          R"([{"values":[[1,2],[3,4],[5,6]]},{"shape":[3,2]}])");
    CHECK(told_by(domain, {data}) == R"({"values":null})");
    // Whose length is in itself.
    CHECK(told_by(domain, {{shapes, sizeof shape, shape}, data}) == R"([{"shape":[3,2]},{"values":null}])");
}

TEST(a_struct_is_as_long_as_it_says_and_no_longer) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("sizes");
    const auto pair = [&](size_t size, const char* name) {
        return registered(
            domain,
            {entry("first", NVTX_PAYLOAD_ENTRY_TYPE_UINT8), entry("second", NVTX_PAYLOAD_ENTRY_TYPE_UINT8)},
            size, name);
    };
    const auto outer = [&](uint64_t inner) {
        return dynamic(domain, {entry("pair", inner), entry("last", NVTX_PAYLOAD_ENTRY_TYPE_UINT8)});
    };
    const std::vector<char> bytes{1, 2, 3, 4, 5};
    CHECK(told_by(domain, outer(pair(4, "longer")), bytes) == R"({"pair":{"first":1,"second":2},"last":5})");
    CHECK(told_by(domain, outer(pair(1, "shorter")), bytes) ==
          R"({"pair":{"first":1,"second":null},"last":2})");
}

TEST(what_is_told_by_an_offset_is_null_with_a_note) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("offsets");
    const uint64_t schema = dynamic(
        domain, {entry("first", NVTX_PAYLOAD_ENTRY_TYPE_UINT8),
                 entry("base", NVTX_PAYLOAD_ENTRY_TYPE_UINT8, NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE),
                 entry("here", NVTX_PAYLOAD_ENTRY_TYPE_UINT8, NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE),
                 entry("placed", NVTX_PAYLOAD_ENTRY_TYPE_UINT8, 0, 0, 3)});
    CHECK(told_by(domain, schema, {1, 2, 3, 4}, "2 entries of payloads of NVTX are null: they tell by an") ==
          R"({"first":1,"base":null,"here":null,"placed":4})");
}

TEST(texts_are_read_as_they_are_laid_out) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("texts");
    const uint64_t schema = dynamic(domain, {entry("names", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, to_zero, 3),
                                             entry("last", NVTX_PAYLOAD_ENTRY_TYPE_UINT8)});
    CHECK(told_by(domain, schema, packed('a', 'b', 'c', 'd', '\0', '\0', '\0', '\0', '\0', '\7')) ==
          R"({"names":["abc","d"],"last":7})");
    CHECK(told_by(domain, {{NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, SIZE_MAX, "as long as it is"}}) ==
          R"("as long as it is")");
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

TEST(an_entry_of_a_schema_that_was_registered_later_lies_where_it_would_have) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("late");
    constexpr uint64_t outer = 1 << 24, inner = outer + 1, mode = outer + 2;
    const auto schema = [&](uint64_t id, std::vector<nvtxPayloadSchemaEntry_t> entries) {
        return registered(domain, std::move(entries), 0, "Late", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, id);
    };
    const uint64_t pair = schema(0, {entry("all", outer, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 2)});
    schema(outer, {entry("a", NVTX_PAYLOAD_ENTRY_TYPE_UINT8), entry("b", inner),
                   entry("c", NVTX_PAYLOAD_ENTRY_TYPE_UINT8)});
    struct Two {
        uint8_t a;
        struct {
            double x;
            uint8_t mode;
        } b;
        uint8_t c;
    };
    Two two[2] = {{7, {2.5, 1}, 9}, {8, {0.5, 2}, 10}};
    const nvtxPayloadData_t payload{pair, sizeof two, two};
    CHECK(told_by(domain, {payload}) == R"({"all":[{"a":7,"b":null,"c":null},null]})");
    schema(inner, {entry("x", NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE), entry("mode", mode)});
    nvtxPayloadEnum_t values[] = {{"slow", 1, 0}, {"fast", 2, 0}};
    nvtxPayloadEnumAttr_t modes{};
    modes.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                      NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
    modes.entries = values;
    modes.numEntries = 2;
    modes.sizeOfEnum = 1;
    modes.schemaId = mode;
    CHECK(nvtxPayloadEnumRegister(domain, &modes) == mode);
    CHECK(
        told_by(domain, {payload}) ==
        R"({"all":[{"a":7,"b":{"x":2.5,"mode":"slow"},"c":9},{"a":8,"b":{"x":0.5,"mode":"fast"},"c":10}]})");
}

TEST(what_nobody_registers_hides_nothing_but_itself) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("never");
    constexpr uint64_t never = 1 << 24, node = never + 1;
    const auto number = [](const char* name, size_t offset = 0) {
        return entry(name, NVTX_PAYLOAD_ENTRY_TYPE_INT32, 0, 0, offset);
    };
    registered(domain, {number("n"), entry("children", node, length_elsewhere, 0)}, 0, "Node",
               NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC, node);
    CHECK(told_by(domain, node, packed(2, 1, 0, 0)) ==
          R"({"n":2,"children":[{"n":1,"children":[{"n":0,"children":[]}]},{"n":0,"children":[]}]})");
    const uint64_t in = registered(domain, {number("x"), entry("op", never, 0, 0, 4)}, 8, "In");
    const uint64_t out = registered(domain, {number("a"), entry("in", in), number("z")}, 16, "Out");
    CHECK(told_by(domain, out, packed(1, 2, 3, 4)) == R"({"a":1,"in":{"x":2,"op":null},"z":4})");
    const uint64_t either =
        registered(domain, {number("u"), entry("op", never)}, 4, "Either", NVTX_PAYLOAD_SCHEMA_TYPE_UNION);
    const uint64_t one_of = registered(domain, {number("a"), entry("u", either), number("z")}, 12, "One");
    CHECK(told_by(domain, one_of, packed(0, 2, 3)) == R"({"a":0,"u":2,"z":3})");
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

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 2);
    setenv("NVTX_INJECTION64_PATH", argv[1], 1);
    return test::run_all();
}
