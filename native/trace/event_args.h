// Single members of an event's arguments, found without parsing the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kinetograph::trace {

// Goes over the members of what Trace::args_of gives: compact, correct JSON without braces.
class Arguments {
public:
    explicit Arguments(std::string_view members) : members_(members) {}
    // To the next one, from before the first; false behind the last.
    bool next();
    std::string_view key() const { return key_; }      // still escaped
    std::string_view value() const { return value_; }  // as it stands in JSON
    std::string_view member() const { return member_; }

private:
    std::string_view members_, key_, value_, member_;
    size_t at_ = 0;
};

// The value of a member as it stands in JSON, empty where there is none. `members` is what Trace::args_of
// gives: compact, correct JSON. Only members of the object itself count, not those of objects inside it.
std::string_view argument(std::string_view members, std::string_view key);

// The same as a number; 0 where it is none, and cut to whole numbers.
int64_t integer_argument(std::string_view members, std::string_view key);

// The inside of a value that is a string, still escaped; empty for other values.
std::string_view string_argument(std::string_view members, std::string_view key);

}  // namespace kinetograph::trace
