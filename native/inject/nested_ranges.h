// Ranges that a thread pushes and pops, each domain for itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "inject/domain.h"

namespace kinetograph::inject {

// What an annotation says of itself.
struct Annotation {
    const Domain& domain;
    uint32_t name = 0;      // 0: none
    std::string args = {};  // members of a JSON object
};

// Of one range, and with what its end tells: of more the recorder might keep nothing.
inline constexpr size_t longest_args = 48 * 1024, longest_args_at_end = 56 * 1024;
// Members behind those that are there; false, and they are left out, where that would be too long.
bool append_args(std::string& args, std::string_view more, size_t most = longest_args);
bool append_args(std::string& args, std::string&& more);

// All return how many ranges of the domain lie around this one; pop less than 0 where there was none.
int push_range(const Domain& domain, uint32_t name, uint64_t number = 0);
int push_range(Annotation&& annotation);
// While nobody records: it is only counted.
int push_unrecorded(const Domain& domain, uint64_t number = 0);
int pop_range(const Domain& domain, std::string_view more_args = {});

// Adds to the innermost range of the domain.
void describe_range(const Domain& domain, std::string&& args);
// The number that it was pushed with; 0: none.
uint64_t innermost_number(const Domain& domain);

}  // namespace kinetograph::inject
