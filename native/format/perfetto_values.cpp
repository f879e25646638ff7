#include "format/perfetto_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "format/json_check.h"
#include "format/json_cursor.h"
#include "format/json_pieces.h"
#include "format/json_text.h"

namespace kinetograph::format::perfetto {

namespace {

// Appends to a list that is closed with `end`.
void add_element(std::string& list, char begin, const std::string& element) {
    list += list.empty() ? begin : ',';
    list += element;
}

int depth_of(std::string_view value) {
    if (value.empty() || (value.front() != '{' && value.front() != '[')) return 0;
    int deepest_inside = 0;
    each_piece(inside(value), [&](std::string_view piece) {
        const std::string_view element = value.front() == '{' ? as_member(piece).value : piece;
        deepest_inside = std::max(deepest_inside, depth_of(element));
    });
    return 1 + deepest_inside;
}

// JSON that other programs wrote is not trusted. `depth` is how deep it lies itself.
std::string checked(const ProtoField& field, int depth) {
    try {
        std::string json = compact_json(field.bytes);
        if (depth + depth_of(json) <= deepest_json) return json;
    } catch (const ParseError&) {
    }
    return quoted(field.bytes);
}

class ValueReader {
public:
    explicit ValueReader(const Sequence& sequence) : sequence_(sequence) {}

    Annotation read(const ProtoField& message, int depth);

private:
    struct Parts {
        std::string scalar, json, members, elements;
    };
    void take(const ProtoField& field, Parts& parts, Annotation& annotation, int depth);
    void take_text(std::string text, Parts& parts, Annotation& annotation);
    std::string nested(const ProtoField& message, int depth);
    const std::string& interned(const InternedTexts& texts, const ProtoField& field) const;

    const Sequence& sequence_;
};

const std::string& ValueReader::interned(const InternedTexts& texts, const ProtoField& field) const {
    static const std::string unknown = "[unknown]";
    const std::string* text = texts.find(field.value);
    return text == nullptr ? unknown : *text;
}

void ValueReader::take_text(std::string text, Parts& parts, Annotation& annotation) {
    parts.scalar = quoted(text);
    annotation.text = std::move(text);
}

void ValueReader::take(const ProtoField& field, Parts& parts, Annotation& annotation, int depth) {
    switch (field.number) {
        case annotation::name_iid:
            annotation.name = interned(sequence_.annotation_names, field);
            break;
        case annotation::name:
            annotation.name = text_of(field);
            break;
        case annotation::boolean:
            parts.scalar = field.value != 0 ? "true" : "false";
            break;
        case annotation::natural:
        case annotation::pointer:
            parts.scalar = std::to_string(field.value);
            break;
        case annotation::integer:
            parts.scalar = std::to_string(static_cast<int64_t>(field.value));
            break;
        case annotation::real:
            parts.scalar = json_of(field.real());
            break;
        case annotation::text:
            take_text(text_of(field), parts, annotation);
            break;
        case annotation::text_iid:
            take_text(interned(sequence_.strings, field), parts, annotation);
            break;
        case annotation::nested:
            parts.json = nested(field, depth + 1);
            break;
        case annotation::json:
            parts.json = checked(field, depth);
            break;
        case annotation::members: {
            const Annotation member = read(field, depth + 1);
            add_element(parts.members, '{', quoted(member.name) + ":" + member.json);
            break;
        }
        case annotation::elements:
            add_element(parts.elements, '[', read(field, depth + 1).json);
            break;
        default:
            break;
    }
}

Annotation ValueReader::read(const ProtoField& message, int depth) {
    ProtoReader reader(message);
    if (depth > annotation::deepest) reader.fail("annotations are nested deeper than 100");
    Annotation annotation;
    Parts parts;
    for (ProtoField field; reader.next(field);) take(field, parts, annotation, depth);
    annotation.json = !parts.json.empty()       ? parts.json
                      : !parts.members.empty()  ? parts.members + "}"
                      : !parts.elements.empty() ? parts.elements + "]"
                      : !parts.scalar.empty()   ? parts.scalar
                                                : "null";
    return annotation;
}

// An older form. Ours has one key without a value, which is the text of something empty.
std::string ValueReader::nested(const ProtoField& message, int depth) {
    ProtoReader reader(message);
    if (depth > annotation::deepest) reader.fail("annotations are nested deeper than 100");
    uint64_t type = 0;
    std::vector<std::string> keys, values, elements;
    std::string scalar = "null";
    for (ProtoField field; reader.next(field);) {
        if (field.number == annotation::nested_type) type = field.value;
        if (field.number == annotation::nested_keys) keys.push_back(text_of(field));
        if (field.number == 3) values.push_back(nested(field, depth + 1));
        if (field.number == 4) elements.push_back(nested(field, depth + 1));
        if (field.number == 5) scalar = std::to_string(static_cast<int64_t>(field.value));
        if (field.number == 6) scalar = json_of(field.real());
        if (field.number == 7) scalar = field.value != 0 ? "true" : "false";
        if (field.number == 8) scalar = quoted(text_of(field));
    }
    if (type == 0) return scalar;
    if (values.empty() && keys.size() == 1 && keys[0] == "[]") return "[]";
    std::string list;
    if (type != annotation::nested_object) {
        for (const std::string& element : elements) add_element(list, '[', element);
        return list.empty() ? "[]" : list + "]";
    }
    for (size_t i = 0; i < std::min(keys.size(), values.size()); ++i) {
        add_element(list, '{', quoted(keys[i]) + ":" + values[i]);
    }
    return list.empty() ? "{}" : list + "}";
}

}  // namespace

Annotation read_annotation(const ProtoField& message, const Sequence& sequence) {
    return ValueReader(sequence).read(message, 0);
}

std::string json_of(double value) {
    if (!std::isfinite(value)) return "null";
    char text[40];
    const double size = std::abs(value);
    const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e16);
    const auto form = is_plain ? std::chars_format::fixed : std::chars_format::scientific;
    const auto [end, error] = std::to_chars(text, text + sizeof text, value, form);
    std::string json(text, end);
    if (json.find_first_of(".e") == json.npos) json += ".0";
    return json;
}

}  // namespace kinetograph::format::perfetto
