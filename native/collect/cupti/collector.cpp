#include "collect/cupti/collector.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "base/fork.h"
#include "collect/cupti/attachment.h"
#include "collect/cupti/call_log.h"
#include "collect/cupti/decoder.h"
#include "collect/cupti/metric_choice.h"
#include "collect/cupti/sampling_session.h"
#include "collect/cupti/synchronize.h"
#include "record/recorder.h"

namespace kinetograph::collect {

namespace {

using cupti::Attachment;
using cupti::Buffers;
using cupti::CallLog;
using cupti::Cupti;
using cupti::DecoderThread;
using cupti::Driver;
using cupti::RecordDecoder;
using cupti::SamplingSession;

constexpr int waiting_ms = 5;  // between two looks whether the program has initialised CUDA
constexpr int attached_ms = 1000;
constexpr int untold_ms = 50;  // until a session that survives a crash has been told what it needs

constexpr std::string_view taken_over =
    "another tool took CUPTI over while this session ran; what the GPU did since then, "
    "and perhaps before, is not here";
constexpr std::string_view not_handed_over =
    "CUPTI did not hand over what the GPU did, perhaps since another tool has ended it, so that some or all "
    "of it is not here: ";
constexpr std::string_view dropped_by_cupti = "records of the GPU were dropped by CUPTI, for want of buffers";
constexpr std::string_view dropped_calls =
    "calls into CUDA were made faster than they could be read, or by threads that were ending, "
    "and are not here";
constexpr std::string_view without_times =
    "pieces of GPU work have no times, since they still ran when this session ended or CUPTI could not tell "
    "them, and are not here";
constexpr std::string_view not_waited =
    "the GPU was not waited for at the end, since a stream was being captured or the driver refused: "
    "work still running then is not here";

// As `Attachment` spells it.
bool is_of_another_tool(std::string_view reason) {
    return reason.starts_with("another tool");
}

// One per process. Never destroyed, since CUPTI may call back until the very end.
class CudaCollector {
public:
    uint64_t start(const CudaOptions& options);
    void flush(uint64_t use, bool may_wait);
    void stop(uint64_t use);
    CallLog& calls() { return calls_; }
    // In a forked child, where CUPTI may still call back. Takes no lock.
    void leave_to_parent() { calls_.switch_off(); }
    MetricAnswer open_sampling(const SamplingOptions& options);
    void with_sampling(void (SamplingSession::*step)());
    void close_sampling();
    bool leave();
    CudaStatus status();
    bool graph_is_captured();
    bool is_taken_over() const { return state_ == CudaState::taken_over; }

    std::mutex& mutex() { return mutex_; }

private:
    cupti::WantedKinds wanted_kinds() const;
    bool is_crash_safe(uint64_t but = 0) const;
    bool is_last(uint64_t use);
    void apply_limits();
    int look_around();
    int look_around_locked();
    int follow_program();
    void try_to_attach();
    void open();
    void tell(std::string_view kind, std::string_view text, uint64_t count = 0);
    void bring_in_for_a_crash();
    void tell_in_advance();
    void tell_again();
    void describe(record::ThreadBuffer& thread);
    void tell_how_it_went(uint64_t use, bool waited);
    void tell_complete(uint64_t use);
    void flush_attached(uint64_t use, bool may_wait);
    std::string refused_kinds();
    bool sees_another_tool(bool waited, bool is_witness_lost);
    void let_go();
    void make_a_call();
    void follow_compilations();
    void give_up(bool is_taken_over, std::string reason);

    std::mutex mutex_;        // what follows; also taken, never waited for, by CUPTI's callbacks
    std::mutex flush_mutex_;  // one flush, start or stop at a time, and the sampling; taken before mutex_
    std::map<uint64_t, CudaOptions> uses_;
    uint64_t next_use_ = 1;
    std::atomic<CudaState> state_{CudaState::off};
    std::string reason_;
    const Driver* driver_ = nullptr;
    const Cupti* cupti_ = nullptr;
    Buffers buffers_;
    CallLog calls_{buffers_};
    std::unique_ptr<RecordDecoder> decoder_;
    std::unique_ptr<Attachment> attachment_;
    std::unique_ptr<DecoderThread> thread_;
    std::unique_ptr<SamplingSession> sampling_;
    std::string properties_;
    int driver_version_ = 0, runtime_version_ = 0;
    // For sessions that survive a crash: whether the file says that more may come, and how many records there
    // were when it was told that all have come.
    bool says_incomplete_ = false;
    uint64_t complete_at_ = UINT64_MAX;
};

CudaCollector* collector = nullptr;
std::atomic<void (*)()> late_refusal{nullptr};

cupti::WantedKinds CudaCollector::wanted_kinds() const {
    cupti::WantedKinds kinds;
    for (const auto& [use, options] : uses_) {
        kinds.synchronization |= options.synchronization;
        kinds.memory |= options.memory;
    }
    return kinds;
}

// What waits to be decoded is beside the memory of records, and takes as much at most.
void CudaCollector::apply_limits() {
    size_t most = 0;
    for (const auto& [use, options] : uses_) most = std::max(most, options.memory_limit_bytes);
    buffers_.limit_to(most);
    calls_.limit_to(most);
}

// Any session, or any but this one.
bool CudaCollector::is_crash_safe(uint64_t but) const {
    return std::any_of(uses_.begin(), uses_.end(),
                       [but](const auto& use) { return use.first != but && use.second.crash_safe; });
}

bool CudaCollector::is_last(uint64_t use) {
    std::lock_guard lock(mutex_);
    return uses_.size() == uses_.count(use);
}

uint64_t CudaCollector::start(const CudaOptions& options) {
    std::lock_guard one_at_a_time(flush_mutex_);
    uint64_t use = 0;
    {
        std::lock_guard lock(mutex_);
        // First: there may be none to be had.
        if (!thread_)
            thread_ = std::make_unique<DecoderThread>(
                buffers_, calls_, [this] { return follow_program(); }, [this] { tell_again(); });
        use = next_use_++;
        uses_[use] = options;
        apply_limits();
        says_incomplete_ = false;
        complete_at_ = UINT64_MAX;
        if (state_ == CudaState::attached)
            attachment_->add_kinds(wanted_kinds());
        else
            state_ = CudaState::waiting;
        if (decoder_) thread_->use(decoder_.get());
    }
    look_around();
    return use;
}

// The program may initialise CUDA at any time; then we follow. In milliseconds, when to look again.
int CudaCollector::look_around() {
    std::lock_guard lock(mutex_);
    return look_around_locked();
}

int CudaCollector::look_around_locked() {
    if (state_ != CudaState::waiting) return attached_ms;
    driver_ = cupti::initialised_driver();
    if (driver_) try_to_attach();
    return state_ == CudaState::waiting ? waiting_ms : attached_ms;
}

int CudaCollector::follow_program() {
    const bool was_waiting = status().state == CudaState::waiting;
    int next_ms = 0;
    {
        // Who sees that we are attached may end at once: then all is told.
        std::lock_guard lock(mutex_);
        next_ms = look_around_locked();
        bring_in_for_a_crash();
        tell_in_advance();
        // The session that wants it told may be about to begin.
        if (state_ == CudaState::attached && is_crash_safe() && !says_incomplete_ &&
            decoder_->records() != complete_at_)
            next_ms = untold_ms;
    }
    const auto tell = late_refusal.load(std::memory_order_acquire);
    if (tell && was_waiting && status().state == CudaState::refused) tell();
    return next_ms;
}

// In the decoder's thread, locked, as what follows. In a warm-up or a pause there is nothing to be lost.
void CudaCollector::bring_in_for_a_crash() {
    const record::ThreadBuffer* thread = record::serving_thread();
    if (!thread || thread->discards || state_ != CudaState::attached || !is_crash_safe()) return;
    attachment_->flush(false);
    calls_.hand_over();
}

// What the file of a session needs whose process is killed.
void CudaCollector::tell_in_advance() {
    record::ThreadBuffer* thread = record::serving_thread();
    if (!thread || thread->discards || says_incomplete_) return;
    if (state_ != CudaState::attached || !is_crash_safe()) return;
    if (decoder_->records() == complete_at_) return;
    cupti::tell_metadata(*thread, record::device_is_complete, "0");
    describe(*thread);
    says_incomplete_ = true;
}

void CudaCollector::tell_again() {
    std::lock_guard lock(mutex_);
    says_incomplete_ = false;
    tell_in_advance();
}

void CudaCollector::describe(record::ThreadBuffer& thread) {
    cupti::tell_metadata(thread, "deviceProperties", properties_);
    cupti::tell_metadata(thread, "cupti_version", std::to_string(cupti_->version));
    cupti::tell_metadata(thread, "cuda_driver_version", std::to_string(driver_version_));
    if (runtime_version_ != 0)
        cupti::tell_metadata(thread, "cuda_runtime_version", std::to_string(runtime_version_));
    if (const std::string streams = decoder_->streams_json(); !streams.empty())
        cupti::tell_metadata(thread, "cuda_streams", streams);
}

void CudaCollector::try_to_attach() {
    try {
        if (!cupti_) open();
        // Now, or the call would be recorded.
        if (runtime_version_ == 0) runtime_version_ = cupti::runtime_version();
        decoder_->forget_numbers();
        // What sessions before this one lost behind their end is nobody's.
        attachment_->take_dropped();
        decoder_->take_unfinished();
        reason_ = attachment_->attach(wanted_kinds(), decoder_->wanted());
        if (reason_.empty()) follow_compilations();
    } catch (const std::exception& error) {
        reason_ = error.what();
    }
    state_ = reason_.empty() ? CudaState::attached : CudaState::refused;
}

// CUPTI tells of them only behind the first call that it is asked to record.
void CudaCollector::follow_compilations() {
    attachment_->record_one_call(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent, [this] { make_a_call(); });
}

void CudaCollector::open() {
    std::vector<std::string> libraries;
    for (const auto& [use, options] : uses_)
        libraries.insert(libraries.end(), options.libraries.begin(), options.libraries.end());
    const Cupti& opened = cupti::open_cupti(libraries);
    std::vector<cupti::Device> devices = cupti::find_devices(*driver_);
    properties_ = cupti::properties_json(devices);
    driver_->driver_version(&driver_version_);
    decoder_ = std::make_unique<RecordDecoder>(opened, std::move(devices));
    attachment_ = std::make_unique<Attachment>(opened, buffers_, calls_, mutex_);
    cupti_ = &opened;
    if (thread_) thread_->use(decoder_.get());
}

void CudaCollector::tell(std::string_view kind, std::string_view text, uint64_t count) {
    const auto told = uint32_t(std::min<uint64_t>(count, UINT32_MAX));
    thread_->tell([&](record::ThreadBuffer& thread) { record::tell_note(thread, kind, text, told); });
}

// While CUPTI flushes, its callbacks come: our lock is not held then.
void CudaCollector::flush(uint64_t use, bool may_wait) {
    std::lock_guard one_at_a_time(flush_mutex_);
    if (!thread_) return;
    look_around();
    if (status().state == CudaState::attached) flush_attached(use, may_wait);
    const CudaStatus now = status();
    if (now.state == CudaState::refused || now.state == CudaState::taken_over) tell("cuda", now.reason);
}

void CudaCollector::flush_attached(uint64_t use, bool may_wait) {
    const uint64_t before = decoder_->synchronizations();
    cupti::Waiting waiting{false, 0};
    bool has_witness = false;
    if (may_wait && !attachment_->is_capturing()) {
        has_witness = attachment_->record_driver(true);
        waiting = cupti::wait_for_devices(*driver_);
        attachment_->record_driver(false);
    }
    const bool waited = waiting.is_done;
    if (waited) attachment_->take_callbacks_back();
    const CUptiResult flushed = attachment_->flush(waited);
    calls_.hand_over();
    calls_.wait_until_decoded();
    buffers_.wait_until_decoded();
    tell_how_it_went(use, waited);
    const bool is_witness_lost =
        has_witness && waiting.contexts != 0 && decoder_->synchronizations() == before;
    if (flushed != CUPTI_SUCCESS)
        give_up(false, std::string(not_handed_over) + cupti::describe(*cupti_, flushed));
    else if (sees_another_tool(waited, is_witness_lost))
        give_up(true, std::string(taken_over));
}

void CudaCollector::give_up(bool is_taken_over, std::string reason) {
    sampling_.reset();  // before CUPTI is let go of
    {
        std::lock_guard lock(mutex_);
        attachment_->give_up(is_taken_over);
        state_ = CudaState::taken_over;
        reason_ = std::move(reason);
    }
    buffers_.wait_until_decoded();
}

// Somebody who registers callbacks of its own gets the records instead of us. Then some are in buffers of its
// own, at least that of our waiting, unless it has already been given ours.
bool CudaCollector::sees_another_tool(bool waited, bool is_witness_lost) {
    if (!waited) return false;
    return buffers_.take_foreign() || (is_witness_lost && buffers_.outstanding() != 0);
}

void CudaCollector::tell_how_it_went(uint64_t use, bool waited) {
    thread_->tell([this](record::ThreadBuffer& thread) { describe(thread); });
    tell_complete(use);
    if (const uint64_t dropped = attachment_->take_dropped()) tell("dropped", dropped_by_cupti, dropped);
    if (const uint64_t dropped = calls_.take_dropped()) tell("dropped", dropped_calls, dropped);
    if (const uint64_t unfinished = decoder_->take_unfinished()) tell("dropped", without_times, unfinished);
    if (!waited) tell("cuda", not_waited);
    if (const std::string refused = refused_kinds(); !refused.empty())
        tell("cuda", "this CUPTI does not record some of what sessions ask for: " + refused);
}

// Of another session that survives a crash that is not so for long: it goes on.
void CudaCollector::tell_complete(uint64_t use) {
    const uint64_t records = decoder_->records();
    {
        std::lock_guard lock(mutex_);
        if (is_crash_safe(use)) return;
    }
    thread_->tell(
        [](record::ThreadBuffer& thread) { cupti::tell_metadata(thread, record::device_is_complete, "1"); });
    std::lock_guard lock(mutex_);
    says_incomplete_ = false;
    complete_at_ = records;
}

std::string CudaCollector::refused_kinds() {
    std::lock_guard lock(mutex_);
    return attachment_->refused();
}

void CudaCollector::stop(uint64_t use) {
    std::lock_guard one_at_a_time(flush_mutex_);
    if (is_last(use)) sampling_.reset();  // while CUPTI is still ours
    {
        std::lock_guard lock(mutex_);
        if (uses_.erase(use) == 0) return;
        if (!uses_.empty()) {
            if (state_ == CudaState::attached) attachment_->drop_kinds(wanted_kinds());
            apply_limits();
            return;
        }
        if (state_ == CudaState::attached) attachment_->detach();
        state_ = CudaState::off;
    }
    calls_.hand_over();  // calls that came behind the last flush are nobody's, and not the next session's
    if (thread_) thread_->stop();
    thread_.reset();
    buffers_.shrink();
    calls_.shrink();
    if (driver_) let_go();
}

// At the program's next call CUPTI might be another tool's. The end of ours does nothing where another thread
// holds the lock for a moment, and there is nothing to do where one is letting go: then we wait for it.
void CudaCollector::let_go() {
    for (int tries = 0; tries < 3; ++tries) {
        make_a_call();
        std::lock_guard lock(mutex_);
        if (!attachment_ || !attachment_->can_be_let_go()) return;
    }
}

// That changes nothing.
void CudaCollector::make_a_call() {
    CUcontext context = nullptr;
    driver_->current_context(&context);
}

// Not under our own lock: it takes a while, and CUPTI's callbacks come.
MetricAnswer CudaCollector::open_sampling(const SamplingOptions& options) {
    std::lock_guard one_at_a_time(flush_mutex_);
    if (sampling_) return {MetricProblem::in_use, "another session samples hardware counters"};
    look_around();
    const CudaStatus now = status();
    if (now.state == CudaState::waiting)
        return {MetricProblem::no_context, "the program has not used CUDA yet"};
    if (now.state != CudaState::attached)
        return {is_of_another_tool(now.reason) ? MetricProblem::in_use : MetricProblem::unsupported,
                now.reason};
    return cupti::answer_of(
        [&] { sampling_ = std::make_unique<SamplingSession>(*driver_, *cupti_, options); });
}

void CudaCollector::with_sampling(void (SamplingSession::*step)()) {
    std::lock_guard one_at_a_time(flush_mutex_);
    if (sampling_) (sampling_.get()->*step)();
}

void CudaCollector::close_sampling() {
    std::lock_guard one_at_a_time(flush_mutex_);
    sampling_.reset();
}

bool CudaCollector::leave() {
    std::lock_guard one_at_a_time(flush_mutex_);
    std::lock_guard lock(mutex_);
    if (!uses_.empty()) return false;
    if (attachment_) attachment_->leave_now();
    return true;
}

CudaStatus CudaCollector::status() {
    std::lock_guard lock(mutex_);
    CudaStatus status{state_, reason_, {}, 0, 0};
    if (!cupti_) return status;
    status.library = cupti_->path;
    status.version = cupti_->version;
    status.records = decoder_->records();
    return status;
}

bool CudaCollector::graph_is_captured() {
    std::lock_guard lock(mutex_);
    return attachment_ && attachment_->is_capturing();
}

}  // namespace

// A forked child has neither the thread nor a CUDA that could be used: it starts with a collector of its own,
// and leaves what it inherited alone.
void prepare_cuda() {
    static std::once_flag once;
    std::call_once(once, [] {
        record::Recorder::instance();  // its handlers first, so that ours run before them at a fork
        collector = new CudaCollector;
        base::on_fork([] { collector->mutex().lock(); }, [] { collector->mutex().unlock(); },
                      [] {
                          collector->leave_to_parent();
                          collector = new CudaCollector;
                      });
    });
}

uint64_t start_cuda(const CudaOptions& options) {
    prepare_cuda();
    return collector->start(options);
}

void flush_cuda(uint64_t use, bool may_wait) {
    prepare_cuda();
    collector->flush(use, may_wait);
}

void stop_cuda(uint64_t use) {
    prepare_cuda();
    collector->stop(use);
}

void push_external_id(ExternalId whose, uint64_t id) {
    prepare_cuda();
    collector->calls().push(whose, id);
}

void pop_external_id(ExternalId whose) {
    prepare_cuda();
    collector->calls().pop(whose);
}

void on_late_refusal(void (*call)()) {
    late_refusal.store(call, std::memory_order_release);
}

MetricAnswer open_sampling(const SamplingOptions& options) {
    prepare_cuda();
    return collector->open_sampling(options);
}

void resume_sampling() {
    prepare_cuda();
    collector->with_sampling(&SamplingSession::resume);
}

void pause_sampling() {
    prepare_cuda();
    collector->with_sampling(&SamplingSession::pause);
}

void close_sampling() {
    prepare_cuda();
    collector->close_sampling();
}

bool leave_cupti_to_metrics() {
    prepare_cuda();
    return collector->leave();
}

CudaStatus cuda_status() {
    prepare_cuda();
    return collector->status();
}

bool cuda_is_taken_over() {
    prepare_cuda();
    return collector->is_taken_over();
}

bool cuda_graph_is_captured() {
    prepare_cuda();
    return collector->graph_is_captured();
}

bool cuda_is_mapped() {
    return cupti::driver_is_mapped();
}

}  // namespace kinetograph::collect
