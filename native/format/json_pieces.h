// Goes over JSON that was checked and is compact, piece by piece: the arguments of a Trace.
#pragma once

#include <string_view>

namespace kinetograph::format {

// The first element, or member, of a list without its brackets, and what follows it. An empty text has none.
struct FirstPiece {
    std::string_view piece;
    std::string_view rest;
};
FirstPiece first_piece(std::string_view list);

// A member of an object: the key as it stands between its quotes, still escaped, and the value.
struct Member {
    std::string_view key;
    std::string_view value;
};
Member as_member(std::string_view piece);

// Calls visit(piece) for each element or member.
template <class Visit>
void each_piece(std::string_view list, Visit&& visit) {
    while (!list.empty()) {
        const FirstPiece first = first_piece(list);
        visit(first.piece);
        list = first.rest;
    }
}

// What stands between the brackets, braces or quotes of a value.
inline std::string_view inside(std::string_view value) {
    return value.substr(1, value.size() - 2);
}

}  // namespace kinetograph::format
