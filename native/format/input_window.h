// The part of the input that is in memory: pieces glued so that one element of the file is in one place.
#pragma once

#include <cstring>
#include <string>

#include "format/chrome_json.h"

namespace kinetograph::format {

class InputWindow {
public:
    explicit InputWindow(const Source& source) : source_(source) { text_.assign(padding, '\0'); }

    // Always followed by `padding` NUL bytes, so that a scan may look ahead without asking.
    const char* begin() const { return text_.data(); }
    const char* end() const { return text_.data() + size_; }
    // Of begin(), in the whole text.
    size_t offset() const { return offset_; }
    bool is_complete() const { return is_complete_; }

    // Forgets what is before `keep` and reads on. At least as much comes as was kept, so that an element that
    // is scanned again and again, because it spans many pieces, costs twice its length and not its square.
    void refill(const char* keep) {
        forget(static_cast<size_t>(keep - begin()));
        const size_t kept = size_;
        if (kept > largest_element) throw ParseError(offset_, "one element is larger than 256 MiB");
        do {
            append(source_());
        } while (!is_complete_ && size_ < 2 * kept);
    }

private:
    static constexpr size_t padding = 16;
    static constexpr size_t largest_element = 256 << 20;

    void forget(size_t bytes) {
        std::memmove(text_.data(), text_.data() + bytes, size_ - bytes);
        size_ -= bytes;
        offset_ += bytes;
    }
    void append(std::string_view piece) {
        is_complete_ = piece.empty();
        if (text_.size() < size_ + piece.size() + padding) text_.resize(size_ + piece.size() + padding);
        if (!piece.empty()) std::memcpy(text_.data() + size_, piece.data(), piece.size());
        size_ += piece.size();
        std::memset(text_.data() + size_, 0, padding);
    }

    const Source& source_;
    std::string text_;
    size_t size_ = 0;
    size_t offset_ = 0;
    bool is_complete_ = false;
};

}  // namespace kinetograph::format
