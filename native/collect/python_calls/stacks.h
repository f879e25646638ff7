// The Python stack of the moment as one name, for scopes whose session traces no calls.
//
// Each distinct stack is a name of the recorder's, spelled as Kineto does: frames innermost first, each with
// a semicolon behind it. Needs the GIL, and start_calls before it.
#pragma once

#include <cstdint>

namespace kinetograph::collect {

uint32_t current_stack();

}  // namespace kinetograph::collect
