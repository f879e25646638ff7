// What ITT hands out handles for. Clients make some of them themselves, before they know a collector.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/itt_types.h"
#include "inject/domain.h"

namespace kinetograph::inject {

// The same for the same name, for ever. PyTorch asks for one with each operator.
itt::Domain* itt_domain(const char* name);
itt::String* itt_string(const char* text);

Domain& domain_of(const itt::Domain* domain);
uint32_t name_of(const Domain& domain, const itt::String* string);
std::string_view text_of(const itt::String* string);

}  // namespace kinetograph::inject
