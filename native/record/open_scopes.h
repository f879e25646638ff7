// The open scopes of a thread as others see them: copied while their owner goes on.
#pragma once

#include <vector>

#include "record/recording.h"
#include "record/thread_buffer.h"

namespace kinetograph::record {

// The owner may go on while we read: takes what held still, else only what lies below everything that moved.
std::vector<OpenScopeCopy> open_scopes_of(ThreadBuffer& thread);
// Scopes that ended while they were copied: their records are in the extent that the owner is writing to.
void forget_ended(std::vector<OpenScopeCopy>& open, const RecordRange& ended);
// What was open when its thread left, unless it is still open.
void keep_open_at_leave(const std::vector<OpenScopeCopy>& left, std::vector<OpenScopeCopy>& open);

}  // namespace kinetograph::record
