// What only some nodes of an execution trace have: which kernel was launched, what a collective sends, which
// indices a tensor holds.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/aminmax.h>
#include <ATen/record_function.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>

#include <cstdint>
#include <string>

#include "trace_nodes.h"

namespace kinetograph::torch_observer {

// Of a kernel that a compiler made, told by who launches it.
struct KernelFacts {
    std::string backend, file;
    int64_t stream = 0;
    bool has_stream = false;
};

inline KernelFacts kernel_of(const at::RecordFunction& function) {
    KernelFacts kernel;
    const auto told = function.kwinputs();
    if (told.empty()) return kernel;
    const auto text = [&](const char* key) {
        const auto found = told.find(key);
        return found != told.end() && found->second.isString() ? found->second.toStringRef() : std::string();
    };
    kernel.backend = text("kernel_backend");
    const std::string path = text("kernel_file");
    kernel.file = path.substr(path.rfind('/') + 1);  // as torch writes it
    const auto stream = told.find("stream");
    kernel.has_stream = stream != told.end() && stream->second.isInt();
    if (kernel.has_stream) kernel.stream = stream->second.toInt();
    return kernel;
}

// As members of the list of attributes.
inline std::string collective_attributes() {
    const auto* info = dynamic_cast<const torch::ParamCommsDebugInfo*>(
        c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PARAM_COMMS_INFO));
    if (!info) return {};
    std::string text;
    const auto start = [&](const char* name, const char* type) {
        ((text += text.empty() ? "{\"name\": \"" : ",{\"name\": \"") += name) += "\", \"type\": \"";
        (text += type) += "\", \"value\": ";
    };
    const auto add_text = [&](const char* name, const std::string& value) {
        start(name, "string");
        add_quoted(text, value);
        text += '}';
    };
    const auto add_count = [&](const char* name, int64_t value) {
        start(name, "uint64");
        add_number(text, value);
        text += '}';
    };
    const auto add_sizes = [&](const char* name, const std::vector<int64_t>& sizes) {
        std::string list = "[";
        for (const int64_t size : sizes) {
            if (list.size() > 1) list += ',';
            add_number(list, size);
        }
        add_text(name, list + ']');
    };
    add_text("collective_name", info->getCollectiveName());
    add_text("dtype", c10::toString(info->getDType()));
    add_count("in_msg_nelems", info->getInMessageNelems());
    add_count("out_msg_nelems", info->getOutMessageNelems());
    add_sizes("in_split_size", info->getInputSplitSizes());
    add_sizes("out_split_size", info->getOutputSplitSizes());
    add_count("global_rank_start", info->getGlobalRankStart());
    add_count("global_rank_stride", info->getGlobalRankStride());
    add_text("pg_name", info->getProcessGroupName());
    add_text("pg_desc", info->getProcessGroupDesc());
    add_count("pg_size", info->getWorldSize());
    return text;
}

// Smallest and largest number of each tensor of integers, which a replay needs to make up indices. The key
// counts tensors, not inputs.
class IntegralRanges {
public:
    void add(const c10::IValue& value) {
        if (value.isTensor()) return add_tensor(value.toTensor());
        if (value.isList())
            for (const c10::IValue& element : value.toListRef()) add(element);
    }
    std::string text() const { return text_.empty() ? std::string() : '{' + text_ + '}'; }

private:
    void add_tensor(const at::Tensor& tensor) {
        const int64_t index = tensors_++;
        if (!tensor.defined() || !at::isIntegralType(tensor.scalar_type(), false) || tensor.numel() == 0)
            return;
        if (tensor.is_meta() || tensor.layout() != at::kStrided || others_would_see(tensor)) return;
        const at::RecordFunctionGuard nobody_looks(false);
        const auto [least, most] = at::aminmax(tensor);
        const auto from = least.item<int64_t>(), to = most.item<int64_t>();
        ((text_ += text_.empty() ? "\"" : ",\"") += std::to_string(index)) += "\":[";
        add_number(text_, from);
        text_ += ',';
        add_number(text_, to);
        text_ += ']';
    }

    // Who traces a program by its operators would take ours for the program's, and one that only seems to
    // hold numbers has none.
    static bool others_would_see(const at::Tensor& tensor) {
        using c10::DispatchKey;
        constexpr c10::DispatchKeySet wrapped({DispatchKey::Python, DispatchKey::FuncTorchBatched,
                                               DispatchKey::FuncTorchGradWrapper,
                                               DispatchKey::Functionalize});
        return tensor.key_set().has_any(wrapped) || c10::impl::TorchDispatchModeTLS::any_modes_set();
    }

    std::string text_;
    int64_t tensors_ = 0;
};

inline std::string integral_ranges(c10::ArrayRef<const c10::IValue> inputs) {
    IntegralRanges ranges;
    try {
        for (const c10::IValue& value : inputs) ranges.add(value);
    } catch (const std::exception&) {
    }
    return ranges.text();
}

}  // namespace kinetograph::torch_observer
