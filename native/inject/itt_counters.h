// Counters of ITT: made by name and domain, and then set, or counted up and down.
#pragma once

#include <cstdint>
#include <string>

#include "base/itt_types.h"

namespace kinetograph::inject {

class IttCounter;

IttCounter* itt_counter(const char* name, const char* domain, itt::Number type);
void set_counter(IttCounter* counter, const void* value);
void add_to_counter(IttCounter* counter, int64_t more);
// By name alone.
void add_to_counter(const itt::Domain* domain, const itt::String* name, int64_t more);

// As JSON, one or a list.
std::string itt_values(itt::Number type, size_t count, const void* data);

}  // namespace kinetograph::inject
