// What was told of operators, as the arguments it becomes. Operators of one shape share one text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "record/recording.h"
#include "trace/builder.h"
#include "trace/recorded_names.h"

namespace kinetograph::trace {

class OperatorArgs {
public:
    OperatorArgs(const record::Recording& recording, const BuildOptions& options, Trace& trace)
        : recording_(recording), options_(options), trace_(trace) {}

    const TextRange& operator()(const record::Operator& told);
    // Of one whose inputs were told as text, JSON already.
    std::string text(const record::Operator& told, std::string_view inputs) const;

private:
    // What makes two operators have the same arguments.
    struct Key {
        uint64_t flops;
        uint32_t inputs, members, forward_thread;
        bool has_sequence;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        size_t operator()(const Key& key) const;
    };

    std::string clean(uint32_t members) const;
    TextRange keep(std::string_view text);

    const record::Recording& recording_;
    const BuildOptions& options_;
    Trace& trace_;
    std::unordered_map<Key, TextRange, Hash> ranges_;
};

}  // namespace kinetograph::trace
