#include "collect/python_calls/stacks.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "collect/python_calls/calls.h"
#include "collect/python_calls/frames.h"
#include "record/recorder.h"

namespace kinetograph::collect {

namespace {

using Stack = std::vector<uint32_t>;  // names, innermost first

struct StackHash {
    size_t operator()(const Stack& stack) const {
        size_t hash = 0;
        for (const uint32_t name : stack) hash = (hash ^ name) * 0x9e3779b97f4a7c15u;
        return hash;
    }
};

std::unordered_map<Stack, uint32_t, StackHash> known;
uint32_t known_under = 0;  // generation
Stack now;                 // kept, so that looking at a stack allocates nothing

std::string spelled(const Stack& stack) {
    std::string text;
    for (const uint32_t name : stack) {
        const std::string_view full = record::Recorder::instance().strings().lookup(name);
        text += full.substr(0, full.find(record::qualified_name_separator));
        text += ';';
    }
    return text;
}

void read_frames() {
    now.clear();
    for (Frame* frame = innermost_frame(PyThreadState_Get()); frame; frame = caller_of(frame)) {
        const CodeWord word = decision_on(code_of(frame));
        if (word.has_name()) now.push_back(word.name_in_stacks());
    }
}

}  // namespace

uint32_t current_stack() {
    if (known_under != rules.generation) known.clear();
    known_under = rules.generation;
    read_frames();
    auto [found, is_new] = known.try_emplace(now, 0);
    if (is_new) found->second = record::Recorder::instance().intern(spelled(now));
    return found->second;
}

}  // namespace kinetograph::collect
