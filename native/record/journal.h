// What a session file holds besides records and stacks: names, pauses, and what was open when one began.
//
// Called under the recorder's lock. Items are complete before they are counted, so that a reader, after a
// kill or meanwhile, sees none half written.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "record/memory.h"
#include "record/recording.h"

namespace kinetograph::record {

class Journal {
public:
    explicit Journal(SlabPool& pool) : pool_(pool) {}

    void add_name(uint32_t id, std::string_view text);
    // Nothing of what follows is wanted by the sessions of the file, until `resume`. No effect when it is so
    // already.
    void pause(uint64_t at);
    void resume(uint64_t at);
    // A scope that the pause, which begins at its `seen_until`, may not see the end of. The place to tell a
    // later one, if it is open still; nullptr when there is no memory.
    LeftOpenItem* add_left_open(uint32_t thread, int32_t tid, const OpenScopeCopy& scope);
    // Where threads count what they lose. Empty when there is no memory.
    ExtentRef losses();
    // Everything, for whoever keeps it until the file goes.
    std::vector<ExtentRef> take();

private:
    std::byte* room_for(ExtentKind kind, ExtentRef& extent, size_t bytes);
    static void publish(const ExtentRef& extent, size_t bytes);
    template <class Item>
    Item* add(ExtentKind kind, ExtentRef& extent, const Item& item);

    SlabPool& pool_;
    ExtentRef names_, pauses_, left_open_, losses_;
    std::vector<ExtentRef> extents_;
    PauseItem* pause_ = nullptr;  // that lasts
};

}  // namespace kinetograph::record
