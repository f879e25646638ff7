// Stacks of the interpreter's threads, read while these run.
//
// A stack may change while it is read. Frames lie one behind the other and are copied in one go, which is
// many times faster than the interpreter can build them; a frame that was left while its memory stayed as it
// was gives itself away by its caller, which runs again; and before a stack is believed all of it is read
// again and compared.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collect/python_samples/layout.h"
#include "collect/python_samples/memory_reader.h"
#include "record/event.h"

namespace kinetograph::collect {

class StackReader {
public:
    struct Thread {
        uintptr_t address;
        record::OtherThread id;
        StateBytes state;
    };
    enum class Result { whole, torn, too_deep };

    StackReader(const MemoryReader& memory, uintptr_t interpreter)
        : memory_(memory), interpreter_(interpreter) {}

    // False when the list of threads changed under our eyes.
    bool find_threads();
    std::span<const Thread> threads() const { return threads_; }

    // Reads the frames, innermost first. They are only to be believed if is_unchanged() after they were used.
    Result read_stack(const Thread& thread);
    std::span<const FrameView> frames() const { return frames_; }
    bool is_unchanged();

private:
    // Memory as it was read, and as it is at the second look.
    struct Region {
        uintptr_t begin = 0;
        std::vector<std::byte> bytes;
        std::vector<std::byte> again;

        bool holds(uintptr_t address) const {
            return address >= begin && address - begin + frame_bytes <= bytes.size();
        }
    };
    struct Place {
        uintptr_t address;
        size_t region;
    };

    bool read_known_threads();
    bool walk_threads();
    bool add_thread(uintptr_t address);
    bool is_chain(uintptr_t head) const;
    bool read_top(const Thread& thread);
    bool read_data_stack(const PyThreadState& state, Region& region) const;
    Result walk_frames();
    bool goes_in_circles() const;
    bool add_frame(uintptr_t address);
    const std::byte* frame_at(uintptr_t address);
    Region& next_region(uintptr_t begin, size_t bytes);
    bool tells_by_itself() const;
    bool is_same_at_another_look();
    bool is_frame_unchanged(size_t index) const;

    const MemoryReader& memory_;
    uintptr_t interpreter_;
    std::vector<Thread> threads_;
    std::vector<Piece> pieces_;
    // Of the stack at hand.
    uintptr_t thread_ = 0;
    StateBytes state_, state_again_;
    uintptr_t newest_ = 0, newest_again_ = 0;
    std::vector<Region> regions_;
    size_t regions_used_ = 0;
    std::vector<FrameView> frames_;
    std::vector<Place> places_;
};

}  // namespace kinetograph::collect
