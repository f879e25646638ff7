#include "format/json_pieces.h"

#include <algorithm>

namespace kinetograph::format {

namespace {

// `at` is a quote; returns the place behind its partner.
size_t behind_string(std::string_view text, size_t at) {
    for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') ++at;
    }
    return std::min(at + 1, text.size());
}

}  // namespace

FirstPiece first_piece(std::string_view list) {
    size_t at = 0;
    for (int depth = 0; at < list.size() && (depth > 0 || list[at] != ',');) {
        const char c = list[at];
        if (c == '"') {
            at = behind_string(list, at);
            continue;
        }
        if (c == '{' || c == '[') ++depth;
        if (c == '}' || c == ']') --depth;
        ++at;
    }
    return {list.substr(0, at), list.substr(std::min(at + 1, list.size()))};
}

Member as_member(std::string_view piece) {
    const size_t end = behind_string(piece, 0);
    return {piece.substr(1, end - 2), piece.substr(std::min(end + 1, piece.size()))};
}

}  // namespace kinetograph::format
