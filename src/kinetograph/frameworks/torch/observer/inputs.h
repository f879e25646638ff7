// What an operator was called with, as the text that becomes its arguments. Nothing here keeps a tensor:
// sizes, types and numbers are copied.
//
// A program calls its operators with the same shapes again and again. So inputs are first brought into a key,
// a few words per tensor; the text is only made for a key that this thread does not know.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <torch/csrc/profiler/util.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "flops.h"
#include "hash.h"
#include "names.h"
#include "recorder.h"

namespace torch::profiler::impl {
TORCH_API bool get_record_concrete_inputs_enabled();  // of a header that would bring half of Kineto along
}

namespace kinetograph::torch_observer {

namespace profiler = torch::profiler::impl;

// What sessions ask for.
enum Wants : uint32_t { wants_shapes = 1, wants_flops = 2, wants_overloads = 4, wants_modules = 8 };

inline bool tells_sizes(const at::Tensor& tensor) {
    return tensor.defined() && !tensor.is_nested() &&
           !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

// Longer lists say nothing to a reader, and torch leaves them out as well.
inline bool is_scalar_list(const c10::IValue& value) {
    constexpr size_t longest = 30;
    if (!value.isList()) return false;
    const auto list = value.toListRef();
    return list.empty() || (list[0].isScalar() && list.size() <= longest);
}

// Words, and a hash of them that is there when the last of them is. A list may have thousands of tensors: of
// words beyond the most, which nobody is to keep, only the last stays.
class Key {
public:
    static constexpr size_t most_words = 256;

    void clear() {
        size_ = 0;
        hash_ = 0;
    }
    [[gnu::always_inline]] void add(int64_t word) {
        if (size_ == words_.size()) [[unlikely]]
            size_ = most_words;
        words_[size_++] = word;
        hash_ = mixed(hash_, uint64_t(word));
    }
    bool is_too_long() const { return size_ > most_words; }
    uint64_t hash() const { return mixed(hash_, size_); }
    std::vector<int64_t> copy() const { return {words_.begin(), words_.begin() + ptrdiff_t(size_)}; }
    // Word by word, as they were added a moment ago: wider loads would wait until those had reached the
    // cache.
    bool is(const std::vector<int64_t>& other) const {
        if (other.size() != size_) return false;
        for (size_t i = 0; i < size_; ++i)
            if (words_[i] != other[i]) return false;
        return true;
    }

private:
    std::vector<int64_t> words_ = std::vector<int64_t>(most_words + 1);
    size_t size_ = 0;
    uint64_t hash_ = 0;
};

// The key of inputs: words that are equal where the texts would be.
class InputKey {
public:
    explicit InputKey(Key& key) : key_(key) { key_.clear(); }

    [[gnu::always_inline]] void put(int64_t word) { key_.add(word); }

    // Of torch.compile and its like: whoever asks how large such a tensor is binds the program to that.
    bool has_symbols() const { return has_symbols_; }

    [[gnu::hot]] void put(const at::Tensor& tensor) {
        if (!tells_sizes(tensor)) {
            const bool is_symbolic =
                tensor.defined() && tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
            has_symbols_ |= is_symbolic;
            return put(int64_t(is_symbolic ? 'Y' : 'U'));
        }
        const auto sizes = tensor.sizes();
        const bool is_strided = tensor.layout() == at::kStrided;
        put(int64_t('T') | int64_t(tensor.scalar_type()) << 8 | int64_t(is_strided) << 16 |
            int64_t(sizes.size()) << 24);
        put(sizes);
        if (is_strided) put(tensor.strides());
    }

    void put(c10::IntArrayRef numbers) {
        for (const int64_t number : numbers) put(number);
    }

    [[gnu::hot]] void put(const c10::IValue& value) {
        has_symbols_ |= value.isSymInt() || value.isSymFloat() || value.isSymBool();
        if (value.isTensor()) return put(value.toTensor());
        if (value.isScalar()) return put_scalar(value);
        if (value.isTensorList()) return put_list('L', value.toTensorList());
        if (is_scalar_list(value)) return put_list('N', value.toListRef());
        put(int64_t('O'));
    }

private:
    void put_scalar(const c10::IValue& value) {
        put(int64_t('S') | int64_t(value.isInt()) << 8 | int64_t(value.isDouble()) << 9 |
            int64_t(value.isBool()) << 10);
        if (value.isInt()) return put(value.toInt());
        if (value.isBool()) return put(int64_t(value.toBool()));
        if (value.isDouble()) return put(bits(value.toDouble()));
        put(std::string_view(profiler::ivalueToStr(value, false)));
    }

    void put(std::string_view text) {
        put(int64_t(text.size()));
        for (const char character : text) put(int64_t(character));
    }

    static int64_t bits(double number) {
        int64_t word;
        std::memcpy(&word, &number, sizeof word);
        return word;
    }

    template <class List>
    void put_list(char kind, const List& list) {
        put(int64_t(kind) | int64_t(list.size()) << 8);
        for (const auto& element : list) put(element);
    }

    Key& key_;
    bool has_symbols_ = false;
};

// The same as JSON members, spelled by torch's own functions.
class InputText {
public:
    explicit InputText(bool with_concrete) : with_concrete_(with_concrete) {}

    void add(const c10::IValue& value) {
        dims_.emplace_back(std::vector<int64_t>());
        strides_.emplace_back(std::vector<int64_t>());
        types_.emplace_back();
        concrete_.emplace_back();
        if (value.isTensor()) return add_tensor(value.toTensor());
        if (value.isTensorList()) return add_tensors(value.toTensorList());
        if (value.isScalar()) return add_concrete(value, "Scalar");
        if (with_concrete_ && is_scalar_list(value)) add_concrete(value, "ScalarList");
    }

    std::string text() const {
        std::string text = "\"Input Dims\":" + profiler::variantShapesToStr(dims_) +
                           ",\"Input Strides\":" + profiler::variantShapesToStr(strides_) +
                           ",\"Input type\":" + profiler::strListToStr(types_);
        if (with_concrete_) text += ",\"Concrete Inputs\":" + profiler::ivalueListToStr(concrete_);
        return text;
    }

private:
    static std::vector<int64_t> strides_of(const at::Tensor& tensor) {
        return tensor.layout() == at::kStrided ? tensor.strides().vec() : std::vector<int64_t>();
    }

    void add_tensor(const at::Tensor& tensor) {
        if (!tells_sizes(tensor)) return;
        dims_.back() = tensor.sizes().vec();
        strides_.back() = strides_of(tensor);
        types_.back() = std::string(c10::scalarTypeToTypeMeta(tensor.scalar_type()).name());
    }

    void add_tensors(const c10::List<at::Tensor>& tensors) {
        std::vector<std::vector<int64_t>> dims, strides;
        for (const at::Tensor& tensor : tensors) {
            if (!tells_sizes(tensor)) continue;
            dims.push_back(tensor.sizes().vec());
            strides.push_back(strides_of(tensor));
        }
        dims_.back() = std::move(dims);
        strides_.back() = std::move(strides);
        types_.back() = "TensorList";
    }

    void add_concrete(const c10::IValue& value, const char* type) {
        types_.back() = type;
        if (with_concrete_) concrete_.back() = value;
    }

    const bool with_concrete_;
    std::vector<profiler::shape> dims_, strides_;
    std::vector<std::string> types_;
    std::vector<c10::IValue> concrete_;
};

// What is recorded of the inputs of one operator: the id of a text, or, of inputs that are seen for the first
// time, the text itself. Numbers that change with every step would fill the table of texts otherwise.
struct KnownInputs {
    uint32_t id = 0;
    uint64_t flops = 0;
    uint64_t estimated_flops = 0;  // where torch counts none, and nothing around it or inside is counted
};

class Inputs {
public:
    // Until the next is looked for.
    [[gnu::hot]] const KnownInputs& find(const at::RecordFunction& function, uint32_t name, uint32_t wants,
                                         std::string& text) {
        const bool has_symbols = make_key(function, name, wants);
        if (key_.is_too_long()) [[unlikely]]
            return told_each_time(function, has_symbols, wants, text);
        const uint64_t hash = key_.hash();
        Line& line = lines_[hash % lines_.size()];
        Entry* known = find_in(line, hash);
        KnownInputs& found = known ? known->found : keep(line, hash).found;
        if (!known && !has_symbols && wants & wants_flops) count_flops(function, found);
        if (wants & wants_shapes && (found.id == 0 || !is_known(found.id)))
            found.id = told(text_of(function), !known, text);
        return found;
    }

private:
    struct Entry {
        uint64_t hash = 0;
        std::vector<int64_t> key;  // none is empty
        KnownInputs found;
    };
    // A step of a model has hundreds of keys. With one place to a line, those that meet in it would be
    // spelled anew each time: recording a step took four times what it takes without shapes.
    using Line = std::array<Entry, 4>;

    Entry* find_in(Line& line, uint64_t hash) {
        for (Entry& entry : line)
            if (entry.hash == hash && key_.is(entry.key)) return &entry;
        return nullptr;
    }

    [[gnu::noinline, gnu::cold]] const KnownInputs& told_each_time(const at::RecordFunction& function,
                                                                   bool has_symbols, uint32_t wants,
                                                                   std::string& text) {
        unkept_ = {};
        if (!has_symbols && wants & wants_flops) count_flops(function, unkept_);
        if (wants & wants_shapes) text = text_of(function);
        return unkept_;
    }

    // In the place of that which was kept first.
    Entry& keep(Line& line, uint64_t hash) {
        std::rotate(line.begin(), line.end() - 1, line.end());
        Entry& entry = line.front();
        entry.hash = hash;
        entry.key = key_.copy();
        entry.found = {};
        return entry;
    }

    bool make_key(const at::RecordFunction& function, uint32_t name, uint32_t wants) {
        InputKey key(key_);
        key.put(int64_t(name) << 8 | wants);
        for (const c10::IValue& value : function.inputs()) key.put(value);
        return key.has_symbols();
    }

    // The id of the text, or 0 and the text itself.
    static uint32_t told(std::string&& made, bool is_new, std::string& text) {
        constexpr size_t longest = 16'384;  // of a name that is not cut
        if (!is_new && !made.empty() && made.size() <= longest)
            return recorder->intern_text(made.data(), made.size());
        text = std::move(made);
        return 0;
    }

    static std::string text_of(const at::RecordFunction& function) {
        if (function.inputs().empty()) return {};
        InputText text(profiler::get_record_concrete_inputs_enabled());
        for (const c10::IValue& value : function.inputs()) text.add(value);
        return text.text();
    }

    static void count_flops(const at::RecordFunction& function, KnownInputs& found) {
        found.flops = profiler::computeFlops(function.name(), profiler::saveExtraArgs(function));
        if (found.flops == 0) found.estimated_flops = estimated_flops(function);
    }

    Key key_;
    KnownInputs unkept_;
    std::array<Line, 512> lines_;
};

}  // namespace kinetograph::torch_observer
