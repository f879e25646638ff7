// NVIDIA's own NVTX hands our injection payloads: numbers and texts that schemas describe.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "nvtx_payloads.h"

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

// As PyPI's nvtx has it, which says "" for a message that it was not given.
TEST(a_message_in_a_payload_is_the_name_of_an_event_that_has_no_other) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("called within");
    const uint64_t schema = registered(
        domain, {entry("text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, 8)}, 8,
        "Called");
    const nvtxPayloadData_t payload{schema, 8, "inside\0"};
    const auto session = start();
    mark_with(domain, "", &payload, 1);
    mark_with(domain, nullptr, &payload, 1);
    mark_with(domain, "outside", &payload, 1);
    nvtxEventAttributes_t event = event_called("");
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "");
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = 1;
    event.payload.ullValue = reinterpret_cast<uintptr_t>(&payload);
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    const trace::Trace trace = stop(session);
    std::vector<std::string> names;
    for (size_t row = 0; row < trace.size(); ++row) names.emplace_back(trace.strings[trace.name[row]]);
    CHECK(names == (std::vector<std::string>{"inside", "inside", "outside", "inside"}));
}

TEST(types_of_later_headers_are_numbers) {
    constexpr uint64_t range_id = 67;
    CHECK(told_as(nvtxDomainCreateA("later"), range_id, uint64_t(1) << 40) == "1099511627776");
}

TEST(a_range_that_ends_without_payloads_tells_no_more) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("ends without");
    const auto session = start();
    nvtxEventAttributes_t event = event_called("plain");
    nvtxDomainRangePushEx(domain, &event);
    nvtxRangePopPayload(domain, nullptr, 0);
    CHECK(args(stop(session), "plain") == "");
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
