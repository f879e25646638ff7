#include "inject/recent_looks.h"

#include "base/json_members.h"

namespace kinetograph::inject {

namespace {

// Without its alpha, which nobody sets to anything that could be seen.
std::string colour_text(uint32_t argb) {
    std::string text = "#000000";
    for (size_t digit = text.size(); --digit > 0; argb >>= 4) text[digit] = "0123456789abcdef"[argb & 0xf];
    return text;
}

std::string spell(const Look& look, std::string_view category_name) {
    base::JsonMembers members;
    if (!category_name.empty())
        members.add("category", category_name);
    else if (look.category != 0)
        members.add("category", look.category);
    if (look.has_colour) members.add("color", colour_text(look.colour));
    return members.take();
}

}  // namespace

const std::string& RecentLooks::spelled(const Domain& domain, const Look& look) {
    const std::string_view name = look.category != 0 ? domain.category_name(look.category) : "";
    Spelled& recent = spelled_[(look.category ^ look.colour ^ look.colour >> 8) % spelled_.size()];
    if (recent.domain == &domain && recent.look == look && recent.category_name == name.data())
        return recent.members;
    recent.domain = nullptr;  // should there be no memory for what follows
    recent.members = spell(look, name);
    recent.look = look;
    recent.category_name = name.data();
    recent.domain = &domain;
    return recent.members;
}

}  // namespace kinetograph::inject
