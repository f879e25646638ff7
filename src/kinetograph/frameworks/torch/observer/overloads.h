// Which of the operators of one name a function is.
#pragma once

#include <ATen/record_function.h>

#include <string>

namespace kinetograph::torch_observer {

// Torch 2.6 tells it only with the whole name.
template <class Function>
std::string overload_of(const Function& function) {
    if constexpr (requires { function.overload_name(); }) return function.overload_name();
    const auto name = function.operator_name();
    return name ? name->overload_name : std::string();
}

}  // namespace kinetograph::torch_observer
