#include "trace/operator_args.h"

namespace kinetograph::trace {

namespace {

void add_members(std::string& text, std::string_view members) {
    if (members.empty()) return;
    if (!text.empty()) text += ',';
    text += members;
}

}  // namespace

size_t OperatorArgs::Hash::operator()(const Key& key) const {
    constexpr uint64_t odd = 0x9E3779B97F4A7C15;
    uint64_t hash = (key.flops ^ uint64_t(key.inputs) << 32 ^ key.members) * odd;
    hash ^= hash >> 32;
    return size_t((hash ^ key.forward_thread ^ uint64_t(key.has_sequence) << 40) * odd);
}

const TextRange& OperatorArgs::operator()(const record::Operator& told) {
    const Key key{options_.wanted.flops ? told.flops : 0, options_.wanted.input_shapes ? told.inputs() : 0,
                  told.members(), told.forward_thread(), told.sequence >= 0};
    auto [known, is_new] = ranges_.try_emplace(key);
    if (is_new) known->second = keep(text(told, options_.wanted.input_shapes ? clean(told.inputs()) : ""));
    return known->second;
}

std::string OperatorArgs::text(const record::Operator& told, std::string_view inputs) const {
    std::string text(inputs);
    if (told.sequence >= 0) add_members(text, "\"Fwd thread id\":" + std::to_string(told.forward_thread()));
    if (options_.wanted.flops && told.flops != 0)
        add_members(text, "\"flops\":" + std::to_string(told.flops));
    add_members(text, clean(told.members()));
    return text;
}

std::string OperatorArgs::clean(uint32_t members) const {
    if (members == 0) return {};
    std::string clean(recording_.names(members));
    if (options_.clean_members && !options_.clean_members(clean, {}, clean)) return {};
    return clean;
}

TextRange OperatorArgs::keep(std::string_view text) {
    if (text.empty()) return {};
    const TextRange range{trace_.args_text.size(), text.size()};
    trace_.args_text.append(text.data(), text.size());
    return range;
}

}  // namespace kinetograph::trace
