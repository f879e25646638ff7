#include "emit/range.h"

namespace kinetograph::emit {

namespace {

Name nameless("<no memory for the name>");

}  // namespace

Range::Range(std::string_view text, const Look& looks) noexcept : name(name_of(text)), look(looks) {
    if (name) return;
    try {
        own_name = std::make_unique<Name>(text, false);
        name = own_name.get();
    } catch (const std::bad_alloc&) {
        name = &nameless;
    }
}

}  // namespace kinetograph::emit
