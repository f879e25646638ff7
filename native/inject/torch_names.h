// Operators as torch tells them by NVTX: "aten::mm, seq = 3, op_id = 7", perhaps with sizes behind.
#pragma once

#include <string_view>

namespace kinetograph::inject {

// What of torch tells operators, and nothing else, by NVTX; ranges of `torch.cuda.nvtx` come from another
// library of torch.
inline constexpr std::string_view library_of_torch = "libtorch_cuda.so";

// Without the numbers, which are others each time. A text that has none is left as it is.
std::string_view operator_name(std::string_view told);

}  // namespace kinetograph::inject
