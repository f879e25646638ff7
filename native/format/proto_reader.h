// Protobuf's wire format, the part that a reader needs: the fields of one message, checked as they come.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "format/chrome_json.h"

namespace kinetograph::format {

struct ProtoField {
    uint32_t number = 0;
    uint8_t wire = 0;
    uint64_t value = 0;      // of a number, whatever its size
    std::string_view bytes;  // of a string or message
    size_t offset = 0;       // of `bytes` in the file

    bool is_number() const { return wire != 2; }
    double real() const { return std::bit_cast<double>(value); }
};

class ProtoReader {
public:
    // `offset` is where the message begins in the file.
    ProtoReader(std::string_view message, size_t offset)
        : begin_(message.data()), at_(begin_), end_(begin_ + message.size()), offset_(offset) {}
    explicit ProtoReader(const ProtoField& message) : ProtoReader(message.bytes, message.offset) {}

    size_t offset() const { return offset_ + static_cast<size_t>(at_ - begin_); }

    // False at the end of the message.
    bool next(ProtoField& field) {
        if (at_ == end_) return false;
        const uint64_t tag = varint();
        field.number = static_cast<uint32_t>(tag >> 3);
        field.wire = tag & 7;
        field.bytes = {};
        if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX) fail("a field without a number");
        switch (field.wire) {
            case 0:
                field.value = varint();
                return true;
            case 1:
                field.value = fixed<uint64_t>();
                return true;
            case 2:
                field.bytes = take(varint());
                field.offset = offset() - field.bytes.size();
                return true;
            case 5:
                field.value = fixed<uint32_t>();
                return true;
            default:
                fail("a field of a kind that protobuf does not have");
        }
    }
    uint64_t varint() {
        uint64_t value = 0;
        for (int shift = 0; shift < 70; shift += 7) {
            if (at_ == end_) fail("a number that goes on behind the end of its message");
            const auto byte = static_cast<uint8_t>(*at_++);
            value |= static_cast<uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value;
        }
        fail("a number of more than ten bytes");
    }
    [[noreturn]] void fail(const char* reason) const { throw ParseError(offset(), reason); }

private:
    std::string_view take(uint64_t size) {
        if (size > static_cast<uint64_t>(end_ - at_)) fail("a field that is longer than its message");
        const char* start = at_;
        at_ += size;
        return {start, static_cast<size_t>(size)};
    }
    template <class T>
    uint64_t fixed() {
        const std::string_view bytes = take(sizeof(T));
        T value;
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }

    const char *begin_, *at_, *end_;
    size_t offset_;
};

}  // namespace kinetograph::format
