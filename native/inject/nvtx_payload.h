// Payloads that a program describes by schemas, as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "inject/domain.h"
#include "inject/nvtx_headers.h"

namespace kinetograph::inject {

struct DecodedPayload {
    std::string json;     // one value, or a list of them
    std::string message;  // of the event, where an entry says so
};
// What is not there, or not understood, is null. Reads only what the sizes and schemas promise to be there.
DecodedPayload decode_payloads(const Domain& domain, const nvtxPayloadData_t* payloads, size_t count);

}  // namespace kinetograph::inject
