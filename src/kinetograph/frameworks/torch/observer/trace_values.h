// What an operator was called with and what it gave back, copied into bytes while it runs. `trace_nodes.h`
// reads them again, later and in another thread; both know the layout, and nobody else. No tensor is held: of
// one there is its address, which tells it from others, and what it looks like.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kinetograph::torch_observer {

enum class ValueTag : uint8_t { tensor, integer, real, boolean, text, list, other };

struct TensorFacts {
    uint64_t tensor = 0, storage = 0;  // addresses
    int64_t offset = 0, elements = 0;
    uint32_t element_bytes = 0;
    caffe2::TypeMeta type;
    uint16_t dims = 0, strides = 0;  // how many follow
    int8_t device_type = 0, device_index = 0;
    bool has_storage = false;
};
static_assert(std::is_trivially_copyable_v<TensorFacts>);

class Bytes {
public:
    explicit Bytes(std::string& bytes) : bytes_(bytes) {}

    template <class Plain>
    void put(const Plain& value) {
        static_assert(std::is_trivially_copyable_v<Plain>);
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void put_text(std::string_view text) {
        put(uint32_t(text.size()));
        bytes_.append(text);
    }
    void put_numbers(c10::IntArrayRef numbers) {
        bytes_.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t));
    }
    size_t size() const { return bytes_.size(); }
    void cut(size_t size) { bytes_.resize(size); }

private:
    std::string& bytes_;
};

class ValueBytes : public Bytes {
public:
    using Bytes::Bytes;

    template <class Values>
    void put_values(const Values& values) {
        put(uint32_t(values.size()));
        for (const c10::IValue& value : values) put_value(value);
    }

    void put_value(const c10::IValue& value) {
        if (value.isTensor()) return put_tensor(value.toTensor());
        if (value.isInt()) return put_plain(ValueTag::integer, value.toInt());
        if (value.isBool()) return put_plain(ValueTag::boolean, value.toBool());
        if (value.isDouble()) return put_plain(ValueTag::real, value.toDouble());
        if (value.isNone()) return put_other("None", "<None>");
        if (value.isString()) return put_string(value.toStringRef());
        if (value.isDevice()) return put_other("Device", value.toDevice().str());
        if (value.isList()) return put_list("GenericList", value.toListRef());
        if (value.isTuple()) return put_list("Tuple", value.toTupleRef().elements());
        const std::string kind = value.tagKind();
        put_other(kind, '<' + kind + '>');
    }

private:
    template <class Plain>
    void put_plain(ValueTag tag, Plain value) {
        put(tag);
        put(value);
    }
    void put_string(std::string_view text) {
        put(ValueTag::text);
        put_text(text);
    }
    void put_other(std::string_view type, std::string_view text) {
        put(ValueTag::other);
        put_text(type);
        put_text(text);
    }
    void put_list(std::string_view type, c10::ArrayRef<c10::IValue> values) {
        put(ValueTag::list);
        put_text(type);
        put_values(values);
    }

    // What a strange tensor refuses to tell costs no more than that.
    void put_tensor(const at::Tensor& tensor) {
        TensorFacts facts;
        c10::IntArrayRef sizes, strides;
        facts.tensor = reinterpret_cast<uintptr_t>(tensor.unsafeGetTensorImpl());
        facts.type = tensor.dtype();
        if (tells_sizes(tensor)) {
            ask([&] { sizes = tensor.sizes(); });
            if (tells_strides(tensor.layout())) ask([&] { strides = tensor.strides(); });
        }
        if (tensor.defined() && tensor.has_storage()) ask([&] { tell_storage(tensor, facts); });
        facts.dims = uint16_t(sizes.size());
        facts.strides = uint16_t(strides.size());
        put(ValueTag::tensor);
        put(facts);
        put_numbers(sizes);
        put_numbers(strides);
    }

    static bool tells_sizes(const at::Tensor& tensor) {
        return tensor.defined() && !tensor.is_nested() &&
               !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
    }

    // Others throw, which is slow: torch looks up where.
    static bool tells_strides(c10::Layout layout) {
        return layout == at::kStrided || layout == at::kSparse || layout == at::kMkldnn;
    }

    static void tell_storage(const at::Tensor& tensor, TensorFacts& facts) {
        facts.has_storage = true;
        facts.element_bytes = uint32_t(tensor.itemsize());
        facts.device_type = int8_t(tensor.device().type());
        facts.device_index = int8_t(tensor.device().index());
        const c10::StorageImpl* storage =
            tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
        ask([&] { facts.storage = reinterpret_cast<uintptr_t>(storage->data()); });
        if (!tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
            ask([&] { facts.offset = tensor.storage_offset(); });
            ask([&] { facts.elements = tensor.numel(); });
        }
    }

    template <class Question>
    static void ask(Question question) {
        try {
            question();
        } catch (const std::exception&) {
        }
    }
};

}  // namespace kinetograph::torch_observer
