// The open scopes of a thread as others see them: copied while their owner goes on.
#pragma once

#include <vector>

#include "record/recording.h"
#include "record/thread_buffer.h"

namespace kinetograph::record {

// What was open at one moment, and what was told of the operators among it. Where the owner goes on without a
// pause, so that no moment can be had, what lay below all that it began and ended meanwhile.
std::vector<OpenScopeCopy> open_scopes_of(ThreadBuffer& thread);
// A scope that ended after it was copied is there twice, and not open any more: `ended` are the records that
// its thread wrote last.
void forget_ended(std::vector<OpenScopeCopy>& open, const RecordRange& ended);
// What was open when its thread left, unless it is still open.
void keep_open_at_leave(const std::vector<OpenScopeCopy>& left, std::vector<OpenScopeCopy>& open);

}  // namespace kinetograph::record
