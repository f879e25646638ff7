#include "inject/nvtx_layout.h"

#include <algorithm>

namespace kinetograph::inject {

namespace {

constexpr int deepest = 16;               // structs within structs; one within itself would have no end
constexpr size_t most_entries = 1 << 16;  // of all structs of an event: sizes that lie may name any number
constexpr size_t most_dimensions = 8;

std::optional<size_t> product(size_t a, size_t b) {
    size_t result;
    if (__builtin_mul_overflow(a, b, &result)) return {};
    return result;
}

// `nowhere` stays where it is.
size_t aligned(size_t offset, size_t align) {
    const size_t more = (align - offset % align) % align;
    return offset > nowhere - more ? nowhere : offset + more;
}

size_t behind(size_t offset, std::optional<size_t> size) {
    return !size || offset == nowhere || *size > nowhere - offset ? nowhere : offset + *size;
}

// Of an entry within its struct; none where that depends on the data, or nobody tells it.
std::optional<size_t> fixed_size(const Domain& domain, const SchemaEntry& entry) {
    if (entry.is_offset()) return {};
    if (entry.is_pointer()) return sizeof(void*);
    if (entry.is_fixed_string()) return product(entry.detail, character_size(entry.type));
    const size_t one = size_of_type(domain, entry.type);
    if (one == 0 && entry.type != NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR) return {};
    if (entry.array() == 0) return one;
    if (entry.array() == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE) return product(one, entry.detail);
    return {};
}

size_t align_of(const Domain& domain, const Schema& schema, const SchemaEntry& entry) {
    size_t align = entry.is_pointer()           ? alignof(void*)
                   : entry.is_embedded_string() ? character_size(entry.type)
                                                : align_of_type(domain, entry.type);
    if (schema.packing != 0) align = std::min(align, schema.packing);
    return std::max<size_t>(align, 1);
}

// Offset 0 is what every entry has that does not say where it lies.
bool has_own_place(const Schema& schema, const SchemaEntry& entry) {
    return entry.offset != 0 || schema.is_union();
}

bool holds_registered(const SchemaEntry& entry) {
    return entry.type >= NVTX_PAYLOAD_SCHEMA_ID_STATIC_START && !entry.is_pointer() && !entry.is_offset();
}

// Of a type that is registered later, or not at all: it may need any alignment.
bool is_unknown(const Domain& domain, const SchemaEntry& entry) {
    return holds_registered(entry) && !schema_of(domain, entry.type) && !enumeration_of(domain, entry.type);
}

size_t place_behind(const Domain& domain, const Schema& schema, const SchemaEntry& entry, size_t end) {
    if (has_own_place(schema, entry)) return entry.offset;
    return end != 0 && is_unknown(domain, entry) ? nowhere : aligned(end, align_of(domain, schema, entry));
}

size_t known_or_zero(size_t offset) {
    return offset == nowhere ? 0 : offset;
}

}  // namespace

bool is_late(const Domain& domain, const SchemaEntry& entry) {
    const Schema* nested = holds_registered(entry) ? schema_of(domain, entry.type) : nullptr;
    return nested ? nested->is_late : is_unknown(domain, entry);
}

void lay_out(const Domain& domain, Schema& schema) {
    size_t end = 0, furthest = 0;
    bool is_whole = true;
    schema.has_places = true;
    schema.is_late = false;
    for (SchemaEntry& entry : schema.entries) {
        // First: what is registered in between is no harm then.
        const bool may_change = is_late(domain, entry);
        schema.is_late = schema.is_late || may_change;
        schema.align = std::max(schema.align, align_of(domain, schema, entry));
        const size_t offset = place_behind(domain, schema, entry, may_change && end != 0 ? nowhere : end);
        schema.has_places = schema.has_places && offset != nowhere;
        entry.offset = known_or_zero(offset);
        end = behind(offset, fixed_size(domain, entry));
        is_whole = is_whole && end != nowhere;
        furthest = std::max(furthest, known_or_zero(end));
    }
    if (schema.size == 0 && is_whole && !schema.is_late)
        schema.size = known_or_zero(aligned(furthest, schema.align));
}

size_t length_to_zero(Blob array, size_t element_bytes) {
    const auto is_zero = [&](const char* element) {
        return std::all_of(element, element + element_bytes, [](char c) { return c == 0; });
    };
    size_t length = 0;
    while (element_bytes <= array.size - length * element_bytes &&
           !is_zero(array.data + length * element_bytes))
        ++length;
    return length;
}

Blob Placed::at(const SchemaEntry& entry) const {
    if (offsets.empty()) return bytes.at(entry.offset);
    return bytes.at(offsets[size_t(&entry - schema.entries.data())]);
}

Placed Layout::place(const Schema& schema, Blob bytes) {
    if (schema.size != 0) bytes = bytes.first(schema.size);
    Placed placed{schema, bytes, {}, schema.size != 0 ? std::optional(schema.size) : std::nullopt};
    if (schema.has_places && placed.size) return placed;
    placed_ += schema.entries.size() + 1;
    if (depth_ >= deepest || placed_ > most_entries) return {schema, {nullptr, 0}, {}, placed.size};
    placed.offsets.assign(schema.entries.size(), nowhere);
    ++depth_;
    size_t end = 0;
    for (size_t i = 0; i < schema.entries.size(); ++i) {
        placed.offsets[i] = place_behind(domain_, schema, schema.entries[i], end);
        end = behind(placed.offsets[i], measure(placed, schema.entries[i]));
    }
    --depth_;
    if (!placed.size && end != nowhere) placed.size = end;
    return placed;
}

std::optional<size_t> Layout::measure(const Placed& in, const SchemaEntry& entry) {
    if (const auto fixed = fixed_size(domain_, entry)) return fixed;
    const Blob blob = in.at(entry);
    if (entry.is_offset() || !blob.data) return {};
    if (entry.is_string()) return measure_string(in, entry);
    return entry.array() == 0 ? measure_value(entry.type, blob) : measure_array(in, entry);
}

std::optional<size_t> Layout::measure_string(const Placed& in, const SchemaEntry& entry) {
    const size_t character = character_size(entry.type);
    if (entry.array() == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED) {
        const size_t one = entry.detail == 0 ? character : product(entry.detail, character).value_or(0);
        if (one == 0) return {};
        return (length_to_zero(in.at(entry), one) + 1) * one;
    }
    const std::vector<size_t> length = lengths(in, entry);
    return length.size() == 1 ? product(length[0], character) : std::nullopt;
}

std::optional<size_t> Layout::measure_array(const Placed& in, const SchemaEntry& entry) {
    const std::vector<size_t> dimensions = lengths(in, entry);
    if (dimensions.empty()) return {};
    std::optional<size_t> count = 1;
    for (const size_t length : dimensions) count = count ? product(*count, length) : count;
    if (count && entry.array() == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED) ++*count;
    if (!count || *count == 0) return count;
    if (const size_t one = size_of_type(domain_, entry.type)) return product(*count, one);
    const Blob array = in.at(entry);
    size_t last = 0;
    for (size_t i = 1; i < *count && last != nowhere; ++i) last = next(entry.type, array, last);
    const Blob element = array.at(last);
    const size_t end = element.data ? behind(last, measure_value(entry.type, element)) : nowhere;
    return end == nowhere ? std::nullopt : std::optional(end);
}

std::optional<size_t> Layout::measure_value(uint64_t type, Blob blob) {
    if (const size_t fixed = size_of_type(domain_, type)) return fixed;
    const Schema* schema = schema_of(domain_, type);
    return schema && !schema->is_union() ? place(*schema, blob).size : std::nullopt;
}

size_t Layout::next(uint64_t type, Blob array, size_t at) {
    const Blob element = array.at(at);
    if (!element.data) return nowhere;
    const size_t align = std::max<size_t>(align_of_type(domain_, type), 1);
    if (const size_t fixed = size_of_type(domain_, type)) return behind(at, fixed);
    return aligned(behind(at, measure_value(type, element)), align);
}

std::vector<size_t> Layout::lengths(const Placed& in, const SchemaEntry& array) {
    switch (array.array()) {
        case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE:
            return {array.detail};
        case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX:
            return lengths_in(in, array.detail);
        case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX:
            return lengths_in_payload(array.detail);
        case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED: {
            const size_t one = size_of_type(domain_, array.type);
            if (one == 0 || !in.at(array).data) return {};
            return {length_to_zero(in.at(array), one)};
        }
        default:
            return {};
    }
}

namespace {

bool read_integer_of(const Domain& domain, uint64_t type, Blob blob, size_t& value) {
    const size_t bytes = size_of_type(domain, type);
    if (!blob.data || bytes == 0 || bytes > sizeof value || blob.size < bytes) return false;
    value = 0;
    std::memcpy(&value, blob.data, bytes);
    return true;
}

// None where not all are there.
std::vector<size_t> read_integers(const Domain& domain, uint64_t type, Blob blob, size_t count) {
    const size_t one = size_of_type(domain, type);
    std::vector<size_t> values(std::min(count, most_dimensions));
    for (size_t i = 0; i < values.size(); ++i)
        if (!read_integer_of(domain, type, blob.at(i * one), values[i])) return {};
    return count > most_dimensions ? std::vector<size_t>() : values;
}

}  // namespace

bool Layout::read_integer(const Placed& in, uint64_t index, size_t& value) const {
    if (index >= in.schema.entries.size()) return false;
    const SchemaEntry& entry = in.schema.entries[index];
    return entry.array() == 0 && !entry.is_pointer() && !entry.is_offset() &&
           read_integer_of(domain_, entry.type, in.at(entry), value);
}

// One number is a length, an array of them has the dimensions.
std::vector<size_t> Layout::lengths_in(const Placed& in, uint64_t index) const {
    size_t length;
    if (read_integer(in, index, length)) return {length};
    if (index >= in.schema.entries.size()) return {};
    const SchemaEntry& entry = in.schema.entries[index];
    const Blob blob = in.at(entry);
    const size_t one = size_of_type(domain_, entry.type);
    if (entry.is_pointer() || entry.is_offset() || !blob.data || one == 0) return {};
    if (entry.array() == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE)
        return read_integers(domain_, entry.type, blob, entry.detail);
    if (entry.array() == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED)
        return read_integers(domain_, entry.type, blob, length_to_zero(blob, one));
    return {};
}

// That payload has one entry: a number, or an array of them.
std::vector<size_t> Layout::lengths_in_payload(uint64_t index) {
    if (index >= event_.size() || !event_[index].payload) return {};
    const nvtxPayloadData_t& payload = event_[index];
    const Blob blob{static_cast<const char*>(payload.payload), payload.size};
    if (const Schema* schema = schema_of(domain_, payload.schemaId))
        return schema->has_places ? lengths_in({*schema, blob, {}, {}}, 0) : std::vector<size_t>();
    const size_t one = size_of_type(domain_, payload.schemaId);
    if (one == 0) return {};
    const size_t count = payload.size == nowhere ? 1 : payload.size / one;
    return read_integers(domain_, payload.schemaId, blob, count);
}

}  // namespace kinetograph::inject
