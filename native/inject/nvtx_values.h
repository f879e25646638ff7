// Values of payloads that need no schema, as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "inject/domain.h"
#include "inject/nvtx_blob.h"

namespace kinetograph::inject {

// False, and nothing is appended, where the bytes are too few or the type is not one of these.
bool append_simple_value(std::string& out, const Domain& domain, uint64_t type, Blob blob);
// So many bytes as one number.
bool append_hex(std::string& out, Blob blob, size_t bytes);

}  // namespace kinetograph::inject
