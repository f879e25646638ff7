// Arguments, kept as JSON text in a Trace, as Perfetto's debug annotations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/perfetto_interning.h"
#include "format/proto_buffer.h"

namespace kinetograph::format::perfetto {

class Annotations {
public:
    // What has to be interned is appended to `interned`.
    explicit Annotations(ProtoBuffer& interned) : interned_(interned) {}

    void start_sequence() {
        names_.start_sequence();
        strings_.start_sequence();
        last_text_ = {};
    }

    // Members of a JSON object without braces, compact and checked. Each becomes a message in `field`.
    void members(ProtoBuffer& out, uint32_t field, std::string_view text);
    // The same, for neighbours that often share one text: records inside kernels have that of their block.
    void shared_members(ProtoBuffer& out, uint32_t field, std::string_view text);
    // One annotation whose value is this JSON.
    void json(ProtoBuffer& out, uint32_t field, std::string_view name, std::string_view value);
    void integer(ProtoBuffer& out, uint32_t field, std::string_view name, int64_t value);
    void boolean(ProtoBuffer& out, uint32_t field, std::string_view name, bool value);
    // Text for programs, which is written as it is and never interned.
    void text(ProtoBuffer& out, uint32_t field, std::string_view name, std::string_view value);

private:
    void put_name(ProtoBuffer& out, std::string_view name);
    void put_string(ProtoBuffer& out, std::string_view value);
    void put_value(ProtoBuffer& out, std::string_view value);
    void put_text(ProtoBuffer& out, std::string_view value);
    void put_elements(ProtoBuffer& out, std::string_view elements);
    void put_container(ProtoBuffer& out, std::string_view value);

    ProtoBuffer& interned_;
    TextCache names_, strings_;
    std::string name_, string_;
    int depth_ = 0;  // of containers around the value at hand
    bool has_strings_ = false;
    std::string_view last_text_;  // that the bytes were made of; none if they would not be the same again
    std::string last_bytes_;
};

}  // namespace kinetograph::format::perfetto
