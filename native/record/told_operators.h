// What is known of an operator before it ends, kept for sessions that end first: of a job that hangs, people
// want to know what it hangs in.
//
// A stack of ToldItems for each thread, in the memory of its records, so that it outlives the process where
// they do. Only the owner writes it; a stop reads it meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/visibility.h"
#include "record/event.h"
#include "record/extent.h"
#include "record/recording.h"

namespace kinetograph::record {

struct ThreadBuffer;
struct ToldStack;

// By the owner, of one that it has just begun. Where there is no memory for it, it is told when it ends.
KINETOGRAPH_API void tell_operator(ThreadBuffer& thread, uint64_t begun, const Operator& told,
                                   const char* inputs, size_t inputs_bytes) noexcept;
// It has ended, told or not.
KINETOGRAPH_API void forget_told_operator(ToldStack& stack, uint64_t begun) noexcept;
// All have.
void forget_told_operators(ToldStack& stack) noexcept;

// Gives scopes that are open what was told of them.
void add_told(const ExtentHeader& told, std::vector<OpenScopeCopy>& open);

}  // namespace kinetograph::record
