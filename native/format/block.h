// The block a writer fills before the sink gets it, and the fastest ways to put digits into it.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "format/json_text.h"
#include "format/sink.h"

namespace kinetograph::format {

// Two ways in: put() takes any length; the put_short() family writes where need() has made room.
class Block {
public:
    explicit Block(Sink& sink) : sink_(sink), bytes_(std::make_unique_for_overwrite<char[]>(capacity)) {}

    // Makes room for `size` bytes (at most `capacity`) of put_short().
    void need(size_t size) {
        if (used_ + size > capacity) flush();
    }
    void put_short(std::string_view text) {
        if (text.empty()) return;  // memcpy wants an address even for no bytes
        std::memcpy(bytes_.get() + used_, text.data(), text.size());
        used_ += text.size();
    }
    void put_short(char c) { bytes_[used_++] = c; }
    void put_number(uint64_t value) { used_ += write_digits(bytes_.get() + used_, value); }
    void put_number(int64_t value) {
        if (value < 0) put_short('-');
        put_number(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
    }
    // Nanoseconds as microseconds with three decimals.
    void put_microseconds(int64_t nanoseconds) {
        if (nanoseconds < 0) put_short('-');
        const auto ns = static_cast<uint64_t>(nanoseconds);
        const uint64_t magnitude = nanoseconds < 0 ? 0 - ns : ns;
        put_number(magnitude / 1000);
        const auto fraction = static_cast<uint32_t>(magnitude % 1000);
        const char tail[4] = {'.', static_cast<char>('0' + fraction / 100),
                              static_cast<char>('0' + fraction / 10 % 10),
                              static_cast<char>('0' + fraction % 10)};
        put_short({tail, 4});
    }

    void put(std::string_view text) {
        if (text.size() > capacity) {
            flush();
            sink_.write(text);
            return;
        }
        need(text.size());
        put_short(text);
    }
    // With its quotes.
    void put_quoted(std::string_view text) {
        if (text.size() + 2 > capacity || plain_length(text.data(), text.size()) != text.size()) {
            put(quoted(text));
            return;
        }
        need(text.size() + 2);
        put_short('"');
        put_short(text);
        put_short('"');
    }
    void flush() {
        if (used_ > 0) sink_.write({bytes_.get(), used_});
        used_ = 0;
    }

private:
    static constexpr size_t capacity = 1 << 20;

    static size_t write_digits(char* out, uint64_t value) {
        char digits[20];
        char* at = digits + sizeof digits;
        for (; value >= 100; value /= 100) {
            at -= 2;
            std::memcpy(at, pair(value % 100), 2);
        }
        if (value >= 10) {
            at -= 2;
            std::memcpy(at, pair(value), 2);
        } else {
            *--at = static_cast<char>('0' + value);
        }
        const auto length = static_cast<size_t>(digits + sizeof digits - at);
        std::memcpy(out, at, length);
        return length;
    }
    static const char* pair(uint64_t value) {
        static constexpr char pairs[] =
            "000102030405060708091011121314151617181920212223242526272829303132333435363738394041424344454647"
            "4849"
            "505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
            "9899";
        return pairs + value * 2;
    }

    Sink& sink_;
    std::unique_ptr<char[]> bytes_;
    size_t used_ = 0;
};

}  // namespace kinetograph::format
