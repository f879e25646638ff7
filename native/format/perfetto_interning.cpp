#include "format/perfetto_interning.h"

#include "format/json_text.h"
#include "format/perfetto_fields.h"

namespace kinetograph::format::perfetto {

TextCache::Found TextCache::find(std::string_view text) {
    if (bytes_ > most_bytes || texts_.size() > most_entries) {
        texts_ = trace::Strings();
        ids_.forget_entries();
        bytes_ = 0;
    }
    const size_t before = texts_.size();
    const uint32_t entry = texts_.intern(text);
    const bool is_first = texts_.size() > before;
    if (is_first) bytes_ += text.size();
    return {entry, is_first};
}

std::string_view valid_utf8(std::string_view text, std::string& scratch) {
    if (plain_length(text.data(), text.size()) == text.size() || is_utf8(text)) return text;
    scratch.clear();
    append_utf8(scratch, text);
    return scratch;
}

void write_entry(ProtoBuffer& interned, uint32_t kind, uint32_t iid, std::string_view text) {
    interned.message(kind, [&] {
        interned.number(interned::iid, iid);
        interned.text(interned::text, text);
    });
}

}  // namespace kinetograph::format::perfetto
