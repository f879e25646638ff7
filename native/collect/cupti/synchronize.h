// Waiting for everything that the devices of this process still have to do.
#pragma once

#include "collect/cupti/library.h"

namespace kinetograph::collect::cupti {

// False when it was not done: a stream that blocks is being captured, and waiting would break the capture.
bool wait_for_devices(const Driver& driver);

}  // namespace kinetograph::collect::cupti
