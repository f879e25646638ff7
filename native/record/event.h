// What one recorded event is: a 32-byte record in a thread's buffer, and the words for its kind and category.
//
// These numbers reach files (mapped session files hold raw records), so they are explicit and append-only.
#pragma once

#include <cstdint>
#include <string_view>

namespace kinetograph::record {

enum class RecordKind : uint8_t {
    span = 1,         // start and end are ticks
    instant = 2,      // start is ticks
    counter = 3,      // start is ticks, end holds the bits of a double
    device_span = 4,  // start and end are wall nanoseconds, not ticks; the payload opens with a DevicePlace
    memory = 5,       // an instant whose payload tells the allocation
    thread_name = 6,  // name is the name of this thread
    lane_name = 7,    // name is the name of this lane of the thread
    // What one thread tells of another, which `end` names (OtherThread).
    stack_sample = 8,        // its stack at start, by number (correlation); the payload spells it, once
    open_stack = 9,          // its stack at start, spelled; correlation is 0
    other_thread_name = 10,  // name is the name of that thread
    // What a thread tells that decodes the records of a device's library; the payload is one of the structs
    // below.
    device_work = 11,  // start and end are ticks; DeviceWork
    thread_span = 12,  // a call into that library, on another thread: start and end are ticks; ThreadSpan
    metadata = 13,     // name is a key of the trace's metadata; the payload is its JSON
    note = 14,  // name is its kind; correlation, if not 0, is a count to be summed up; the payload is text
    device_memory = 15,   // start is ticks, correlation that of the call that asked for it; DeviceMemory
    device_counter = 16,  // start is ticks, end holds the bits of a double; DeviceCounter
    // Halves of a range that may cross others and end in another thread; `end` is the id that joins them.
    range_begin = 17,
    range_end = 18,  // a name, if it has one, and a payload add to those of the begin
};

// The order is also the number in Trace columns; `category_name` spells them as Kineto does.
enum class Category : uint8_t {
    cpu_op = 0,
    user_annotation = 1,
    gpu_memcpy = 2,
    gpu_memset = 3,
    kernel = 4,
    external_correlation = 5,
    cuda_runtime = 6,
    cuda_driver = 7,
    cpu_instant_event = 8,
    python_function = 9,
    overhead = 10,
    mtia_runtime = 11,
    mtia_ccp_events = 12,
    mtia_insight = 13,
    cuda_sync = 14,
    cuda_event = 15,
    mtia_counters = 16,
    glow_runtime = 17,
    cuda_profiler_range = 18,
    hpu_op = 19,
    xpu_runtime = 20,
    xpu_driver = 21,
    collective_comm = 22,
    privateuse1_runtime = 23,
    privateuse1_driver = 24,
    xpu_scope_profiler = 25,
    xpu_sync = 26,
    hardware_counters = 27,
    gpu_user_annotation = 28,
    intra_kernel = 29,
    mtia_workloadd = 30,
    counter = 31,
    annotation = 32,  // of a library that others annotate through; its domain becomes the category
};

inline constexpr const char* category_names[] = {
    "cpu_op",
    "user_annotation",
    "gpu_memcpy",
    "gpu_memset",
    "kernel",
    "external_correlation",
    "cuda_runtime",
    "cuda_driver",
    "cpu_instant_event",
    "python_function",
    "overhead",
    "mtia_runtime",
    "mtia_ccp_events",
    "mtia_insight",
    "cuda_sync",
    "cuda_event",
    "mtia_counters",
    "glow_runtime",
    "cuda_profiler_range",
    "hpu_op",
    "xpu_runtime",
    "xpu_driver",
    "collective_comm",
    "privateuse1_runtime",
    "privateuse1_driver",
    "xpu_scope_profiler",
    "xpu_sync",
    "hardware_counters",
    "gpu_user_annotation",
    "intra_kernel",
    "mtia_workloadd",
    "counter",
    "annotation",
};
inline constexpr int category_count = sizeof(category_names) / sizeof(category_names[0]);
static_assert(category_count <= 64);  // sessions choose among them by the bits of a word

// PyTorch's RecordScope, with PyTorch's numbers.
enum class RecordScope : uint8_t {
    function = 0,
    backward_function = 1,
    torchscript_function = 2,
    kernel_function_dtype = 3,
    custom_class = 4,
    build_feature = 5,
    lite_interpreter = 6,
    user_scope = 7,
    static_runtime_op = 8,
    static_runtime_model = 9,
};

enum RecordFlags : uint8_t {
    flag_unfinished = 1,  // still open when the window closed (or the process died)
    flag_async = 2,       // a span that may cross its neighbours on purpose
    flag_resumed = 4,     // a later run of a generator or coroutine, whose call is an earlier span
    // Its "Input Dims", "Input Strides" and "Input type" are there because a session asked for shapes; others
    // leave them out. A trace does not have this flag.
    flag_input_shapes = 8,
    flag_garbage = 64,  // a run of the garbage collector among the calls. A trace does not have this flag
    flag_stack = 32,    // `correlation` is the name of its Python stack. A trace does not have this flag
    flag_builtin = 16,  // a call of a C function. A trace does not have this flag
    // Its payload opens with an Operator, or without one `correlation` is autograd's number. A trace does not
    // have this flag.
    flag_operator = 128,
};

// 32 bytes: two records a cache line, and an append touches one line of data.
struct Record {
    uint64_t start;
    uint64_t end;
    uint32_t name;  // id in the string table
    RecordKind kind;
    uint8_t category;
    uint8_t scope;
    uint8_t flags;
    uint16_t lane;     // 0 is the thread itself; asyncio tasks get lanes of their own
    uint16_t payload;  // how many continuation records follow, each 32 bytes of payload
    uint32_t correlation;

    bool ends_at_a_tick() const {
        return kind == RecordKind::span || kind == RecordKind::device_work || kind == RecordKind::thread_span;
    }
    uint64_t last_tick() const { return ends_at_a_tick() && end > start ? end : start; }
    const char* payload_bytes() const { return reinterpret_cast<const char*>(this + 1); }
};
static_assert(sizeof(Record) == 32);

// Stands between the name of a Python call and its qualified name, where that says more.
inline constexpr char qualified_name_separator = '\x1f';

// The payload of an event is `payload_bytes` (u32) and then the members of a JSON object without its braces,
// as they will stand in `args`: `"step":3,"note":"x"`. A device_span puts a DevicePlace in front.
struct DevicePlace {
    uint8_t device_type;  // DeviceType
    uint8_t reserved[3];
    int32_t device_index;
    int64_t resource;  // stream, queue or thread on that device
};
static_assert(sizeof(DevicePlace) == 16);
// Waiting for stream n is told of resource n + this.
inline constexpr int64_t first_sync_resource = 1'000'000;
// Counters are those of a whole device.
inline constexpr int64_t counters_resource = 2'000'000;

// Metadata for readers of files whose process is gone: 0 while a device's library may hold more, 1 when it
// has told all.
inline constexpr std::string_view device_is_complete = "device_is_complete";

// In place of the number of a forward thread: that of the operator's own.
inline constexpr uint32_t own_thread = 1U << 31;

// What a framework tells of an operator, besides its name. `inputs` and `members` are name ids of texts: JSON
// members of its arguments, which all operators with inputs of one shape share. Inputs that are not likely to
// come again follow in the payload instead, as payload bytes (u32) and JSON members.
//
// In words, since it is written and read again within a few instructions: two halves that were stored one by
// one and are loaded as a whole, as a compiler likes to, are waited for until both have reached the cache.
struct Operator {
    int64_t sequence = -1;  // autograd's, of the forward and the backward operator; negative: none
    uint64_t flops = 0;
    uint64_t thread_and_inputs = 0;
    uint64_t members_and_number = 0;

    // Of a backward operator, by the framework's numbers; 0 or with a mark: this is a forward one.
    uint32_t forward_thread() const { return uint32_t(thread_and_inputs); }
    uint32_t inputs() const { return uint32_t(thread_and_inputs >> 32); }
    uint32_t members() const { return uint32_t(members_and_number); }
    // The framework's own of this call, 0: none. It counts only while somebody asks for it.
    uint32_t number() const { return uint32_t(members_and_number >> 32); }

    bool tells_nothing() const { return sequence < 0 && has_no_more(); }
    // As most forward operators: then the record itself has room for it, in `correlation`.
    bool is_only_a_number() const { return uint64_t(sequence) <= UINT32_MAX && has_no_more(); }

private:
    bool has_no_more() const { return (flops | thread_and_inputs | members_and_number) == 0; }
};
static_assert(sizeof(Operator) == 32);

enum WorkFlags : uint32_t {
    work_has_bytes = 1,
    work_of_graph = 2,  // a node of a graph; all nodes of one launch have the same correlation id
};

// What a device did. `members` is the name id of a text: JSON members of its arguments, which all work of the
// same shape shares, so that a kernel that runs a million times is spelled once.
//
// A gpu_user_annotation is a scope that was timed by events: `bytes` is the tick just before its begin on the
// host, and the record's correlation the thread.
struct DeviceWork {
    DevicePlace place;
    uint64_t bytes;  // moved or set
    uint32_t members;
    uint32_t flags;  // WorkFlags
};
static_assert(sizeof(DeviceWork) == 32);

struct ThreadSpan {
    int32_t tid;
    uint32_t members;  // as above
    uint64_t reserved[3];
};
static_assert(sizeof(ThreadSpan) == 32);

// Numbers reach files.
enum class MemoryOperation : uint32_t { allocation = 1, release = 2, pool = 3 };

// What became of memory on a device. A record of a pool tells no more than how large it is now.
struct DeviceMemory {
    DevicePlace place;  // the resource means nothing
    uint64_t address;
    uint64_t bytes;  // of a release 0 where nobody told
    uint64_t pool;   // its address; 0: the memory is of no pool
    uint64_t pool_bytes;
    MemoryOperation operation;
    uint32_t reserved[3];
};
static_assert(sizeof(DeviceMemory) == 64);

struct DeviceCounter {
    DevicePlace place;
    uint64_t reserved[2];
};
static_assert(sizeof(DeviceCounter) == 32);

// In Record::end of what one thread tells of another. The number tells threads apart to which the kernel gave
// the same id, one after the other.
struct OtherThread {
    int32_t tid;
    uint32_t number;

    uint64_t packed() const { return uint64_t(number) << 32 | uint32_t(tid); }
    static OtherThread unpack(uint64_t bits) { return {int32_t(uint32_t(bits)), uint32_t(bits >> 32)}; }
    bool operator==(const OtherThread&) const = default;
};

// A stack is spelled as payload bytes (u32) and then the name ids of its functions (u32 each), outermost
// first. Samples of one thread buffer share the numbers of their stacks. Each extent spells a stack before it
// only names its number, so that it is understood when a ring has let go of all others. Number 0 is the
// stack of a thread that runs no Python function.
inline constexpr uint32_t empty_stack = 0;

}  // namespace kinetograph::record
