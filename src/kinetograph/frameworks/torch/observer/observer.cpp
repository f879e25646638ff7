// Operators of PyTorch, as RecordFunction tells them, into the recorder.
//
// Compiled on the user's machine against the torch that is installed there, since its C++ interface is that
// of one version. The callbacks run in whatever thread runs an operator, with or without the GIL: they take
// no lock, touch no Python, and on the plain path allocate nothing. What runs for each operator is marked as
// hot, so that it lies in few pages: torch's own code takes most of those that a processor finds at once, and
// looking for others costs more than what is done in them.
#include <ATen/record_function.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "elsewhere.h"
#include "inputs.h"
#include "names.h"
#include "overloads.h"
#include "recorder.h"
#include "telling.h"

namespace torch::jit {
TORCH_API std::vector<std::string> currentModuleHierarchy();  // of a header that would bring all of JIT along
}

namespace kinetograph::torch_observer {

namespace {

constexpr uint8_t cpu_op = 0, user_annotation = 1;  // categories of native/record/event.h

uint32_t wants = 0;  // Wants, of all sessions; atomic

// What is told of one only if somebody asks, or of a collective.
struct Details {
    KnownInputs inputs;
    uint32_t members = 0;
    bool is_inside_counted = false;  // FLOPs, by an operator around it
    std::string text;                // of inputs that are seen for the first time

    void clear() {
        inputs = {};
        members = 0;
        is_inside_counted = false;
        text.clear();
    }
};

struct OpenOperator {
    const at::RecordFunction* function = nullptr;
    int registration = 0;
    bool is_engine = false;
    bool has_details = false;
    bool is_told = false;             // already, for sessions that end before it
    bool has_counted_inside = false;  // FLOPs
    uint64_t begun = 0;
    int64_t sequence = -1;
    uint32_t forward_thread = 0;
    Details details;  // where it has them, else those of an earlier one

    bool is(const at::RecordFunction& other, int its_registration) const {
        return function == &other && registration == its_registration;
    }
};

// Ends may be out of order, or never come: an operator may be let go of in another thread.
class OpenOperators {
public:
    OpenOperator& push(const at::RecordFunction& function, int registration) {
        if (depth_ == most) depth_ = 0;
        if (depth_ == entries_.size()) [[unlikely]]
            add_room();
        OpenOperator& entry = entries_[depth_++];
        entry.function = &function;
        entry.registration = registration;
        entry.has_details = false;
        entry.is_told = false;
        entry.has_counted_inside = false;
        entry.begun = 0;
        entry.sequence = -1;
        entry.forward_thread = 0;
        return entry;
    }

    void pop() { --depth_; }
    OpenOperator* top() { return depth_ == 0 ? nullptr : &entries_[depth_ - 1]; }

    OpenOperator* around_top() { return depth_ < 2 ? nullptr : &entries_[depth_ - 2]; }

    // Of the operator that has just been let go of.
    void tell_counted() {
        for (size_t i = depth_; i-- > 0 && !entries_[i].has_counted_inside;)
            entries_[i].has_counted_inside = true;
    }

    // Moves it to the top; nullptr where its begin was not seen.
    OpenOperator* find(const at::RecordFunction& function, int registration) {
        OpenOperator* innermost = top();
        if (innermost && innermost->is(function, registration)) [[likely]]
            return innermost;
        return find_below(function, registration);
    }

private:
    [[gnu::noinline]] OpenOperator* find_below(const at::RecordFunction& function, int registration) {
        for (size_t i = depth_; i-- > 0;) {
            if (!entries_[i].is(function, registration)) continue;
            for (; i + 1 < depth_; ++i) std::swap(entries_[i], entries_[i + 1]);
            return &entries_[i];
        }
        return nullptr;
    }

    [[gnu::noinline]] void add_room() { entries_.emplace_back(); }

    static constexpr size_t most = 1 << 16;
    std::vector<OpenOperator> entries_{64};
    size_t depth_ = 0;
};

// First what every operator needs. It stays for as long as others may end what began in it.
struct Thread {
    Elsewhere elsewhere;
    OpenOperators open;
    std::unique_ptr<Inputs> inputs;  // once a session asks for them
    Names names;
    uint32_t until_numbered = 1;  // so many operators until the recording hears of this thread's number
    uint32_t numbered_for = 0;    // the last of `registrations` to have heard of it
    std::shared_ptr<Thread> self;
};

uint32_t registrations = 0;  // how many there were; atomic

// One word of static TLS; what it points to is let go of when the thread ends, and made again should torch
// run an operator after that.
constinit thread_local Thread* current_thread __attribute__((tls_model("initial-exec"))) = nullptr;

void settle(Thread& thread);

// The last chance to record what others have ended: before the recorder takes leave of the thread, which is
// when keys are destroyed.
struct SettlesAtExit {
    ~SettlesAtExit() {
        try {
            if (current_thread) settle(*current_thread);
        } catch (...) {
        }
    }
};

// Where there is no key to be had, what a thread keeps stays when it ends.
void free_at_exit(Thread* thread) {
    static thread_local const SettlesAtExit settles;
    static pthread_key_t key{};
    static const bool has_key = pthread_key_create(&key, [](void* ended) {
                                    current_thread = nullptr;
                                    static_cast<Thread*>(ended)->self.reset();
                                }) == 0;
    if (has_key) pthread_setspecific(key, thread);
}

[[gnu::noinline, gnu::cold]] void begin_thread() {
    const auto thread = std::make_shared<Thread>();
    thread->self = thread;
    current_thread = thread.get();
    free_at_exit(current_thread);
}

Thread& this_thread() {
    if (!current_thread) [[unlikely]]
        begin_thread();
    return *current_thread;
}

void add_member(std::string& members, const std::string& key, const std::string& value) {
    members += (members.empty() ? "\"" : ",\"") + key + "\":" + value;
}

bool is_plain_text(std::string_view text) {
    return std::none_of(text.begin(), text.end(),
                        [](unsigned char c) { return c == '"' || c == '\\' || c < ' '; });
}

// What JSON has a place for as it is: one value that it has not would cost all others.
bool is_plain(const c10::IValue& value) {
    if (value.isString()) return is_plain_text(value.toStringRef());
    return value.isInt() || value.isBool() || (value.isDouble() && std::isfinite(value.toDouble()));
}

void add_keywords(std::string& members, const at::RecordFunction& function) {
    for (const auto& [key, value] : function.kwinputs())
        if (is_plain_text(key) && is_plain(value))
            add_member(members, key, profiler::ivalueToStr(value, value.isString()));
}

// Of a range: operators have theirs among their inputs.
bool has_keywords(const at::RecordFunction& function, Name name) {
    return !name.is_operator && !function.kwinputs().empty();
}

// Of modules in TorchScript, which no Python calls.
void add_modules(std::string& members) {
    const std::vector<std::string> modules = torch::jit::currentModuleHierarchy();
    if (!modules.empty()) add_member(members, "Module Hierarchy", profiler::stacksToStr(modules, "."));
}

bool may_have_members(const at::RecordFunction& function, Name name, uint32_t wanted) {
    return (wanted & (wants_modules | wants_overloads)) != 0 || !name.is_operator || function.isNcclMeta();
}

uint32_t members_of(const at::RecordFunction& function, Name name, uint32_t wanted) {
    std::string members;
    if (wanted & wants_modules) add_modules(members);
    const std::string overload = wanted & wants_overloads ? overload_of(function) : std::string();
    if (!overload.empty()) add_member(members, "Overload name", '"' + overload + '"');
    if (function.isNcclMeta())
        for (const auto& [key, value] : profiler::saveNcclMeta(function)) add_member(members, key, value);
    if (!name.is_operator) add_keywords(members, function);
    return members.empty() ? 0 : recorder->intern_text(members.data(), members.size());
}

// As a whole, or within one that is.
bool is_counted(const OpenOperator& open) {
    return open.has_details && (open.details.is_inside_counted || open.details.inputs.flops != 0);
}

// What a strange tensor throws costs no more than what would have been told of it. Operators that it runs in
// here would move `open`, and spoil the key that is being made.
[[gnu::hot, gnu::noinline]] void describe(Thread& thread, const at::RecordFunction& function, Name name,
                                          uint32_t wanted, OpenOperator& open) noexcept {
    const Telling telling;
    Details& details = open.details;
    details.clear();
    open.has_details = true;
    try {
        if (wanted & (wants_shapes | wants_flops)) {
            if (!thread.inputs) thread.inputs = std::make_unique<Inputs>();
            details.inputs = thread.inputs->find(function, name.id, wanted, details.text);
            const OpenOperator* around = thread.open.around_top();
            details.is_inside_counted = around && is_counted(*around);
        }
        if (may_have_members(function, name, wanted)) [[unlikely]]
            details.members = members_of(function, name, wanted);
    } catch (...) {
    }
}

// While one registration takes the place of another, an operator may be told of by both.
bool was_told(OpenOperator* top, const at::RecordFunction& function, int registration) {
    return top && top->function == &function && top->registration != registration;
}

// Each of them once: torch counts some operators as a whole and others where they compute.
[[gnu::hot]] uint64_t flops_of(OpenOperators& around, const OpenOperator& ended) {
    const KnownInputs& inputs = ended.details.inputs;
    const bool is_counted_elsewhere = ended.details.is_inside_counted || ended.has_counted_inside;
    const uint64_t estimated = is_counted_elsewhere ? 0 : inputs.estimated_flops;
    const uint64_t flops = inputs.flops != 0 ? inputs.flops : estimated;
    if (flops != 0) around.tell_counted();
    return flops;
}

void add_inputs(const Details& details, kinetograph_operator& told) {
    told.inputs = details.inputs.id;
    told.members = details.members;
    told.inputs_bytes = uint32_t(details.text.size());
    told.inputs_text = details.text.empty() ? nullptr : details.text.data();
}

void add_details(OpenOperators& around, const OpenOperator& ended, kinetograph_operator& told) {
    told.flops = flops_of(around, ended);
    add_inputs(ended.details, told);
}

// Sequence numbers are each thread's own, so the recording has to know torch's number of this thread: from
// the first operator that a session sees of it, and again for those that keep only the end.
bool has_to_be_numbered(Thread& thread) {
    return --thread.until_numbered == 0 ||
           thread.numbered_for != __atomic_load_n(&registrations, __ATOMIC_RELAXED);
}

[[gnu::noinline, gnu::cold]] uint32_t number_of(Thread& thread) {
    constexpr uint32_t operators_between = 256;
    thread.until_numbered = operators_between;
    thread.numbered_for = __atomic_load_n(&registrations, __ATOMIC_RELAXED);
    return uint32_t(at::RecordFunction::currentThreadId()) | KINETOGRAPH_OWN_THREAD;
}

// Of one with a sequence number.
[[gnu::always_inline]] inline uint32_t forward_thread_of(Thread& thread, const Ending& known) {
    if (known.forward_thread == 0 && has_to_be_numbered(thread)) [[unlikely]]
        return number_of(thread);
    return uint32_t(known.forward_thread);
}

// FLOPs are known when it has ended: somebody inside may count them.
[[gnu::hot, gnu::noinline]] void tell_open(Thread& thread, OpenOperator& open, const Ending& known) {
    kinetograph_operator told{.sequence = known.sequence, .number = known.number};
    if (known.sequence >= 0) told.forward_thread = forward_thread_of(thread, known);
    if (open.has_details) add_inputs(open.details, told);
    open.is_told = recorder->tell_open_operator(open.begun, &told) != 0;
}

// The engine names what it evaluates but not its number, which is that of the first function in it. torch
// knows it only where nothing else runs in front, a hook for one.
void tell_engine(Thread& thread, Ending evaluated) {
    OpenOperator* around = thread.open.around_top();
    if (!around || !around->is_engine || around->sequence >= 0 || evaluated.sequence < 0) return;
    around->sequence = evaluated.sequence;
    around->forward_thread = uint32_t(evaluated.forward_thread);
    evaluated.number = around->function->handle();
    tell_open(thread, *around, evaluated);
}

[[gnu::noinline]] void tell_backward(Thread& thread, OpenOperator& open, const Ending& known) {
    tell_engine(thread, known);
    tell_open(thread, open, known);
}

[[gnu::hot, gnu::noinline]] void end_told(Thread& thread, const OpenOperator& open, uint64_t at) {
    const uint64_t flops = open.has_details ? flops_of(thread.open, open) : 0;
    recorder->end_told_operator(open.begun, flops, at);
}

[[gnu::noinline]] void end_with_details(Thread& thread, const OpenOperator& open, uint64_t number,
                                        uint64_t at) {
    kinetograph_operator told{
        .sequence = open.sequence, .forward_thread = open.forward_thread, .number = number};
    if (open.has_details) add_details(thread.open, open, told);
    recorder->end_operator_with(open.begun, &told, at);
}

// Of the one on top. Told of later, it has ended at `at`.
[[gnu::always_inline]] inline void end(Thread& thread, OpenOperator& open, const Ending& ending,
                                       uint64_t at = 0) {
    thread.open.pop();
    if (open.is_told) [[unlikely]]
        return end_told(thread, open, at);
    if (ending.sequence >= 0) {
        open.sequence = ending.sequence;
        open.forward_thread = forward_thread_of(thread, ending);
    }
    if (open.has_details || ending.number != 0 || at != 0) [[unlikely]]
        return end_with_details(thread, open, ending.number, at);
    recorder->end_operator(open.begun, open.sequence, open.forward_thread);
}

[[gnu::noinline, gnu::cold]] void record_ends(Thread& thread) {
    for (const EndedElsewhere& ended : thread.elsewhere.take())
        if (OpenOperator* open = thread.open.find(*ended.function, ended.registration))
            end(thread, *open, ended.ending, ended.at);
}

// What other threads have ended meanwhile.
void settle(Thread& thread) {
    if (thread.elsewhere.has_any()) [[unlikely]]
        record_ends(thread);
}

[[gnu::noinline]] std::unique_ptr<at::ObserverContext> followed(Thread& thread) {
    return std::make_unique<Begun>(std::shared_ptr<Elsewhere>(thread.self, &thread.elsewhere));
}

[[gnu::always_inline]] inline std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function,
                                                                         int registration) {
    Thread& thread = this_thread();
    settle(thread);
    if (is_telling || was_told(thread.open.top(), function, registration)) return nullptr;
    const Name name = thread.names.find(function);
    const uint32_t wanted = __atomic_load_n(&wants, __ATOMIC_RELAXED);
    const auto scope = uint8_t(function.scope());
    OpenOperator& open = thread.open.push(function, registration);
    if (wanted != 0 || function.isNcclMeta() || has_keywords(function, name)) [[unlikely]]
        describe(thread, function, name, wanted, open);
    // Not a range that somebody called so, which another thread may let go of.
    open.is_engine = name.is_engine && function.scope() == at::RecordScope::FUNCTION;
    const bool is_user = function.scope() == at::RecordScope::USER_SCOPE;
    const uint8_t flags = function.isAsync() ? KINETOGRAPH_ASYNC : 0;
    open.begun = recorder->begin_operator(name.id, is_user ? user_annotation : cpu_op, scope, flags);
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION)
        tell_backward(thread, open, Ending(function));
    else if (open.has_details && !open.is_engine) [[unlikely]]
        tell_open(thread, open, Ending(function));
    if (!may_end_elsewhere(function.scope())) [[likely]]
        return nullptr;
    return followed(thread);
}

[[gnu::always_inline]] inline void end(const at::RecordFunction& function, int registration) {
    Thread& thread = *current_thread;
    settle(thread);
    if (OpenOperator* open = thread.open.find(function, registration)) end(thread, *open, Ending(function));
}

std::array<std::atomic<bool>, 2> is_parents{};  // of each registration, in a forked child

// Want of memory is not for the program.
template <int registration>
[[gnu::hot]] std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) noexcept {
    try {
        if (is_listening() && !is_parents[registration].load(std::memory_order_relaxed)) [[likely]]
            return begin(function, registration);
    } catch (...) {
    }
    return nullptr;
}

bool ends_elsewhere(const Begun* begun) {
    return begun && (!current_thread || &current_thread->elsewhere != begun->owner.get());
}

[[gnu::noinline, gnu::cold]] void tell_owner(const Begun& begun, const at::RecordFunction& function,
                                             int registration) {
    begun.owner->add({&function, registration, recorder->ticks(), Ending(function)});
}

template <int registration>
[[gnu::hot]] void on_end(const at::RecordFunction& function, at::ObserverContext* context) noexcept {
    const auto* begun = static_cast<const Begun*>(context);
    try {
        if (ends_elsewhere(begun)) [[unlikely]]
            tell_owner(*begun, function, registration);
        else if (current_thread)
            end(function, registration);
    } catch (...) {
    }
}

std::mutex mutex;
at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
int registration = 0;
pid_t registered_by = 0;
bool has_inputs = false;

// In a forked child, one that its parent made.
bool is_inherited() {
    return handle != at::INVALID_CALLBACK_HANDLE && registered_by != getpid();
}

at::CallbackHandle next_registration(bool needs_inputs) {
    registration = 1 - registration;
    registered_by = getpid();
    has_inputs = needs_inputs;
    __atomic_add_fetch(&registrations, 1, __ATOMIC_RELAXED);
    is_parents[size_t(registration)].store(false, std::memory_order_relaxed);
    at::RecordFunctionCallback callback = registration == 0
                                              ? at::RecordFunctionCallback(on_start<0>, on_end<0>)
                                              : at::RecordFunctionCallback(on_start<1>, on_end<1>);
    return at::addGlobalCallback(callback.needsInputs(needs_inputs));
}

}  // namespace

}  // namespace kinetograph::torch_observer

using namespace kinetograph::torch_observer;

// The lookup is kinetograph_record_table_for. False where the recorder is of a version that we do not know.
extern "C" __attribute__((visibility("default"))) int kinetograph_torch_connect(
    const kinetograph_record_table* (*lookup)(uint32_t)) {
    const kinetograph_record_table* table = lookup(KINETOGRAPH_RECORD_ABI);
    if (!is_ours(table)) return 0;
    recorder = table;
    return 1;
}

// Watches, with what all sessions together want, or no longer. An operator that runs meanwhile is seen to its
// end by those who saw it begin, and no operator is missed while what is wanted changes: the next
// registration is there before the last one goes. A forked child makes do with its parent's where that is
// enough: torch's lock may be as another thread of the parent has left it, for ever.
extern "C" __attribute__((visibility("default"))) void kinetograph_torch_observe(int watches,
                                                                                 uint32_t wanted) {
    const std::lock_guard lock(mutex);
    const at::CallbackHandle last = handle;
    __atomic_store_n(&wants, wanted, __ATOMIC_RELAXED);
    const bool needs_inputs = (wanted & (wants_shapes | wants_flops)) != 0;
    if (is_inherited() && (has_inputs || !needs_inputs))
        return is_parents[size_t(registration)].store(!watches, std::memory_order_relaxed);
    handle = watches ? next_registration(needs_inputs) : at::INVALID_CALLBACK_HANDLE;
    if (last != at::INVALID_CALLBACK_HANDLE) at::removeCallback(last);
}

// In a forked child: what the parent watched is nobody's there. The callback stays, and does nothing until
// the child watches itself.
extern "C" __attribute__((visibility("default"))) void kinetograph_torch_leave_parent() {
    for (std::atomic<bool>& each : is_parents) each.store(true, std::memory_order_relaxed);
}

// What other threads have ended of the calling thread's is recorded now; a session that is about to stop may
// not live to see its next operator.
extern "C" __attribute__((visibility("default"))) void kinetograph_torch_settle() noexcept try {
    if (current_thread) settle(*current_thread);
} catch (...) {
}
