// What NVTX hands out handles for.
#pragma once

#include <string_view>

#include "inject/domain.h"
#include "inject/names.h"
#include "inject/nvtx_headers.h"

namespace kinetograph::inject {

inline Domain& domain_of(nvtxDomainHandle_t handle) {
    return handle ? *reinterpret_cast<Domain*>(handle) : default_domain();
}

inline nvtxDomainHandle_t handle_of(Domain& domain) {
    return reinterpret_cast<nvtxDomainHandle_t>(&domain);
}

inline const RegisteredName* name_of(nvtxStringHandle_t handle) {
    return reinterpret_cast<const RegisteredName*>(handle);
}

inline nvtxStringHandle_t handle_of(const RegisteredName& name) {
    return reinterpret_cast<nvtxStringHandle_t>(const_cast<RegisteredName*>(&name));
}

}  // namespace kinetograph::inject
