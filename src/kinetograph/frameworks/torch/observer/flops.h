// FLOPs of operators that torch's own profiler has no formula for, by their inputs alone.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace kinetograph::torch_observer {

using Values = c10::ArrayRef<const c10::IValue>;

// Throws where an input is no tensor with sizes, as tensors do themselves.
inline c10::IntArrayRef sizes_of(Values inputs, size_t index) {
    return inputs.at(index).toTensor().sizes();
}

inline uint64_t product(c10::IntArrayRef sizes) {
    uint64_t all = 1;
    for (const int64_t size : sizes) all *= uint64_t(size);
    return all;
}

// A multiplication and an addition for each element of the weights and each row of the input.
inline uint64_t linear_flops(Values inputs) {
    const c10::IntArrayRef weight = sizes_of(inputs, 1);
    return weight.size() < 2 ? 2 * product(sizes_of(inputs, 0))
                             : 2 * product(sizes_of(inputs, 0)) * uint64_t(weight.front());
}

// Each element of the weights meets each place, of the output where it is not transposed.
inline uint64_t convolution_flops(c10::IntArrayRef weight, c10::IntArrayRef places) {
    return 2 * uint64_t(places.front()) * product(places.slice(2)) * product(weight);
}

// Along one dimension, as convolutions have it: padded on both sides, with holes of the dilation.
inline int64_t output_size(int64_t input, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
    const int64_t steps = input + 2 * padding - dilation * (kernel - 1) - 1;
    return stride > 0 && steps >= 0 ? steps / stride + 1 : 0;
}

// convolution(input, weight, bias, stride, padding, dilation, transposed, ...)
inline uint64_t forward_flops(Values inputs) {
    const c10::IntArrayRef weight = sizes_of(inputs, 1);
    std::vector<int64_t> places = sizes_of(inputs, 0).vec();
    // Torch has not looked at them yet.
    if (weight.size() != places.size() || places.size() < 2) return 0;
    if (inputs.at(6).toBool()) return convolution_flops(weight, places);
    const auto stride = inputs.at(3).toIntVector(), padding = inputs.at(4).toIntVector(),
               dilation = inputs.at(5).toIntVector();
    // One number may stand for all dimensions.
    const auto of = [](const std::vector<int64_t>& all, size_t i) { return all.at(all.size() == 1 ? 0 : i); };
    for (size_t i = 0; i + 2 < places.size(); ++i)
        places[i + 2] =
            output_size(places[i + 2], weight[i + 2], of(stride, i), of(padding, i), of(dilation, i));
    return convolution_flops(weight, places);
}

// convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed,
// output_padding, groups, output_mask): each gradient takes what the forward pass did.
inline uint64_t backward_flops(Values inputs) {
    const bool is_transposed = inputs.at(7).toBool();
    const auto wanted = inputs.at(10).toBoolList();
    const c10::IntArrayRef places = sizes_of(inputs, is_transposed ? 1 : 0);
    if (places.size() < 2) return 0;
    const uint64_t forward = convolution_flops(sizes_of(inputs, 2), places);
    return forward * (uint64_t(wanted.get(0)) + uint64_t(wanted.get(1)));
}

// Of the scores and of the sum of values, for each head and each pair of a query and a key; `by_key` and
// `by_value` are how many such products there are.
inline uint64_t attention_flops(Values qkv, uint64_t by_key, uint64_t by_value) {
    const c10::IntArrayRef query = sizes_of(qkv, 0), key = sizes_of(qkv, 1), value = sizes_of(qkv, 2);
    if (query.empty() || key.size() < 2 || value.empty()) return 0;
    const uint64_t rows = product(query.slice(0, query.size() - 1));
    return 2 * rows * uint64_t(key.at(key.size() - 2)) *
           (by_key * uint64_t(query.back()) + by_value * uint64_t(value.back()));
}

// attention(query, key, value, ...); backward(grad_output, query, key, value, ...), which makes the scores
// once more and then a gradient each for the scores, the query, the key and the value.
inline uint64_t fused_attention_flops(std::string_view name, Values inputs) {
    const bool is_backward = name.find("_backward") != name.npos;
    return is_backward ? attention_flops(inputs.slice(1), 3, 2) : attention_flops(inputs, 1, 1);
}

inline uint64_t flops_by_name(std::string_view name, Values inputs) {
    if (name == "aten::linear") return linear_flops(inputs);
    if (name == "aten::convolution") return forward_flops(inputs);
    if (name == "aten::convolution_backward") return backward_flops(inputs);
    const bool is_attention = name.starts_with("aten::_scaled_dot_product_");
    return is_attention ? fused_attention_flops(name, inputs) : 0;
}

// 0 where there is no formula, and where inputs are not as it expects: nested, symbolic, of another version.
inline uint64_t estimated_flops(const at::RecordFunction& function) noexcept {
    try {
        return flops_by_name(function.name(), function.inputs());
    } catch (...) {
        return 0;
    }
}

}  // namespace kinetograph::torch_observer
