#include "collect/python_samples/text.h"

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace kinetograph::collect {

namespace {

// A recorded name is cut at half of that.
constexpr Py_ssize_t most_characters = 65'536;

struct Header {
    alignas(PyUnicodeObject) std::byte bytes[sizeof(PyUnicodeObject)] = {};

    const PyASCIIObject& get() const { return *reinterpret_cast<const PyASCIIObject*>(bytes); }
};

bool is_plausible(const PyASCIIObject& text) {
    const unsigned kind = text.state.kind;
    return text.length >= 0 && (kind == 1 || kind == 2 || kind == 4) && (!text.state.ascii || kind == 1);
}

size_t data_offset(const PyASCIIObject& text) {
    return text.state.ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
}

size_t data_bytes(const PyASCIIObject& text) {
    return size_t(std::min(text.length, most_characters)) * text.state.kind;
}

uint32_t character_at(const std::byte* data, size_t index, unsigned kind) {
    uint32_t character = 0;  // little-endian, as every processor this is built for
    std::memcpy(&character, data + index * kind, kind);
    return character;
}

void append_escaped(std::string& text, uint32_t surrogate) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", unsigned(surrogate & 0xffff));
    text += escaped;
}

void append_utf8(std::string& text, uint32_t character) {
    if (character >= 0xd800 && character < 0xe000) return append_escaped(text, character);
    if (character > 0x10ffff) character = 0xfffd;  // no string at all
    if (character < 0x80) {
        text += char(character);
        return;
    }
    const int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    constexpr unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    text += char(lead[more] | character >> (6 * more));
    for (int i = more - 1; i >= 0; --i) text += char(0x80 | (character >> (6 * i) & 0x3f));
}

std::string to_utf8(const std::byte* data, size_t bytes, unsigned kind) {
    std::string text;
    text.reserve(bytes);
    for (size_t i = 0; i < bytes / kind; ++i) append_utf8(text, character_at(data, i, kind));
    return text;
}

}  // namespace

bool RemoteText::load(const MemoryReader& memory, uintptr_t address) {
    Header header;
    if (!memory.read(address, header.bytes, sizeof(PyASCIIObject)) || !is_plausible(header.get()))
        return false;
    const PyASCIIObject& text = header.get();
    address_ = address;
    is_in_one_piece_ = text.state.compact;
    data_offset_ = is_in_one_piece_ ? data_offset(text) : sizeof(PyUnicodeObject);
    const size_t bytes = data_bytes(text);
    object_.assign(data_offset_ + bytes, {});
    if (!memory.read(address, object_.data(), is_in_one_piece_ ? object_.size() : data_offset_)) return false;
    if (!is_in_one_piece_) {
        uintptr_t data = 0;
        std::memcpy(&data, object_.data() + offsetof(PyUnicodeObject, data), sizeof data);
        if (!memory.read(data, object_.data() + data_offset_, bytes)) return false;
    }
    utf8_ = to_utf8(object_.data() + data_offset_, bytes, text.state.kind);
    return true;
}

Piece RemoteText::piece(std::vector<std::byte>& into) const {
    if (!is_in_one_piece_) return {};
    into.resize(object_.size());
    return {address_, into.data(), into.size()};
}

// Its reference count, hash and cached forms may change; its length, kind and characters do not.
bool RemoteText::is_same(const std::vector<std::byte>& bytes) const {
    if (bytes.size() != object_.size()) return false;
    Header was, is;
    std::memcpy(was.bytes, object_.data(), sizeof(PyASCIIObject));
    std::memcpy(is.bytes, bytes.data(), sizeof(PyASCIIObject));
    const PyASCIIObject &a = was.get(), &b = is.get();
    return a.length == b.length && a.state.kind == b.state.kind && a.state.ascii == b.state.ascii &&
           std::equal(bytes.begin() + ptrdiff_t(data_offset_), bytes.end(),
                      object_.begin() + ptrdiff_t(data_offset_));
}

}  // namespace kinetograph::collect
