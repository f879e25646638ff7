// Where the code comes from that goes by a recorded name, for sessions that want but a part of what was
// recorded. From any thread.
#pragma once

#include <cstdint>
#include <functional>

#include "collect/python_names/filter.h"

namespace kinetograph::collect {

void remember_origin(uint32_t name, const Origin& origin);

// Whether a filter wants what goes by a name. Whom nobody remembers it wants.
std::function<bool(uint32_t)> name_filter(CallFilter filter);

}  // namespace kinetograph::collect
