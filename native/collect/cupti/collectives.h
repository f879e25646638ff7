// What the name of a kernel of NCCL says of the collective that it is part of.
#pragma once

#include <string>
#include <string_view>

namespace kinetograph::collect::cupti {

// JSON members under Kineto's keys; empty for every other kernel. The name is the demangled one.
std::string collective_members(std::string_view kernel);

}  // namespace kinetograph::collect::cupti
