#include "format/perfetto_annotations.h"

#include <charconv>

#include "format/json_number.h"
#include "format/json_pieces.h"
#include "format/json_text.h"
#include "format/perfetto_fields.h"

namespace kinetograph::format::perfetto {

namespace {

// What the inside of a JSON string means; `scratch` holds it when it is not there literally.
std::string_view meaning(std::string_view text, std::string& scratch) {
    if (plain_length(text.data(), text.size()) == text.size()) return text;
    scratch.clear();
    append_unescaped(scratch, text);
    return scratch;
}

bool is_whole(std::string_view token) {
    return token.find_first_of(".eE") == token.npos;
}

// Exactly: what neither 64 bits nor a double hold stands there as JSON too. Perfetto takes the double.
void put_number(ProtoBuffer& out, std::string_view token) {
    uint64_t natural = 0;
    const char* end = token.data() + token.size();
    if (const auto integer = to_int64(token)) {
        out.number(annotation::integer, static_cast<uint64_t>(*integer));
    } else if (const auto real = is_whole(token) ? std::nullopt : to_double(token)) {
        out.real(annotation::real, *real);
    } else if (const auto parsed = std::from_chars(token.data(), end, natural);
               parsed.ec == std::errc{} && parsed.ptr == end) {
        out.number(annotation::natural, natural);
    } else {
        if (const auto nearest = to_double(token)) out.real(annotation::real, *nearest);
        out.text(annotation::json, token);
    }
}

// An object with a key that lacks its value brings no argument, and keeps its place in an array.
void put_empty(ProtoBuffer& out, std::string_view value) {
    out.message(annotation::nested, [&] {
        out.number(annotation::nested_type, annotation::nested_object);
        out.text(annotation::nested_keys, value);
    });
}

}  // namespace

void Annotations::put_name(ProtoBuffer& out, std::string_view name) {
    const SequenceIds::Id id = names_.id_of(names_.find(name).entry);
    if (id.is_new) write_entry(interned_, interned::annotation_names, id.iid, name);
    out.number(annotation::name_iid, id.iid);
}

// A string that comes once is cheaper where it stands; the second time it is interned.
void Annotations::put_string(ProtoBuffer& out, std::string_view value) {
    has_strings_ = true;
    const TextCache::Found found = strings_.find(value);
    if (found.is_first || value.size() < 4) return out.text(annotation::text, value);
    const SequenceIds::Id id = strings_.id_of(found.entry);
    if (id.is_new) write_entry(interned_, interned::annotation_strings, id.iid, value);
    out.number(annotation::text_iid, id.iid);
}

void Annotations::put_elements(ProtoBuffer& out, std::string_view elements) {
    each_piece(elements, [&](std::string_view element) {
        out.message(annotation::elements, [&] { put_value(out, element); });
    });
}

// Half of a surrogate pair has no UTF-8: then the JSON stands there too. Perfetto takes the text.
void Annotations::put_text(ProtoBuffer& out, std::string_view value) {
    put_string(out, meaning(inside(value), string_));
    if (has_lone_surrogate(inside(value))) out.text(annotation::json, value);
}

void Annotations::put_container(ProtoBuffer& out, std::string_view value) {
    if (depth_ == annotation::deepest) return out.text(annotation::json, value);
    if (inside(value).empty()) return put_empty(out, value);
    ++depth_;
    if (value.front() == '{') {
        members(out, annotation::members, inside(value));
    } else {
        put_elements(out, inside(value));
    }
    --depth_;
}

void Annotations::put_value(ProtoBuffer& out, std::string_view value) {
    switch (value.empty() ? '\0' : value.front()) {
        case '"':
            return put_text(out, value);
        case 't':
        case 'f':
            return out.number(annotation::boolean, value.front() == 't');
        case '{':
        case '[':
            return put_container(out, value);
        case 'n':
            return;  // null is an annotation without a value
        default:
            put_number(out, value);
    }
}

void Annotations::members(ProtoBuffer& out, uint32_t field, std::string_view text) {
    each_piece(text, [&](std::string_view piece) {
        const Member member = as_member(piece);
        json(out, field, meaning(member.key, name_), member.value);
    });
}

void Annotations::shared_members(ProtoBuffer& out, uint32_t field, std::string_view text) {
    if (!text.empty() && text.data() == last_text_.data() && text.size() == last_text_.size())
        return out.append(last_bytes_);
    const size_t begin = out.bytes().size(), interned = interned_.bytes().size();
    has_strings_ = false;
    members(out, field, text);
    // Texts that are new to the sequence, and strings, are written otherwise the next time.
    const bool is_same_again = !has_strings_ && interned_.bytes().size() == interned;
    last_text_ = is_same_again ? text : std::string_view();
    if (is_same_again) last_bytes_.assign(out.bytes().substr(begin));
}

void Annotations::json(ProtoBuffer& out, uint32_t field, std::string_view name, std::string_view value) {
    out.message(field, [&] {
        put_name(out, name);
        put_value(out, value);
    });
}

void Annotations::integer(ProtoBuffer& out, uint32_t field, std::string_view name, int64_t value) {
    out.message(field, [&] {
        put_name(out, name);
        out.number(annotation::integer, static_cast<uint64_t>(value));
    });
}

void Annotations::boolean(ProtoBuffer& out, uint32_t field, std::string_view name, bool value) {
    out.message(field, [&] {
        put_name(out, name);
        out.number(annotation::boolean, value);
    });
}

void Annotations::text(ProtoBuffer& out, uint32_t field, std::string_view name, std::string_view value) {
    out.message(field, [&] {
        put_name(out, name);
        out.text(annotation::text, value);
    });
}

}  // namespace kinetograph::format::perfetto
