#include "trace/samples.h"

#include <algorithm>
#include <cstring>

namespace kinetograph::trace {

namespace {

using record::OtherThread;
using record::Record;
using record::RecordKind;

}  // namespace

// The ids behind a record, as far as they are there: a damaged file may promise more.
Samples::Stack Samples::spelled_stack(const Record& record) const {
    if (record.payload == 0) return {};
    uint32_t bytes = 0;
    std::memcpy(&bytes, record.payload_bytes(), sizeof bytes);
    const size_t room = size_t(record.payload) * sizeof(Record) - sizeof bytes;
    const auto* names = reinterpret_cast<const uint32_t*>(record.payload_bytes() + sizeof bytes);
    Stack stack(names, names + std::min<size_t>(bytes, room) / sizeof(uint32_t));
    std::erase_if(stack, [&](uint32_t name) { return !wants_name_(name); });
    return stack;
}

bool Samples::is_in_window(const Record& record) const {
    return record.start >= window_.begin && record.start <= window_.end;
}

void Samples::see_other_thread(const Record& record) {
    switch (record.kind) {
        case RecordKind::stack_sample:
            return see_sample(record);
        case RecordKind::open_stack:
            return see_open_stack(record);
        case RecordKind::other_thread_name:
            names_[OtherThread::unpack(record.end).tid] = record.name;
            return;
        default:
            return;
    }
}

// One from before the window may be the one that spells the stack.
void Samples::see_sample(const Record& record) {
    if (record.payload != 0) spelled_[record.correlation] = spelled_stack(record);
    if (!wanted_.samples || !is_in_window(record)) return;
    const auto known = spelled_.find(record.correlation);
    if (known == spelled_.end() && record.correlation != record::empty_stack) return;
    const OtherThread thread = OtherThread::unpack(record.end);
    follow(threads_[thread.tid], thread.number, record.start,
           known == spelled_.end() ? Stack{} : known->second);
}

// A thread without calls of its own has had this stack in the whole window, whenever in it that was seen.
void Samples::see_open_stack(const Record& record) {
    if (!wanted_.open_stacks || !is_in_window(record)) return;
    open_stacks_.push_back(
        {std::max(record.start, window_.begin), OtherThread::unpack(record.end), spelled_stack(record)});
}

void Samples::close_above(Thread& thread, size_t depth, uint64_t at) {
    while (thread.open.size() > depth) {
        const Open& innermost = thread.open.back();
        thread.spans.push_back({innermost.start, at, innermost.name, false});
        thread.open.pop_back();
    }
}

void Samples::follow(Thread& thread, uint32_t number, uint64_t at, const Stack& stack) {
    if (thread.number != number) {
        if (stack.empty()) return;  // the end of one whose place has been taken
        close_above(thread, 0, at);
    }
    thread.number = number;
    size_t common = 0;
    while (common < stack.size() && common < thread.open.size() && thread.open[common].name == stack[common])
        ++common;
    close_above(thread, common, at);
    for (; common < stack.size(); ++common) thread.open.push_back({stack[common], at});
}

std::map<int32_t, Samples::Thread> Samples::threads_seen_at_the_edges() {
    std::stable_sort(open_stacks_.begin(), open_stacks_.end(),
                     [](const Sighting& a, const Sighting& b) { return a.at < b.at; });
    std::map<int32_t, Thread> threads;
    for (Sighting& sighting : open_stacks_) {
        if (sighting.stack.empty()) continue;
        const auto [thread, is_first] = threads.try_emplace(sighting.thread.tid);
        if (const auto own = own_calls_.find(sighting.thread.tid); own != own_calls_.end()) {
            if (is_first) add_what_ended_unseen(thread->second, sighting, own->second);
            continue;
        }
        if (is_first) sighting.at = window_.begin;
        follow(thread->second, sighting.thread.number, sighting.at, sighting.stack);
    }
    return threads;
}

// Not every way of tracing sees the return from a call that was open before: such a call was over when its
// thread gave its first sign.
void Samples::add_what_ended_unseen(Thread& thread, const Sighting& sighting, const OwnCalls& own) const {
    if (sighting.at > own.first_sign()) return;
    std::vector<uint32_t> known = own.since_begin();
    for (size_t i = sighting.stack.size(); i-- > 0;) {
        const auto it = std::find(known.begin(), known.end(), sighting.stack[i]);
        if (it == known.end())
            thread.spans.push_back({window_.begin, own.first_sign(), sighting.stack[i], false});
        else
            known.erase(it);
    }
}

std::map<int32_t, std::vector<SampledSpan>> Samples::take_spans() {
    threads_.merge(threads_seen_at_the_edges());  // of those that were sampled, the samples
    std::map<int32_t, std::vector<SampledSpan>> spans;
    for (auto& [tid, thread] : threads_) {
        for (; !thread.open.empty(); thread.open.pop_back())
            thread.spans.push_back({thread.open.back().start, window_.end, thread.open.back().name, true});
        std::reverse(thread.spans.begin(), thread.spans.end());
        if (!thread.spans.empty()) spans.emplace(tid, std::move(thread.spans));
    }
    return spans;
}

uint32_t Samples::name_of(int32_t tid) const {
    const auto known = names_.find(tid);
    return known == names_.end() ? 0 : known->second;
}

}  // namespace kinetograph::trace
