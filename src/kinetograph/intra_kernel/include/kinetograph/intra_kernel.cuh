// Records from inside CUDA C++ kernels, for nvcc and NVRTC. One file, which includes nothing; C++11.
//
//   __global__ void copy(void* profiler_buffer, const float* source, float* target) {
//       kinetograph::Profiler<> profiler(profiler_buffer);
//       profiler.record(true, 0);                           // task 0 starts
//       const float value = source[threadIdx.x];
//       profiler.record(false, 0, kinetograph::None(), value);  // and ends when the value is there
//       kinetograph::Scope<> storing(profiler, 1);          // task 1, until the brace
//       target[threadIdx.x] = value;
//   }
//
// The host makes the buffer and reads it: `kinetograph.intra_kernel.cuda` in Python. What stands in it is
// said by `native/intra_kernel/layout.h` of the project.
#ifndef KINETOGRAPH_INTRA_KERNEL_CUH
#define KINETOGRAPH_INTRA_KERNEL_CUH

// 0 leaves no code of any `Profiler<>`, wherever it is used.
#ifndef KINETOGRAPH_PROFILING
#define KINETOGRAPH_PROFILING 1
#endif

#define KINETOGRAPH_INLINE __device__ __forceinline__

namespace kinetograph {

namespace layout {

enum : unsigned {
    SEGMENT_MAGIC = 0x5347474Bu,
    SLOT_BYTES = 16u,
    CLAIMED_OFFSET = 24u,
    SEGMENT_HEADER_SLOTS = 2u,
    KIND_START = 0u,
    KIND_END = 1u,
    KIND_INSTANT = 2u,
    KIND_PAYLOAD = 3u,
    TASKS = 2048u,
    SUM_STEP = 8192u,
    PAYLOAD_INT = 1u,
    PAYLOAD_FLOAT = 2u,
};

}  // namespace layout

// A slot, and whether this thread is the one that writes it. The halves of the address are apart, because
// only the low one is counted.
struct Target {
    unsigned low, high, leads;
};

#ifndef KINETOGRAPH_ON_HOST  // where tests bring these, for a CPU
namespace device {

KINETOGRAPH_INLINE unsigned clock() {
    unsigned cycles;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles));
    return cycles;
}

KINETOGRAPH_INLINE unsigned long long globaltimer() {
    unsigned long long time_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time_ns));
    return time_ns;
}

KINETOGRAPH_INLINE unsigned sm() {
    unsigned number;
    asm("mov.u32 %0, %%smid;" : "=r"(number));
    return number;
}

KINETOGRAPH_INLINE unsigned long long claim(unsigned long long* counter) {
    return atomicAdd(counter, 1ull);
}

// Stores stand under a predicate rather than a branch, and no fence is needed: nobody reads before the kernel
// has ended. "memory" keeps the compiler from moving what is measured across the stamps.
KINETOGRAPH_INLINE void store_stamp(Target to, unsigned sum) {
    asm volatile(
        "{\n\t"
        ".reg .pred leads;\n\t"
        ".reg .u32 cycles, early, late;\n\t"
        ".reg .u64 time, slot;\n\t"
        "setp.ne.u32 leads, %2, 0;\n\t"
        "mov.b64 slot, {%0, %1};\n\t"
        "mov.u32 cycles, %%clock;\n\t"
        "mov.u64 time, %%globaltimer;\n\t"
        "mov.b64 {early, late}, time;\n\t"
        "@leads st.global.v4.u32 [slot], {%3, cycles, early, late};\n\t"
        "}" ::"r"(to.low),
        "r"(to.high), "r"(to.leads), "r"(sum)
        : "memory");
}

KINETOGRAPH_INLINE void store_clock(Target to, unsigned sum) {
    asm volatile(
        "{\n\t"
        ".reg .pred leads;\n\t"
        ".reg .u32 cycles;\n\t"
        ".reg .u64 slot;\n\t"
        "setp.ne.u32 leads, %2, 0;\n\t"
        "mov.b64 slot, {%0, %1};\n\t"
        "mov.u32 cycles, %%clock;\n\t"
        "@leads st.global.v2.u32 [slot], {%3, cycles};\n\t"
        "}" ::"r"(to.low),
        "r"(to.high), "r"(to.leads), "r"(sum)
        : "memory");
}

// Volatile, and before a clock is read: a warp issues in order, so that is read when the value is there.
KINETOGRAPH_INLINE void store_value(Target to, unsigned sum, unsigned long long value) {
    asm volatile(
        "{\n\t"
        ".reg .pred leads;\n\t"
        ".reg .u32 nothing, early, late;\n\t"
        ".reg .u64 slot;\n\t"
        "setp.ne.u32 leads, %2, 0;\n\t"
        "mov.b64 slot, {%0, %1};\n\t"
        "mov.u32 nothing, 0;\n\t"
        "mov.b64 {early, late}, %4;\n\t"
        "@leads st.volatile.global.v4.u32 [slot], {%3, nothing, early, late};\n\t"
        "}" ::"r"(to.low),
        "r"(to.high), "r"(to.leads), "r"(sum), "l"(value)
        : "memory");
}

}  // namespace device
#endif

// What a record is without.
struct None {};

template <bool ENABLED = KINETOGRAPH_PROFILING != 0>
class Profiler {
public:
    // Records for a block, or for one of `num_groups` groups of its threads: up to 255, each with a row of
    // its own. One thread of them leads. With a null pointer none does.
    KINETOGRAPH_INLINE explicit Profiler(void* profiler_buffer, unsigned group_id = 0,
                                         unsigned num_groups = 1, bool is_leader = thread_in_block() == 0) {
        at_.leads = is_leader && profiler_buffer != nullptr;
        if (at_.leads) claim(static_cast<char*>(profiler_buffer), group_id % 256 | num_groups % 256 << 8);
    }
    // Functions take a reference: a copy and its original would write over each other.
    Profiler(const Profiler&) = delete;
    Profiler(Profiler&&) = default;

    // A row for each warp.
    KINETOGRAPH_INLINE static Profiler per_warp(void* profiler_buffer) {
        const unsigned warps = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
        return Profiler(profiler_buffer, thread_in_block() / 32, warps, thread_in_block() % 32 == 0);
    }

    // The edge of a range. A payload is a number to be shown with it. `after` is one to wait for: the record
    // is stamped when it is there, and shows it where there is no payload.
    template <class Payload = None, class After = None>
    KINETOGRAPH_INLINE void record(bool is_start, unsigned task, Payload payload = Payload(),
                                   After after = After()) {
        store_value(after);
        store_value(payload);
        if (is_start)
            store_stamp(layout::KIND_START, task);
        else
            store_clock(layout::KIND_END, task);
    }

    // A moment.
    template <class Payload = None, class After = None>
    KINETOGRAPH_INLINE void mark(unsigned task, Payload payload = Payload(), After after = After()) {
        store_value(after);
        store_value(payload);
        store_stamp(layout::KIND_INSTANT, task);
    }

private:
    KINETOGRAPH_INLINE static unsigned thread_in_block() {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }

    KINETOGRAPH_INLINE void claim(char* buffer, unsigned groups) {
        const unsigned* header = reinterpret_cast<const unsigned*>(buffer);
        const unsigned slots = header[2], segments = header[3], first = header[4];
        const unsigned long long number =
            device::claim(reinterpret_cast<unsigned long long*>(buffer + layout::CLAIMED_OFFSET));
        if (number >=
            segments) {  // Nothing is written: at one place for all, they would wait for each other.
            at_.leads = 0;
            return;
        }
        const unsigned long long slot = first + number * slots;
        char* segment = buffer + slot * layout::SLOT_BYTES;
        stand_at(segment + (layout::SEGMENT_HEADER_SLOTS - 1) * layout::SLOT_BYTES,
                 slots - layout::SEGMENT_HEADER_SLOTS - 1);
        write_header(segment, groups);
    }

    // Before the first of `slots` slots, the last of which is written over when all are full.
    KINETOGRAPH_INLINE void stand_at(char* before, unsigned slots) {
        const unsigned long long address = reinterpret_cast<unsigned long long>(before);
        at_.low = static_cast<unsigned>(address);
        at_.high = static_cast<unsigned>(address >> 32);
        last_ = at_.low + slots * layout::SLOT_BYTES;
    }

    KINETOGRAPH_INLINE void write_header(char* segment, unsigned groups) {
        sum_ = static_cast<unsigned>(reinterpret_cast<unsigned long long>(segment));
        const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
        const unsigned cycles = device::clock();
        const unsigned long long time_ns = device::globaltimer();
        uint4* slots = reinterpret_cast<uint4*>(segment);
        slots[0] = make_uint4(layout::SEGMENT_MAGIC, block, blocks, groups | device::sm() << 16);
        slots[1] =
            make_uint4(sum_, cycles, static_cast<unsigned>(time_ns), static_cast<unsigned>(time_ns >> 32));
    }

    KINETOGRAPH_INLINE void advance(unsigned kind, unsigned task) {
        const unsigned next = at_.low + layout::SLOT_BYTES;
        at_.low = next < last_ ? next : last_;
        sum_ += layout::SUM_STEP + (kind | task % layout::TASKS << 2);
    }

    KINETOGRAPH_INLINE void store_stamp(unsigned kind, unsigned task) {
        advance(kind, task);
        device::store_stamp(at_, sum_);
    }

    KINETOGRAPH_INLINE void store_clock(unsigned kind, unsigned task) {
        advance(kind, task);
        device::store_clock(at_, sum_);
    }

    KINETOGRAPH_INLINE void store_bits(unsigned type, unsigned long long bits) {
        advance(layout::KIND_PAYLOAD, type);
        device::store_value(at_, sum_, bits);
    }

    KINETOGRAPH_INLINE void store_integer(long long value) {
        store_bits(layout::PAYLOAD_INT, static_cast<unsigned long long>(value));
    }

    // One for each type, so that others, which might lose their fraction, do not compile.
    KINETOGRAPH_INLINE void store_value(None) {}
    KINETOGRAPH_INLINE void store_value(int value) { store_integer(value); }
    KINETOGRAPH_INLINE void store_value(unsigned value) { store_integer(value); }
    KINETOGRAPH_INLINE void store_value(long value) { store_integer(value); }
    KINETOGRAPH_INLINE void store_value(unsigned long value) { store_integer(static_cast<long long>(value)); }
    KINETOGRAPH_INLINE void store_value(long long value) { store_integer(value); }
    KINETOGRAPH_INLINE void store_value(unsigned long long value) {
        store_integer(static_cast<long long>(value));
    }
    KINETOGRAPH_INLINE void store_value(double value) { store_value(static_cast<float>(value)); }
    KINETOGRAPH_INLINE void store_value(float value) {
        union {
            float number;
            unsigned bits;
        } same = {value};
        store_bits(layout::PAYLOAD_FLOAT, same.bits);
    }

    Target at_ = {0, 0, 0};
    unsigned last_ = 0;
    unsigned sum_ = 0;
};

// The same without any code.
template <>
class Profiler<false> {
public:
    KINETOGRAPH_INLINE explicit Profiler(void*, unsigned = 0, unsigned = 1, bool = true) {}
    Profiler(const Profiler&) = delete;
    Profiler(Profiler&&) = default;
    KINETOGRAPH_INLINE static Profiler per_warp(void*) { return Profiler(nullptr); }
    template <class Payload = None, class After = None>
    KINETOGRAPH_INLINE void record(bool, unsigned, Payload = Payload(), After = After()) {}
    template <class Payload = None, class After = None>
    KINETOGRAPH_INLINE void mark(unsigned, Payload = Payload(), After = After()) {}
};

// A range from here to the end of the block that it stands in.
template <bool ENABLED = KINETOGRAPH_PROFILING != 0>
class Scope {
public:
    KINETOGRAPH_INLINE Scope(Profiler<ENABLED>& profiler, unsigned task) : profiler_(profiler), task_(task) {
        profiler_.record(true, task_);
    }
    KINETOGRAPH_INLINE ~Scope() { profiler_.record(false, task_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

private:
    Profiler<ENABLED>& profiler_;
    unsigned task_;
};

}  // namespace kinetograph

#undef KINETOGRAPH_INLINE
#endif
