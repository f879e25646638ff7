// Protobuf's wire format, the part that a writer needs: fields appended to a buffer that grows.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace kinetograph::format {

class ProtoBuffer {
public:
    std::string_view bytes() const { return {bytes_.get(), used_}; }
    bool empty() const { return used_ == 0; }
    void clear() { used_ = 0; }

    // Any integer, bool or enum. A negative one is passed as its 64 bits, as protobuf wants it for int32 too.
    void number(uint32_t field, uint64_t value) {
        need(2 * longest_varint);
        put_varint(field << 3 | wire_varint);
        put_varint(value);
    }
    void fixed64(uint32_t field, uint64_t value) {
        need(2 * longest_varint);
        put_varint(field << 3 | wire_fixed64);
        std::memcpy(bytes_.get() + used_, &value, sizeof value);
        used_ += sizeof value;
    }
    void real(uint32_t field, double value) { fixed64(field, std::bit_cast<uint64_t>(value)); }
    // A string, bytes, or a message that is whole.
    void text(uint32_t field, std::string_view value) {
        need(2 * longest_varint + value.size());
        put_varint(field << 3 | wire_length);
        put_varint(value.size());
        if (value.empty()) return;  // memcpy wants an address even for no bytes
        std::memcpy(bytes_.get() + used_, value.data(), value.size());
        used_ += value.size();
    }
    // Fields that are whole.
    void append(std::string_view fields) {
        need(fields.size());
        if (fields.empty()) return;
        std::memcpy(bytes_.get() + used_, fields.data(), fields.size());
        used_ += fields.size();
    }
    // A message that `fill` appends to this buffer. Its length stands before it and takes one byte for nearly
    // all; what is longer than that is moved.
    template <class Fill>
    void message(uint32_t field, Fill&& fill) {
        need(2 * longest_varint);
        put_varint(field << 3 | wire_length);
        const size_t start = ++used_;
        fill();
        put_length(start, used_ - start);
    }

private:
    static constexpr uint32_t wire_varint = 0, wire_fixed64 = 1, wire_length = 2;
    static constexpr size_t longest_varint = 10;

    void need(size_t size) {
        if (used_ + size > capacity_) grow(used_ + size);
    }
    void grow(size_t size) {
        const size_t capacity = size * 2 + 256;
        auto larger = std::make_unique_for_overwrite<char[]>(capacity);
        if (used_ > 0) std::memcpy(larger.get(), bytes_.get(), used_);
        bytes_ = std::move(larger);
        capacity_ = capacity;
    }
    void put_varint(uint64_t value) { used_ += write_varint(bytes_.get() + used_, value); }
    static size_t write_varint(char* out, uint64_t value) {
        size_t size = 0;
        for (; value >= 0x80; value >>= 7) out[size++] = static_cast<char>(value | 0x80);
        out[size++] = static_cast<char>(value);
        return size;
    }
    void put_length(size_t start, size_t length) {
        char varint[longest_varint];
        const size_t size = write_varint(varint, length);
        if (size > 1) {
            need(size);
            std::memmove(bytes_.get() + start + size - 1, bytes_.get() + start, length);
            used_ += size - 1;
        }
        std::memcpy(bytes_.get() + start - 1, varint, size);
    }

    std::unique_ptr<char[]> bytes_;
    size_t used_ = 0, capacity_ = 0;
};

}  // namespace kinetograph::format
