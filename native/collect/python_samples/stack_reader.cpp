#include "collect/python_samples/stack_reader.h"

#include <algorithm>

namespace kinetograph::collect {

namespace {

constexpr size_t most_threads = 16'384;
constexpr size_t most_frames = 10'000;
constexpr size_t most_regions = 1'024;
constexpr size_t page_bytes = 4'096;
constexpr size_t most_in_one_go = 64 * 1024;
constexpr size_t room_for_newer_frames = 2'048;
constexpr size_t align = alignof(_PyInterpreterFrame);

record::OtherThread id_of(const PyThreadState& state) {
    return {int32_t(state.native_thread_id), uint32_t(state.id)};
}

// What was read with the help of one of them says nothing of the other.
bool has_moved(const PyThreadState& before, const PyThreadState& now) {
    return newest_frame_address(before, 0) != newest_frame_address(now, 0) ||
           before.datastack_chunk != now.datastack_chunk || id_of(before) != id_of(now);
}

}  // namespace

// ---- threads

bool StackReader::find_threads() {
    return read_known_threads() || walk_threads() || walk_threads();
}

// Mostly they are the same as last time: then one call reads them all.
bool StackReader::read_known_threads() {
    uintptr_t head = 0;
    pieces_.assign(1, {thread_head_address(interpreter_), &head, sizeof head});
    for (Thread& thread : threads_) pieces_.push_back({thread.address, thread.state.bytes, state_bytes});
    if (!memory_.read(pieces_) || !is_chain(head)) return false;
    for (Thread& thread : threads_) thread.id = id_of(thread.state.get());
    return true;
}

bool StackReader::is_chain(uintptr_t head) const {
    uintptr_t expected = head, before = 0;
    for (const Thread& thread : threads_) {
        const PyThreadState& state = thread.state.get();
        if (thread.address != expected || address_of(state.prev) != before ||
            address_of(state.interp) != interpreter_)
            return false;
        before = thread.address;
        expected = address_of(state.next);
    }
    return expected == 0;
}

bool StackReader::walk_threads() {
    threads_.clear();
    uintptr_t head = 0;
    if (!memory_.read(thread_head_address(interpreter_), head)) return false;
    for (uintptr_t next = head; next != 0; next = address_of(threads_.back().state.get().next))
        if (threads_.size() == most_threads || !add_thread(next)) return false;
    return is_chain(head);
}

bool StackReader::add_thread(uintptr_t address) {
    Thread& thread = threads_.emplace_back();
    thread.address = address;
    if (!memory_.read(address, thread.state.bytes, state_bytes)) return false;
    thread.id = id_of(thread.state.get());
    return address_of(thread.state.get().interp) == interpreter_;
}

// ---- frames

StackReader::Result StackReader::read_stack(const Thread& thread) {
    thread_ = thread.address;
    state_ = thread.state;
    // What the list told of it may be outdated by now; then it is read again by what it is now.
    if (!read_top(thread) && !read_top(thread)) return Result::torn;
    return walk_frames();
}

// The thread, the address of its newest frame and the memory that most of its frames lie in. False when
// these do not belong together.
bool StackReader::read_top(const Thread& thread) {
    frames_.clear();
    places_.clear();
    regions_used_ = 0;
    newest_ = 0;
    const StateBytes before = state_;
    Region& region = next_region(0, 0);
    if (!read_data_stack(before.get(), region)) region.bytes.clear();
    const uintptr_t newest_at = newest_frame_address(before.get(), thread_);
    pieces_.assign(1, {thread_, state_.bytes, state_bytes});
    if (newest_at != 0) pieces_.push_back({newest_at, &newest_, sizeof newest_});
    pieces_.push_back({region.begin, region.bytes.data(), region.bytes.size()});
    if (!memory_.read(pieces_)) {
        memory_.read(thread_, state_.bytes, state_bytes);
        return false;
    }
    return !has_moved(before.get(), state_.get()) && id_of(state_.get()) == thread.id;
}

// Where the frames are: the newest chunk, up to a little above its top. False if that cannot be.
bool StackReader::read_data_stack(const PyThreadState& state, Region& region) const {
    const uintptr_t chunk = address_of(state.datastack_chunk), top = address_of(state.datastack_top),
                    limit = address_of(state.datastack_limit);
    if (chunk == 0 || chunk % align != 0 || top < chunk || top > limit) return false;
    const uintptr_t end = std::min(top + room_for_newer_frames, limit);
    region.begin = end - chunk > most_in_one_go ? end - most_in_one_go : chunk;
    region.begin = region.begin / align * align;
    region.bytes.resize(end - region.begin);
    return true;
}

StackReader::Region& StackReader::next_region(uintptr_t begin, size_t bytes) {
    if (regions_used_ == regions_.size()) regions_.emplace_back();
    Region& region = regions_[regions_used_++];
    region.begin = begin;
    region.bytes.resize(bytes);
    return region;
}

StackReader::Result StackReader::walk_frames() {
    for (uintptr_t address = newest_; address != 0; address = frames_.back().previous) {
        if (frames_.size() == most_frames) return goes_in_circles() ? Result::torn : Result::too_deep;
        if (!add_frame(address)) return Result::torn;
    }
    return frames_.empty() || can_be_outermost(frames_.back()) ? Result::whole : Result::torn;
}

bool StackReader::goes_in_circles() const {
    const auto is_last = [&](const Place& place) { return place.address == places_.back().address; };
    return std::count_if(places_.begin(), places_.end(), is_last) > 1;
}

bool StackReader::add_frame(uintptr_t address) {
    const std::byte* bytes = address % align == 0 ? frame_at(address) : nullptr;
    if (!bytes) return false;
    const FrameView frame = view_of(bytes);
    if (frames_.empty() && may_name_another_caller(frame)) return false;
    const FrameView* callee = frames_.empty() ? nullptr : &frames_.back();
    const bool is_called_directly =
        callee && !callee->is_entered_by_c && !callee->is_from_c && !frame.is_from_c;
    // Its callee has returned: what lies there are its remains.
    if (is_called_directly && !frame.is_suspended) return false;
    frames_.push_back(frame);
    frames_.back().has_direct_callee = is_called_directly;
    return true;
}

// In what was read, or else in the page around it, where its callers mostly are as well.
const std::byte* StackReader::frame_at(uintptr_t address) {
    size_t index = regions_used_;
    while (index-- > 0)
        if (regions_[index].holds(address)) {
            places_.push_back({address, index});
            return regions_[index].bytes.data() + (address - regions_[index].begin);
        }
    if (regions_used_ == most_regions) return nullptr;
    const uintptr_t page = address / page_bytes * page_bytes;
    Region& region = next_region(page, address + frame_bytes - page);
    if (!memory_.read(page, region.bytes.data(), region.bytes.size())) return nullptr;
    places_.push_back({address, regions_used_ - 1});
    return region.bytes.data() + (address - page);
}

// ---- the second look, and more

// Where C code stands between two frames, or they do not lie together (those of generators), nothing in them
// tells that they belong together; from 3.14 on nothing does in any. If two functions take turns at one
// place, a stack of both may be found, and found again by chance; hardly four times in a row.
bool StackReader::is_unchanged() {
    const int looks = tells_by_itself() ? 1 : 3;
    for (int i = 0; i < looks; ++i)
        if (!is_same_at_another_look()) return false;
    return true;
}

// But for the outermost frame, which C code has left on its own stack and which stays for good.
bool StackReader::tells_by_itself() const {
    if (!tells_suspension) return frames_.size() < 2;
    constexpr size_t outermost = has_mark_of_c ? 2 : 1;
    for (size_t i = 0; i + outermost < places_.size(); ++i)
        if (places_[i].region != places_[i + 1].region || frames_[i].is_entered_by_c) return false;
    return true;
}

bool StackReader::is_same_at_another_look() {
    const uintptr_t newest_at = newest_frame_address(state_.get(), thread_);
    newest_again_ = 0;
    pieces_.assign(1, {thread_, state_again_.bytes, state_bytes});
    if (newest_at != 0) pieces_.push_back({newest_at, &newest_again_, sizeof newest_again_});
    for (size_t i = 0; i < regions_used_; ++i) {
        Region& region = regions_[i];
        region.again.resize(region.bytes.size());
        pieces_.push_back({region.begin, region.again.data(), region.again.size()});
    }
    if (!memory_.read(pieces_) || newest_ != newest_again_ || has_moved(state_.get(), state_again_.get()))
        return false;
    for (size_t i = 0; i < frames_.size(); ++i)
        if (!is_frame_unchanged(i)) return false;
    return true;
}

// The innermost frame runs on; those that wait for it stay where they are.
bool StackReader::is_frame_unchanged(size_t index) const {
    const Place& place = places_[index];
    const Region& region = regions_[place.region];
    FrameView now = view_of(region.again.data() + (place.address - region.begin));
    now.has_direct_callee = frames_[index].has_direct_callee;
    if (index == 0) {
        now.instruction = frames_[0].instruction;
        now.is_suspended = frames_[0].is_suspended;
    }
    return now == frames_[index];
}

}  // namespace kinetograph::collect
