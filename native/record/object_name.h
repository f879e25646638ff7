// How a Python call is recorded that goes by the object it is made on: a flag, and the parts of its name.
#pragma once

#include <cstdint>
#include <string_view>

#include "record/event.h"

namespace kinetograph::record {

// The bit of flag_input_shapes, which no call has. A trace does not have this flag.
inline constexpr uint8_t flag_object = flag_input_shapes;

// Stands between the class of the object, with its kind in front, a number for the class and one for the
// object. Both numbers tell it from others while it is recorded, and mean nothing else.
inline constexpr char object_separator = '\x1e';

inline bool is_name_of_object(std::string_view name) {
    return name.find(object_separator) != name.npos;
}

}  // namespace kinetograph::record
