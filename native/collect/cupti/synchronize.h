// Waiting for everything that the devices of this process still have to do.
#pragma once

#include "collect/cupti/library.h"

namespace kinetograph::collect::cupti {

struct Waiting {
    // False: a stream that blocks is being captured, and waiting would break the capture, or the driver
    // refused.
    bool is_done = true;
    int contexts = 0;  // that were waited for; those that other threads made for themselves are not known
};
Waiting wait_for_devices(const Driver& driver);

}  // namespace kinetograph::collect::cupti
