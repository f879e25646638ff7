// What the parts of the fake driver know of one another.
#pragma once

#include <cuda.h>

namespace fake {

// Of the calling thread.
CUcontext current_context();
bool is_destroyed(CUcontext context);
// The primary context is destroyed.
bool is_reset();
// Its events and streams are gone.
void forget_context(CUcontext context);

}  // namespace fake
