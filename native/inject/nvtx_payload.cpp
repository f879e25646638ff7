#include "inject/nvtx_payload.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/json_members.h"
#include "inject/counted_note.h"
#include "inject/nested_ranges.h"
#include "inject/nvtx_blob.h"
#include "inject/nvtx_domains.h"
#include "inject/nvtx_layout.h"
#include "inject/nvtx_schemas.h"
#include "inject/nvtx_values.h"
#include "inject/text.h"

namespace kinetograph::inject {

namespace {

constexpr int deepest = 16;              // schemas within schemas; one within itself would have no end
constexpr size_t most_elements = 1024;   // of an array; what follows is left out
constexpr size_t most_values = 1 << 15;  // entries and elements: arrays within arrays may have no end either
constexpr size_t longest = 4096;         // of texts, in characters
constexpr size_t most_json = 40 * 1024;  // of an event: with what else it says, the recorder can keep it
static_assert(most_json < longest_args);
constexpr std::string_view nothing = "null";

CountedNote cut_arrays{"partial", "arrays in payloads of NVTX are here with their first 1,024 elements only"};
CountedNote cut_texts{"partial", "texts in payloads of NVTX are here with their first 4,096 characters only"};
CountedNote left_out{"partial", "payloads of NVTX were left out: their event had more than 1,024"};
CountedNote too_long{"partial", "events of NVTX have only the first 40 KiB of their payloads"};
CountedNote unreadable{
    "partial",
    "values in payloads of NVTX are null: they were cut short, of a type that is not known, "
    "nested too deeply, or too many"};
CountedNote by_offset{"partial",
                      "entries of payloads of NVTX are null: they tell by an offset where their data is, and "
                      "not how long that is"};

class Decoder {
public:
    Decoder(const Domain& domain, std::span<const nvtxPayloadData_t> event)
        : domain_(domain), layout_(domain, event) {}

    void append_payload(std::string& out, const nvtxPayloadData_t& payload) {
        if (!payload.payload) return void(out += nothing);
        const Blob blob = bytes_of(payload);
        if (payload.schemaId == NVTX_TYPE_PAYLOAD_SCHEMA_RAW)
            append_raw(out, payload.size == SIZE_MAX ? Blob{} : blob);
        else if (SchemaEntry::is_string_type(payload.schemaId))
            base::append_json_string(out, text_in(payload.schemaId, blob, SIZE_MAX));
        else
            append_value(out, payload.schemaId, blob, 0);
    }

    // Takes back what does not fit behind `before`; false then, and of all that would follow.
    bool fits(std::string& out, size_t before) {
        if (is_full_) return false;
        if (out.size() <= most_json) return true;
        out.resize(before);
        tell(too_long);
        is_full_ = true;
        values_ = std::max(values_, most_values - most_elements);  // enough for a message behind it
        return false;
    }
    bool is_full() const { return is_full_; }

    // Of a payload that follows those that fit.
    void read_message(const nvtxPayloadData_t& payload) {
        std::string unseen;
        if (schema_of(domain_, payload.schemaId)) append_payload(unseen, payload);
    }

    std::string take_message() { return std::move(message_); }

private:
    // Of what is not shown nothing is missing.
    void tell(CountedNote& loss) const {
        if (!is_full_) loss.count();
    }

    // Of unknown size is what ends as its own data says, too.
    Blob bytes_of(const nvtxPayloadData_t& payload) const {
        const auto* data = static_cast<const char*>(payload.payload);
        if (payload.size != SIZE_MAX) return {data, payload.size};
        const Schema* schema = schema_of(domain_, payload.schemaId);
        const bool ends_by_itself = SchemaEntry::is_string_type(payload.schemaId) ||
                                    (schema && schema->kind == NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC);
        if (ends_by_itself) return Blob::from(data);
        return {data, size_of_type(domain_, payload.schemaId)};
    }

    // Also for one that holds others: those may be without end.
    bool has_room(int depth) { return ++values_ <= most_values && depth < deepest; }

    void append_value(std::string& out, uint64_t type, Blob blob, int depth) {
        const size_t before = out.size();
        if (has_room(depth) && try_append_value(out, type, blob, depth)) return;
        out.resize(before);
        out += nothing;
        tell(unreadable);
    }

    void append_raw(std::string& out, Blob blob) {
        if (!blob.data) return out += nothing, tell(unreadable);
        if (blob.size > most_elements) tell(cut_arrays);
        append_hex(out, blob, std::min(blob.size, most_elements));
    }

    bool try_append_value(std::string& out, uint64_t type, Blob blob, int depth) {
        if (!blob.data) return false;
        if (type < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) return append_simple_value(out, domain_, type, blob);
        if (const Schema* schema = schema_of(domain_, type))
            return append_struct(out, layout_.place(*schema, blob), depth);
        if (const Enumeration* values = enumeration_of(domain_, type)) return append_enum(out, *values, blob);
        return false;
    }

    bool append_struct(std::string& out, const Placed& placed, int depth) {
        const Schema& schema = placed.schema;
        if (schema.is_alias()) return append_entry(out, placed, schema.entries[0], depth), true;
        const size_t first = out.size() + 1;
        out += '{';
        for (const SchemaEntry& entry : schema.entries) {
            if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR) continue;
            if (is_full_) {
                read_message(placed, entry, depth);
                continue;
            }
            const size_t before = out.size();
            if (before != first) out += ',';
            append_member(out, placed, entry, depth);
            fits(out, before);
        }
        out += '}';
        return true;
    }

    // Without its name an event would not be found, whatever else it tells.
    void read_message(const Placed& placed, const SchemaEntry& entry, int depth) {
        std::string unseen;
        if (entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE || schema_of(domain_, entry.type))
            append_member(unseen, placed, entry, depth);
    }

    void append_member(std::string& out, const Placed& placed, const SchemaEntry& entry, int depth) {
        base::append_json_string(out, name_of_entry(placed.schema, entry));
        out += ':';
        const size_t before = out.size();
        append_entry(out, placed, entry, depth);
        const std::string_view value = std::string_view(out).substr(before);
        if (entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE && value.size() > 2 && value[0] == '"')
            message_ = text_in_json(value);
    }

    // What append_json_string made of it, undone.
    static std::string text_in_json(std::string_view json) {
        std::string text;
        for (size_t i = 1; i + 1 < json.size(); ++i) text += json[i] == '\\' ? json[++i] : json[i];
        return text;
    }

    static std::string name_of_entry(const Schema& schema, const SchemaEntry& entry) {
        return entry.name.empty() ? std::to_string(&entry - schema.entries.data()) : entry.name;
    }

    void append_entry(std::string& out, const Placed& in, const SchemaEntry& entry, int depth) {
        const size_t before = out.size();
        Blob blob = in.at(entry);
        const bool ok = has_room(depth) && blob.data && !entry.is_offset() &&
                        follow_pointer(out, entry, blob) &&
                        (out.size() != before || append_entry_data(out, in, entry, blob, depth));
        if (ok) return;
        out.resize(before);
        out += nothing;
        tell(entry.is_offset() ? by_offset : unreadable);
    }

    // To what the program says may be read; else the address is what is shown. False for a bad one.
    static bool follow_pointer(std::string& out, const SchemaEntry& entry, Blob& blob) {
        if (!entry.is_pointer()) return true;
        const char* target;
        if (!blob.read(target)) return false;
        if (!target) return out += nothing, true;
        if (!(entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY)) return append_hex(out, blob, sizeof target);
        blob = Blob::from(target);
        return true;
    }

    bool append_entry_data(std::string& out, const Placed& in, const SchemaEntry& entry, Blob blob,
                           int depth) {
        if (entry.is_string()) return append_string(out, in, entry, blob);
        const Schema* nested = schema_of(domain_, entry.type);
        if (nested && nested->is_union()) return append_union(out, in, entry, *nested, blob, depth);
        if (entry.array() == 0) return append_value(out, entry.type, blob, depth + 1), true;
        return append_array(out, in, entry, blob, depth);
    }

    bool append_array(std::string& out, const Placed& in, const SchemaEntry& entry, Blob blob, int depth) {
        const std::vector<size_t> lengths = lengths_of(in, entry, blob);
        if (lengths.empty()) return false;
        if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_BYTE && lengths.size() == 1 &&
            append_as_text(out, blob, lengths[0]))
            return true;
        if (std::find(lengths.begin(), lengths.end(), 0) != lengths.end()) return out += "[]", true;
        Elements elements{entry.type, blob, depth};
        append_elements(out, elements, lengths);
        if (elements.is_cut) tell(cut_arrays);
        return true;
    }

    // None where they promise more than there is.
    std::vector<size_t> lengths_of(const Placed& in, const SchemaEntry& entry, Blob blob) {
        const size_t one = entry.is_string() ? character_size(entry.type) : size_of_type(domain_, entry.type);
        if (entry.array() == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED)
            return one != 0 ? std::vector<size_t>{length_to_zero(blob, one)} : std::vector<size_t>();
        std::vector<size_t> lengths = layout_.lengths(in, entry);
        if (entry.array() == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE) return lengths;
        size_t bytes = std::max<size_t>(one, 1);
        for (const size_t length : lengths)
            if (__builtin_mul_overflow(bytes, length, &bytes)) return {};
        return one != 0 && bytes > blob.size ? std::vector<size_t>() : lengths;
    }

    // Those of an array that are still to be shown.
    struct Elements {
        uint64_t type;
        Blob bytes;
        int depth;
        size_t at = 0;
        size_t shown = 0;
        bool is_cut = false;
    };

    // Row by row, a list of lists for each dimension but the last.
    void append_elements(std::string& out, Elements& elements, std::span<const size_t> lengths) {
        out += '[';
        for (size_t i = 0; i < lengths[0]; ++i) {
            if (elements.shown >= most_elements) {
                elements.is_cut = true;
                break;
            }
            const size_t before = out.size();
            if (i != 0) out += ',';
            if (lengths.size() > 1)
                append_elements(out, elements, lengths.subspan(1));
            else
                append_element(out, elements);
            if (!fits(out, before)) break;
        }
        out += ']';
    }

    void append_element(std::string& out, Elements& elements) {
        append_value(out, elements.type, elements.bytes.at(elements.at), elements.depth + 1);
        elements.at = layout_.next(elements.type, elements.bytes, elements.at);
        ++elements.shown;
    }

    // Numpy's byte strings come as bytes.
    static bool append_as_text(std::string& out, Blob blob, size_t length) {
        const std::string text = characters<char>(blob, std::min(length, longest));
        const bool is_text =
            !text.empty() && length <= blob.size &&
            std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }) &&
            std::all_of(blob.data + text.size(), blob.data + length, [](char c) { return c == 0; });
        if (is_text) base::append_json_string(out, text);
        return is_text;
    }

    bool append_union(std::string& out, const Placed& in, const SchemaEntry& entry, const Schema& members,
                      Blob blob, int depth) {
        size_t chosen = 0;
        if (members.kind != NVTX_PAYLOAD_SCHEMA_TYPE_UNION ||
            !layout_.read_integer(in, entry.detail, chosen) || chosen >= members.entries.size())
            return false;
        append_entry(out, layout_.place(members, blob), members.entries[chosen], depth + 1);
        return true;
    }

    bool append_string(std::string& out, const Placed& in, const SchemaEntry& entry, Blob blob) {
        if (!entry.is_pointer() && !entry.is_embedded_string()) {
            const char* target;  // a char* of the program's
            if (!blob.read(target)) return false;
            if (!target) return out += nothing, true;
            base::append_json_string(out, text_in(entry.type, Blob::from(target), SIZE_MAX));
            return true;
        }
        if (entry.array() == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED && entry.detail != 0)
            return append_strings(out, entry, blob);
        size_t length = entry.detail == 0 ? SIZE_MAX : entry.detail;
        if (has_length_elsewhere(entry)) {
            const std::vector<size_t> lengths = lengths_of(in, entry, blob);
            if (lengths.size() != 1) return false;
            length = lengths[0];
        }
        base::append_json_string(out, text_in(entry.type, blob, length));
        return true;
    }

    static bool has_length_elsewhere(const SchemaEntry& entry) {
        return entry.array() == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX ||
               entry.array() == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX;
    }

    // Each of the same length, up to one that is empty.
    bool append_strings(std::string& out, const SchemaEntry& entry, Blob blob) {
        size_t one;
        if (__builtin_mul_overflow(entry.detail, character_size(entry.type), &one)) return false;
        const size_t length = length_to_zero(blob, one);
        if (length > most_elements) tell(cut_arrays);
        out += '[';
        for (size_t i = 0; i < std::min(length, most_elements); ++i) {
            const size_t before = out.size();
            if (i != 0) out += ',';
            base::append_json_string(out, text_in(entry.type, blob.at(i * one), entry.detail));
            if (!fits(out, before)) break;
        }
        out += ']';
        return true;
    }

    // Up to its zero or `length` characters.
    std::string text_in(uint64_t type, Blob blob, size_t length) const {
        if (type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16) return utf8(noted<char16_t>(blob, length));
        if (type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32) return utf8(noted<char32_t>(blob, length));
        return noted<char>(blob, length);
    }

    // One more than is shown tells that there are more.
    template <class Character>
    std::basic_string<Character> noted(Blob blob, size_t length) const {
        std::basic_string<Character> text = characters<Character>(blob, std::min(length, longest + 1));
        if (text.size() > longest) tell(cut_texts);
        text.resize(std::min(text.size(), longest));
        return text;
    }

    template <class Character>
    static std::basic_string<Character> characters(Blob blob, size_t length) {
        std::basic_string<Character> text;
        Character c;
        while (text.size() < length && blob.at(text.size() * sizeof c).read(c) && c != 0) text += c;
        return text;
    }

    bool append_enum(std::string& out, const Enumeration& enumeration, Blob blob) const {
        uint64_t value = 0;
        if (enumeration.size == 0 || enumeration.size > sizeof value || blob.size < enumeration.size)
            return false;
        std::memcpy(&value, blob.data, enumeration.size);
        const std::string name = name_in(enumeration, value);
        if (!name.empty())
            base::append_json_string(out, name);
        else if (enumeration.is_signed)
            base::append_json_number(out, extended(value, enumeration.size));
        else
            base::append_json_number(out, value);
        return true;
    }

    static int64_t extended(uint64_t value, size_t bytes) {
        const size_t unused = 64 - 8 * bytes;
        return int64_t(value << unused) >> unused;
    }

    // "" for one that has none. Of two names of one value the first is meant.
    static std::string name_in(const Enumeration& enumeration, uint64_t value) {
        for (const Enumeration::Value& known : enumeration.values)
            if (known.value == value) return known.name;
        std::string flags;
        uint64_t rest = value;
        for (const Enumeration::Value& known : enumeration.values) {
            if (!known.is_flag || (value & known.value) != known.value || (rest & known.value) == 0) continue;
            flags += (flags.empty() ? "" : " | ") + known.name;
            rest &= ~known.value;
        }
        return flags.empty() || rest == 0 ? flags : flags + " | " + std::to_string(rest);
    }

    const Domain& domain_;
    Layout layout_;
    std::string message_;
    size_t values_ = 0;
    bool is_full_ = false;
};

}  // namespace

DecodedPayload decode_payloads(const Domain& domain, const nvtxPayloadData_t* payloads, size_t count) {
    const std::span event(payloads, payloads ? count : 0);
    Decoder decoder(domain, event);
    std::vector<nvtxPayloadData_t> shown;
    for (const nvtxPayloadData_t& payload : event.first(std::min(event.size(), most_elements)))
        if (payload.schemaId != NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED) shown.push_back(payload);
    if (event.size() > most_elements) left_out.count(event.size() - most_elements);
    std::string values;
    for (const nvtxPayloadData_t& payload : shown) {
        if (decoder.is_full()) {
            decoder.read_message(payload);
            continue;
        }
        const size_t before = values.size();
        if (before != 0) values += ',';
        decoder.append_payload(values, payload);
        decoder.fits(values, before);
    }
    if (values.empty() && !shown.empty()) values = nothing;
    return {shown.size() == 1 ? values : '[' + values + ']', decoder.take_message()};
}

}  // namespace kinetograph::inject
