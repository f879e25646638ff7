// Operators as torch tells them by NVTX: "aten::mm, seq = 3, op_id = 7", perhaps with sizes behind.
#pragma once

#include <string_view>

namespace kinetograph::inject {

// What of torch tells operators, and nothing else, by NVTX; ranges of `torch.cuda.nvtx` come from another
// library of torch.
inline constexpr std::string_view library_of_torch = "libtorch_cuda.so";

struct ToldOperator {
    std::string_view name;   // without the numbers, which are others each time
    std::string_view sizes;  // of its inputs, a list of lists as JSON has it; "" where torch was not asked
};

// A text that has no numbers is a name as it is.
ToldOperator operator_in(std::string_view told);

}  // namespace kinetograph::inject
