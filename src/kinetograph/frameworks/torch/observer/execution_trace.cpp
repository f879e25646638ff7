// Execution traces: every operator with what it was called with and what it gave back, as nodes of a graph.
//
// A trace has one of a few places, and each place a callback of its own, so that traces know nothing of each
// other. A thread copies what it sees into a log of its own; whole chunks are handed over to whoever writes
// the file, who asks for text by the functions at the end of this file. The profiler's callback is another
// (observer.cpp), and costs the same with a trace or without.
#include <ATen/record_function.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "overloads.h"
#include "telling.h"
#include "trace_extras.h"
#include "trace_nodes.h"
#include "trace_values.h"

namespace kinetograph::torch_observer {

namespace {

using Values = c10::ArrayRef<const c10::IValue>;

constexpr size_t most_traces = 8;
constexpr size_t chunk_bytes = 256 << 10;
constexpr size_t most_waiting_bytes = size_t(1) << 30;  // of those that nobody has written yet

// What one thread saw of one trace. Its owner writes; others read what is left at the end, end a node that
// began here, and ask what is open: so it has a lock, which nobody else holds as a rule.
struct ThreadLog {
    ThreadLog(uint64_t trace, ThreadFacts facts) : trace(trace), facts(facts) {}

    const uint64_t trace;
    const ThreadFacts facts;
    std::mutex mutex;
    std::string bytes;
    std::vector<uint64_t> open;
    bool is_told = false;  // that there is such a thread; of the writer
};

struct Chunk {
    std::shared_ptr<ThreadLog> log;
    std::string bytes;
};

// Locks are taken in the order in which they stand here, that of a log in between.
struct Place {
    std::atomic<uint64_t> running{0};  // the number of the trace that records now; 0: none
    std::atomic<uint64_t> next_id{0};
    std::atomic<uint64_t> lost{0};
    at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
    bool saves_ranges = false;

    std::mutex mutex;
    std::vector<std::shared_ptr<ThreadLog>> logs;

    std::mutex waiting_mutex;
    std::condition_variable has_more;
    std::deque<Chunk> waiting;
    size_t waiting_bytes = 0;
    bool is_woken = false;
    uint64_t trace = 0;  // whose the place is; 0: nobody's. Written only with traces_mutex, too

    std::unique_ptr<NodeWriter> writer;
    std::string text;  // what was asked for last
};

using Places = std::array<Place, most_traces>;

// A forked child leaves those of its parent alone, whose locks may be held by threads that it has not.
std::atomic<Places*> places = new Places;
std::atomic<uint32_t> process = 0;  // counts forks
std::mutex traces_mutex;            // of who has which place; never taken in a callback
uint64_t last_trace = 0;

struct Thread {
    std::array<std::shared_ptr<ThreadLog>, most_traces> logs;
    std::string scratch;
};

// As in observer.cpp: one word, let go of when the thread ends.
constinit thread_local Thread* traced_thread __attribute__((tls_model("initial-exec"))) = nullptr;

Thread& this_thread() {
    static pthread_key_t key{};
    static const bool has_key = pthread_key_create(&key, [](void* ended) {
                                    traced_thread = nullptr;
                                    delete static_cast<Thread*>(ended);
                                }) == 0;
    if (!traced_thread) [[unlikely]] {
        traced_thread = new Thread;
        if (has_key) pthread_setspecific(key, traced_thread);
    }
    return *traced_thread;
}

struct OpenNode : at::ObserverContext {
    OpenNode(std::shared_ptr<ThreadLog> log, uint64_t id, uint32_t process)
        : log(std::move(log)), id(id), process(process) {}

    const std::shared_ptr<ThreadLog> log;
    const uint64_t id;
    const uint32_t process;
};

std::shared_ptr<ThreadLog>& new_log(Place& place, uint64_t trace, uint64_t thread_number,
                                    std::shared_ptr<ThreadLog>& kept) {
    const uint64_t root = place.next_id.fetch_add(1, std::memory_order_relaxed);
    kept = std::make_shared<ThreadLog>(trace, ThreadFacts{root, thread_number});
    const std::lock_guard lock(place.mutex);
    place.logs.push_back(kept);
    return kept;
}

// What is open in the thread that ran the forward pass; of no use to anybody but asked for by the format.
uint64_t open_in_thread(Place& place, uint64_t thread_number) {
    const std::lock_guard lock(place.mutex);
    for (const auto& log : place.logs) {
        if (log->facts.number != thread_number) continue;
        const std::lock_guard log_lock(log->mutex);
        return log->open.empty() ? log->facts.root : log->open.back();
    }
    return 0;
}

// With the lock of the log, so that its chunks stay in order.
void hand_over(Place& place, const std::shared_ptr<ThreadLog>& log) {
    std::string bytes = std::exchange(log->bytes, {});
    if (bytes.size() >= chunk_bytes) log->bytes.reserve(chunk_bytes + chunk_bytes / 4);
    const std::lock_guard lock(place.waiting_mutex);
    if (place.trace != log->trace) return;
    if (place.waiting_bytes + bytes.size() > most_waiting_bytes) {
        place.lost.fetch_add(bytes.size(), std::memory_order_relaxed);
        return;
    }
    place.waiting_bytes += bytes.size();
    place.waiting.push_back({log, std::move(bytes)});
    place.has_more.notify_one();
}

void append(Place& place, const std::shared_ptr<ThreadLog>& log, const std::string& record) {
    log->bytes += record;
    if (log->bytes.size() >= chunk_bytes) [[unlikely]]
        hand_over(place, log);
}

// Of values that may be a stack, as a kernel is called by TorchScript or functorch: below its own lie those
// of its callers.
Values last(Values values, size_t count) {
    return values.slice(values.size() - std::min(count, values.size()));
}

void put_begin(std::string& record, const NodeFacts& facts, const at::RecordFunction& function,
               const KernelFacts& kernel, bool saves_ranges) {
    const auto inputs = last(function.inputs(), function.num_inputs());
    record.clear();
    ValueBytes bytes(record);
    bytes.put(TraceRecord::begin);
    bytes.put(facts);
    bytes.put_text(function.name());
    bytes.put_text(overload_of(function));
    bytes.put_text(kernel.backend);
    bytes.put_text(kernel.file);
    bytes.put_text(saves_ranges ? integral_ranges(inputs) : std::string());
    bytes.put_text(function.isNcclMeta() ? collective_attributes() : std::string());
    bytes.put_values(inputs);
}

// Known only with the lock of the log, when the rest is there already.
void put_parent(std::string& record, uint64_t parent) {
    std::memcpy(record.data() + sizeof(TraceRecord) + offsetof(NodeFacts, parent), &parent, sizeof parent);
}

std::unique_ptr<at::ObserverContext> begin(size_t number, const at::RecordFunction& function) {
    Place& place = (*places.load(std::memory_order_relaxed))[number];
    const uint64_t trace = place.running.load(std::memory_order_acquire);
    if (trace == 0) return nullptr;
    if (is_telling) return nullptr;
    const Telling telling;
    Thread& thread = this_thread();
    std::shared_ptr<ThreadLog>& log = thread.logs[number];
    if (!log || log->trace != trace) [[unlikely]]
        new_log(place, trace, at::RecordFunction::currentThreadId(), log);

    NodeFacts facts;
    facts.id = place.next_id.fetch_add(1, std::memory_order_relaxed);
    facts.function = function.handle();
    facts.sequence = function.seqNr();
    facts.scope = uint8_t(function.scope());
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
        facts.forward_thread = function.forwardThreadId();
        facts.forward_parent = open_in_thread(place, facts.forward_thread);
    }
    const KernelFacts kernel = kernel_of(function);
    facts.has_stream = kernel.has_stream;
    facts.stream = kernel.stream;
    put_begin(thread.scratch, facts, function, kernel, place.saves_ranges);
    auto node = std::make_unique<OpenNode>(log, facts.id, process.load(std::memory_order_relaxed));
    const std::lock_guard lock(log->mutex);
    if (!log->open.empty()) put_parent(thread.scratch, log->open.back());
    log->open.push_back(facts.id);
    append(place, log, thread.scratch);
    return node;
}

void close(std::vector<uint64_t>& open, uint64_t id) {
    for (size_t i = open.size(); i-- > 0;)
        if (open[i] == id) return void(open.erase(open.begin() + ptrdiff_t(i)));
}

void put_end(std::string& record, uint64_t id, Values outputs) {
    record.clear();
    ValueBytes bytes(record);
    bytes.put(TraceRecord::end);
    bytes.put(id);
    bytes.put_values(outputs);
}

// Into the log in which it began, whichever thread this is.
void end(size_t number, const at::RecordFunction& function, const OpenNode& node) {
    if (node.process != process.load(std::memory_order_relaxed)) return;
    Place& place = (*places.load(std::memory_order_relaxed))[number];
    Thread& thread = this_thread();
    const Telling telling;
    const Values outputs(function.outputs().data(), function.outputs().size());
    put_end(thread.scratch, node.id, last(outputs, function.num_outputs()));
    const std::lock_guard lock(node.log->mutex);
    close(node.log->open, node.id);
    append(place, node.log, thread.scratch);
}

template <size_t number>
std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) noexcept {
    try {
        return begin(number, function);
    } catch (...) {
        return nullptr;
    }
}

template <size_t number>
void on_end(const at::RecordFunction& function, at::ObserverContext* context) noexcept {
    if (!context) return;
    try {
        end(number, function, *static_cast<OpenNode*>(context));
    } catch (...) {
    }
}

template <size_t... numbers>
at::RecordFunctionCallback callback_of(size_t number, std::index_sequence<numbers...>) {
    using Callback = at::RecordFunctionCallback;
    const std::array<Callback (*)(), sizeof...(numbers)> made = {
        +[] { return Callback(on_start<numbers>, on_end<numbers>); }...};
    return made[number]();
}

void clear(Place& place) {
    const std::lock_guard lock(place.mutex);
    place.logs.clear();
    const std::lock_guard waiting_lock(place.waiting_mutex);
    place.waiting.clear();
    place.waiting_bytes = 0;
    place.is_woken = false;
    place.trace = 0;
    place.writer.reset();
    place.text = {};
}

void write_chunk(NodeWriter& writer, ThreadLog& log, std::string_view bytes) {
    if (!std::exchange(log.is_told, true)) writer.write_thread(log.facts);
    writer.write(log.facts, bytes);
}

// No chunk where none waits.
Chunk next_chunk(Place& place) {
    const std::lock_guard lock(place.waiting_mutex);
    if (place.waiting.empty()) return {};
    Chunk chunk = std::move(place.waiting.front());
    place.waiting.pop_front();
    place.waiting_bytes -= chunk.bytes.size();
    return chunk;
}

// As much as makes a text of that size: several gigabytes of it may wait. Whether that is all there is.
bool write_waiting(Place& place) {
    constexpr size_t enough_text = 4 << 20;
    while (place.writer->text().size() < enough_text) {
        const Chunk chunk = next_chunk(place);
        if (!chunk.log) return true;
        write_chunk(*place.writer, *chunk.log, chunk.bytes);
    }
    return false;
}

// What threads have not handed over yet; they may go on meanwhile.
void hand_over_rest(Place& place) {
    const std::lock_guard lock(place.mutex);
    for (const auto& log : place.logs) {
        const std::lock_guard log_lock(log->mutex);
        hand_over(place, log);
    }
}

Place& place_of(int number) {
    return (*places.load())[size_t(number)];
}

}  // namespace

}  // namespace kinetograph::torch_observer

using namespace kinetograph::torch_observer;

#define KINETOGRAPH_CALLED extern "C" __attribute__((visibility("default")))

// Who calls these has one trace for each number, and calls them for it one after another; only `wait` and
// `take` are also called by the thread that writes its file, while nobody else takes.

// -1 where there is no place for another.
KINETOGRAPH_CALLED int kinetograph_torch_trace_open(int saves_ranges) {
    const std::lock_guard lock(traces_mutex);
    for (size_t number = 0; number < most_traces; ++number) {
        Place& place = place_of(int(number));
        if (place.trace != 0) continue;
        place.next_id = 2;  // the process is 1
        place.lost = 0;
        place.saves_ranges = saves_ranges != 0;
        place.writer = std::make_unique<NodeWriter>(place.next_id);
        place.writer->write_process();
        const std::lock_guard waiting_lock(place.waiting_mutex);
        place.trace = ++last_trace;
        return int(number);
    }
    return -1;
}

KINETOGRAPH_CALLED void kinetograph_torch_trace_start(int number) {
    const std::lock_guard lock(traces_mutex);
    Place& place = place_of(number);
    place.running.store(place.trace, std::memory_order_release);
    if (place.handle != at::INVALID_CALLBACK_HANDLE) return;
    auto callback = callback_of(size_t(number), std::make_index_sequence<most_traces>());
    place.handle = at::addGlobalCallback(callback.needsInputs(true).needsOutputs(true).needsIds(true));
}

// Operators that run are seen to their end.
KINETOGRAPH_CALLED void kinetograph_torch_trace_stop(int number) {
    const std::lock_guard lock(traces_mutex);
    Place& place = place_of(number);
    place.running.store(0, std::memory_order_release);
    if (place.handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(place.handle);
    place.handle = at::INVALID_CALLBACK_HANDLE;
}

// Until there is more to take, or `wake`; without the GIL.
KINETOGRAPH_CALLED void kinetograph_torch_trace_wait(int number) {
    Place& place = place_of(number);
    std::unique_lock lock(place.waiting_mutex);
    place.has_more.wait(lock, [&] { return place.is_woken || !place.waiting.empty(); });
}

KINETOGRAPH_CALLED void kinetograph_torch_trace_wake(int number) {
    Place& place = place_of(number);
    const std::lock_guard lock(place.waiting_mutex);
    place.is_woken = true;
    place.has_more.notify_one();
}

// Some of the next nodes; the text is valid until the next call. `is_last`, again until there is no more: at
// the end of these come those whose end was not seen.
KINETOGRAPH_CALLED size_t kinetograph_torch_trace_take(int number, int is_last, const char** text) {
    Place& place = place_of(number);
    if (is_last) hand_over_rest(place);
    if (write_waiting(place) && is_last) place.writer->write_open();
    place.text = std::exchange(place.writer->text(), {});
    *text = place.text.data();
    return place.text.size();
}

// How many bytes were lost, for they came faster than they were written. The place is free after this.
KINETOGRAPH_CALLED uint64_t kinetograph_torch_trace_close(int number) {
    const std::lock_guard lock(traces_mutex);
    Place& place = place_of(number);
    clear(place);
    return place.lost;
}

// In a forked child: no trace of the parent goes on there. Its callbacks stay, and do nothing until a trace
// of the child takes their place: torch's lock may be as another thread of the parent has left it.
KINETOGRAPH_CALLED void kinetograph_torch_trace_leave_parent() {
    auto* own = new Places;
    for (size_t i = 0; i < most_traces; ++i) (*own)[i].handle = place_of(int(i)).handle;
    places.store(own);
    ++process;
    if (traced_thread) traced_thread->logs = {};
}
