// The collector from the outside: a program that uses (a fake) CUDA, and the trace that comes of it.
#include "collect/cupti/collector.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <cupti.h>

#include "check.h"
#include "collect/cupti/buffers.h"
#include "cuda_session.h"

using namespace kinetograph;
using namespace kinetograph::test;
using record::Category;
using trace::Trace;

namespace {

bool was_enabled(CUpti_ActivityKind kind) {
    return cuda().call<decltype(fake_was_enabled)>("fake_was_enabled", uint32_t(kind)) != 0;
}

size_t kernels_without_a_launch(const Trace& trace) {
    std::set<uint32_t> launches;
    for (const size_t call : rows_of(trace, Category::cuda_runtime)) launches.insert(trace.correlation[call]);
    const std::vector<size_t> kernels = rows_of(trace, Category::kernel);
    return size_t(std::count_if(kernels.begin(), kernels.end(), [&](size_t kernel) {
        return launches.count(trace.correlation[kernel]) == 0;
    }));
}

}  // namespace

TEST(nothing_of_cupti_is_called_before_the_program_has_initialised_cuda) {
    static const FakeCuda fake;  // loaded, but not initialised
    const uint64_t use = collect::start_cuda({});
    collect::flush_cuda(use, true);
    CHECK(collect::cuda_status().state == collect::CudaState::waiting);
    CHECK(fake.number("fake_is_subscribed") == 0);
    fake.initialise();
    while (collect::cuda_status().state == collect::CudaState::waiting)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(collect::cuda_status().state == collect::CudaState::attached);
    CHECK(fake.number("fake_calls_before_driver") == 0);
    collect::stop_cuda(use);
}

TEST(a_kernel_and_its_launch_are_in_the_trace_and_tied_to_the_scope) {
    CudaSession session;
    uint32_t correlation = 0;
    scope("step", [&] { correlation = cuda().launch("_Z3addPf"); });
    const Trace trace = session.stop();

    const std::vector<size_t> kernels = rows_of(trace, Category::kernel);
    const std::vector<size_t> calls = rows_of(trace, Category::cuda_runtime);
    CHECK(kernels.size() == 1 && calls.size() == 1);
    const size_t kernel = kernels[0], call = calls[0];
    CHECK(name_of(trace, kernel) == "add(float*)");
    CHECK(name_of(trace, call) == "cudaLaunchKernel");
    CHECK(trace.correlation[kernel] == correlation && trace.correlation[call] == correlation);
    CHECK(trace.tracks[trace.track[kernel]].tid == "7");
    CHECK(trace.tracks[trace.track[call]].tid == std::to_string(gettid()));
    const size_t step = rows_of(trace, Category::user_annotation).at(0);
    CHECK(trace.link[kernel] == int32_t(step) && trace.link[call] == int32_t(step));
    CHECK(trace.start_ns[call] >= trace.start_ns[step] && trace.end_ns(call) <= trace.end_ns(step));
    CHECK(trace.start_ns[kernel] >= trace.start_ns[call]);
}

TEST(a_kernel_that_was_not_mangled_keeps_its_name) {
    CudaSession session;
    cuda().launch("f");
    const Trace trace = session.stop();
    CHECK(name_of(trace, rows_of(trace, Category::kernel).at(0)) == "f");
}

TEST(arguments_of_a_kernel_are_kinetos) {
    CudaSession session;
    cuda().launch("k");
    const Trace trace = session.stop();
    CHECK(row_args(trace, rows_of(trace, Category::kernel).at(0)) ==
          "\"queued\":0,\"device\":0,\"context\":1,\"stream\":7,\"registers per thread\":32,"
          "\"shared memory\":1024,\"blocks per SM\":2,\"warps per SM\":16,\"grid\":[264,1,1],"
          "\"block\":[256,1,1],\"est. achieved occupancy %\":25,\"graph id\":0,\"graph node id\":0,"
          "\"channel\":0,\"channel_type\":0");
    CHECK(row_args(trace, rows_of(trace, Category::cuda_runtime).at(0)) == "\"cbid\":211");
    CHECK(trace.device_properties.find("\"name\":\"Fake \\\"H200\\\"\"") != std::string::npos);
}

TEST(what_few_kernels_have_is_told_of_those) {
    CudaSession session;
    cuda().call<decltype(fake_cooperative_launch)>("fake_cooperative_launch", "k");
    const Trace trace = session.stop();
    CHECK(row_args(trace, rows_of(trace, Category::kernel).at(0))
              .ends_with("\"channel_type\":0,\"cluster\":[4,1,1],\"local memory per thread\":48,"
                         "\"launch type\":\"cooperative\",\"launched by\":\"device\""));
}

TEST(copies_and_sets_tell_what_they_moved) {
    CudaSession session;
    cuda().call<decltype(fake_copy)>("fake_copy", 4096, 1, 2, 3, 7);
    cuda().call<decltype(fake_set)>("fake_set", 512, 7);
    cuda().call<decltype(fake_peer_copy)>("fake_peer_copy", 64, 0, 1, 7);
    const Trace trace = session.stop();
    const std::vector<size_t> copies = rows_of(trace, Category::gpu_memcpy);
    CHECK(copies.size() == 2);
    CHECK(name_of(trace, copies[0]) == "Memcpy HtoD (Pinned -> Device)");
    CHECK(row_args(trace, copies[0]).find("\"bytes\":4096,\"memory bandwidth (GB/s)\":") !=
          std::string::npos);
    CHECK(name_of(trace, copies[1]) == "Memcpy PtoP (Device -> Device)");
    CHECK(row_args(trace, copies[1]).starts_with("\"fromDevice\":0,\"inDevice\":0,\"toDevice\":1"));
    const size_t set = rows_of(trace, Category::gpu_memset).at(0);
    CHECK(name_of(trace, set) == "Memset (Device)");
    CHECK(row_args(trace, set).find("\"bytes\":512") != std::string::npos);
}

TEST(of_noise_cupti_does_not_even_tell) {
    CudaSession session;
    cuda().call<decltype(fake_runtime_call)>("fake_runtime_call",
                                             CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020);
    const auto calls_back = [](int is_driver, uint32_t callback) {
        return cuda().call<decltype(fake_calls_back)>("fake_calls_back", is_driver, callback) != 0;
    };
    CHECK(!calls_back(0, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020));
    CHECK(!calls_back(1, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent));
    CHECK(calls_back(0, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000));
    CHECK(calls_back(1, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    cuda().call<decltype(fake_driver_launch)>("fake_driver_launch", "triton_kernel", 0, 7);
    const Trace trace = session.stop();
    CHECK(count(trace, Category::cuda_runtime) == 0);
    CHECK(name_of(trace, rows_of(trace, Category::cuda_driver).at(0)) == "cuLaunchKernel");
}

TEST(each_thread_keeps_its_calls_even_one_that_recorded_nothing) {
    CudaSession session;
    int tids[2] = {};
    for (int& tid : tids)
        std::thread([&] {
            tid = gettid();
            cuda().launch("k");
        }).join();
    const Trace trace = session.stop();
    const std::vector<size_t> calls = rows_of(trace, Category::cuda_runtime);
    CHECK(calls.size() == 2);
    for (const size_t call : calls) {
        const std::string& tid = trace.tracks[trace.track[call]].tid;
        CHECK(tid == std::to_string(tids[0]) || tid == std::to_string(tids[1]));
    }
}

TEST(nodes_of_a_graph_are_tied_to_its_launch) {
    CudaSession session;
    scope("replay", [&] { cuda().call<decltype(fake_launch_graph)>("fake_launch_graph", 5, 3, 7); });
    const Trace trace = session.stop();
    const int32_t replay = int32_t(rows_of(trace, Category::user_annotation).at(0));
    CHECK(count(trace, Category::kernel) == 3);
    for (const size_t kernel : rows_of(trace, Category::kernel)) {
        CHECK(trace.link[kernel] == replay);
        CHECK(row_args(trace, kernel).find("\"graph id\":5,\"graph node id\":") != std::string::npos);
    }
}

TEST(waiting_is_recorded_where_asked) {
    collect::CudaOptions options;
    options.synchronization = true;
    CudaSession session(options);
    cuda().call<decltype(fake_record_event)>("fake_record_event", 3, 7);
    cuda().call<decltype(fake_stream_wait_event)>("fake_stream_wait_event", 3, 8);
    cuda().call<decltype(fake_synchronize_stream)>("fake_synchronize_stream", 8);
    const Trace trace = session.stop();
    const std::vector<size_t> syncs = rows_of(trace, Category::cuda_sync);
    CHECK(syncs.size() == 2);
    CHECK(name_of(trace, syncs[0]) == "Stream Wait Event");
    CHECK(row_args(trace, syncs[0]).find("\"wait_on_stream\":7,") != std::string::npos);
    CHECK(name_of(trace, syncs[1]) == "Stream Sync");
    CHECK(count(trace, Category::cuda_event) == 1);
}

TEST(an_event_of_an_earlier_session_has_no_call_that_recorded_it) {
    collect::CudaOptions options;
    options.synchronization = true;
    CudaSession first(options);
    cuda().call<decltype(fake_record_event)>("fake_record_event", 4, 7);
    first.stop();
    CudaSession second(options);
    cuda().call<decltype(fake_stream_wait_event)>("fake_stream_wait_event", 4, 8);
    const Trace trace = second.stop();
    const std::string args = row_args(trace, rows_of(trace, Category::cuda_sync).at(0));
    CHECK(args.find("\"wait_on_cuda_event_record_corr_id\":-1,") != std::string::npos);
}

TEST(a_scope_is_drawn_over_the_work_it_launched_on_each_stream) {
    CudaSession session;
    scope("step", [&] {
        cuda().launch("a", 7);
        cuda().launch("b", 7);
        cuda().launch("c", 9);
    });
    const Trace trace = session.stop();
    const std::vector<size_t> drawn = rows_of(trace, Category::gpu_user_annotation);
    CHECK(drawn.size() == 2);
    for (const size_t row : drawn) {
        CHECK(name_of(trace, row) == "step");
        CHECK(trace.link[row] == int32_t(rows_of(trace, Category::user_annotation).at(0)));
        CHECK(trace.track[row + 1] == trace.track[row]);
        CHECK(trace.start_ns[row] == trace.start_ns[row + 1] - 1);
    }
    CHECK(trace.end_ns(drawn[0]) == trace.end_ns(drawn[0] + 2) + 1);
}

TEST(what_a_session_asked_for_beside_others_is_no_longer_recorded_when_it_ends) {
    CudaSession outer;
    collect::CudaOptions options;
    options.synchronization = options.memory = true;
    CudaSession inner(options);
    CHECK(cuda().is_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
    CHECK(cuda().is_enabled(CUPTI_ACTIVITY_KIND_MEMORY2));
    inner.stop();
    CHECK(!cuda().is_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
    CHECK(!cuda().is_enabled(CUPTI_ACTIVITY_KIND_MEMORY2));
    CHECK(cuda().is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    outer.stop();
}

TEST(work_that_still_runs_at_the_end_is_waited_for) {
    CudaSession session;
    cuda().call<decltype(fake_hold_work)>("fake_hold_work", 1);
    cuda().launch("slow");
    const Trace trace = session.stop();
    cuda().call<decltype(fake_hold_work)>("fake_hold_work", 0);
    CHECK(count(trace, Category::kernel) == 1);
}

TEST(cupti_is_let_go_of_when_the_session_stops_and_the_next_one_works) {
    cuda();
    for (int i = 0; i < 3; ++i) {
        const int before = cuda().number("fake_finalizations");
        CudaSession session;
        cuda().launch("k");
        CHECK(count(session.stop(), Category::kernel) == 1);
        CHECK(!cuda().is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
        CHECK(cuda().number("fake_finalizations") == before + 1);
        CHECK(cuda().number("fake_is_subscribed") == 0);
    }
}

TEST(a_cupti_that_cannot_be_let_go_of_serves_the_next_session) {
    cuda().fail("cuptiFinalize", CUPTI_ERROR_UNKNOWN);
    {
        CudaSession().stop();
    }
    cuda().launch("tries to let go");
    cuda().fail("cuptiFinalize", 0);
    CudaSession session;
    cuda().launch("k");
    CHECK(count(session.stop(), Category::kernel) == 1);
}

TEST(sessions_that_overlap_each_get_their_own_window) {
    CudaSession outer;
    cuda().launch("first");
    CudaSession inner;
    cuda().launch("second");
    CHECK(count(inner.stop(), Category::kernel) == 1);
    CHECK(cuda().is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    cuda().launch("third");
    CHECK(count(outer.stop(), Category::kernel) == 3);
}

TEST(calls_between_the_last_flush_and_the_end_are_not_left_for_the_next_session) {
    const auto records_of_session = [](bool launches_late) {
        const uint64_t before = collect::cuda_status().records;
        const uint64_t use = collect::start_cuda({});
        record::SessionOptions options;
        options.all_threads = true;
        const record::SessionId id = record::Recorder::instance().start(options);
        collect::flush_cuda(use, true);
        record::Recorder::instance().stop(id);
        const uint64_t records = collect::cuda_status().records - before;
        if (launches_late) cuda().launch("late");
        collect::stop_cuda(use);
        return records;
    };
    cuda();
    const uint64_t usual = records_of_session(true);
    CHECK(records_of_session(false) == usual);
}

TEST(another_tool_that_uses_cupti_is_left_alone_and_noted) {
    cuda().launch("lets go of what earlier tests left");
    cuda().fail("cuptiSubscribe", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CudaSession session;
    CHECK(collect::cuda_status().state == collect::CudaState::refused);
    cuda().launch("k");
    const Trace trace = session.stop();
    cuda().fail("cuptiSubscribe", 0);
    CHECK(has_note(trace, "another tool"));
    CHECK(count(trace, Category::kernel) == 0);
    CHECK(!cuda().is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

TEST(a_tool_that_takes_over_is_noticed_and_the_next_session_works) {
    {
        CudaSession session;
        cuda().call<decltype(fake_take_over)>("fake_take_over");
        cuda().call<decltype(cuptiActivityFlushAll)>("cuptiActivityFlushAll", 1u);
        cuda().launch("lost");
        const Trace trace = session.stop();
        CHECK(has_note(trace, "took CUPTI over"));
    }
    CHECK(!cuda().is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    CudaSession session;
    cuda().launch("k");
    const Trace trace = session.stop();
    CHECK(count(trace, Category::kernel) == 1);
    CHECK(!has_note(trace, "took CUPTI over"));
}

TEST(a_tool_that_takes_over_again_and_again_gets_its_buffers_where_ours_were) {
    for (int i = 0; i < 20; ++i) {
        CudaSession session;
        cuda().launch("k");
        cuda().call<decltype(fake_take_over)>("fake_take_over");
        cuda().call<decltype(cuptiActivityFlushAll)>("cuptiActivityFlushAll", 1u);
        cuda().launch("lost");
        CHECK(has_note(session.stop(), "took CUPTI over"));
    }
}

TEST(kernels_of_a_program_that_goes_on_at_either_end_have_launches) {
    cuda().launch("lets go of what earlier tests left");
    std::atomic<bool> is_over{false};
    std::atomic<int> launches{0};
    std::thread other([&] {
        for (; !is_over; ++launches) cuda().launch("k");
    });
    for (int round = 0; round < 5; ++round) {
        CudaSession session;
        for (const int before = launches; launches < before + 100;) std::this_thread::yield();
        const Trace trace = session.stop();
        CHECK(count(trace, Category::kernel) >= 100);
        CHECK(kernels_without_a_launch(trace) == 0);
    }
    is_over = true;
    other.join();
}

TEST(kernels_that_come_between_the_last_flush_and_the_end_have_launches) {
    cuda().launch("lets go of what earlier tests left");
    CudaSession session;
    const Trace trace = session.stop_while([] {
        // CUPTI hands a buffer over by itself when it is full.
        const size_t launches = collect::cupti::Buffers::buffer_bytes / sizeof(CUpti_ActivityKernel10) + 50;
        const uint64_t before = collect::cuda_status().records;
        for (size_t i = 0; i < launches; ++i) cuda().launch("k");
        while (collect::cuda_status().records < before + launches * 3 / 2) std::this_thread::yield();
    });
    CHECK(count(trace, Category::kernel) > 1000);
    CHECK(kernels_without_a_launch(trace) == 0);
}

TEST(what_cupti_refuses_to_record_is_named) {
    cuda().launch("lets go of what earlier tests left");
    cuda().call<decltype(fake_refuse_kind)>("fake_refuse_kind", uint32_t(CUPTI_ACTIVITY_KIND_MEMSET));
    CudaSession session;
    cuda().launch("k");
    const Trace trace = session.stop();
    cuda().call<decltype(fake_refuse_kind)>("fake_refuse_kind", 0u);
    CHECK(has_note(trace, "does not record some of what sessions ask for: sets"));
    CHECK(count(trace, Category::kernel) == 1);
}

// The real one makes every call of the program pay for the kind from then on.
TEST(while_a_session_runs_of_the_drivers_calls_only_our_own_was_recorded) {
    cuda().launch("lets go of what earlier tests left");
    CudaSession session;
    cuda().launch("k");
    CHECK(was_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    CHECK(!was_enabled(CUPTI_ACTIVITY_KIND_DRIVER));
    CHECK(cuda().number("fake_driver_calls") == 0);
    CHECK(count(session.stop(), Category::kernel) == 1);
    // The real one has kernels without launches where the wait at the end is recorded by name: tests/gpu.
    CHECK(was_enabled(CUPTI_ACTIVITY_KIND_DRIVER));
}

TEST(an_older_cupti_records_our_own_call_among_all) {
    cuda().launch("lets go of what earlier tests left");
    cuda().fail("cuptiActivityEnableDriverApi", CUPTI_ERROR_NOT_SUPPORTED);
    CudaSession session;
    cuda().fail("cuptiActivityEnableDriverApi", CUPTI_SUCCESS);
    cuda().call<decltype(fake_compilation)>("fake_compilation");
    CHECK(was_enabled(CUPTI_ACTIVITY_KIND_DRIVER));
    CHECK(!cuda().call<decltype(fake_is_enabled)>("fake_is_enabled", uint32_t(CUPTI_ACTIVITY_KIND_DRIVER)));
    CHECK(count(session.stop(), Category::overhead) == 1);
}

TEST(a_cupti_that_records_no_calls_of_the_driver_was_not_taken_over) {
    cuda().launch("lets go of what earlier tests left");
    cuda().call<decltype(fake_refuse_kind)>("fake_refuse_kind", uint32_t(CUPTI_ACTIVITY_KIND_DRIVER));
    CudaSession session;
    std::atomic<bool> is_over{false};
    std::atomic<int> launches{0};
    std::thread other([&] {  // so that CUPTI has a buffer of ours at the end, too
        for (; !is_over; ++launches) cuda().launch("k");
    });
    while (launches == 0) std::this_thread::yield();
    const Trace trace = session.stop();
    is_over = true;
    other.join();
    cuda().call<decltype(fake_refuse_kind)>("fake_refuse_kind", 0u);
    CHECK(!has_note(trace, "took CUPTI over"));
}

TEST(a_tool_that_takes_over_and_reads_nothing_costs_nothing) {
    CudaSession session;
    cuda().launch("k");
    cuda().call<decltype(fake_take_over)>("fake_take_over");
    cuda().launch("k");
    const Trace trace = session.stop();
    CHECK(count(trace, Category::kernel) == 2);
    CHECK(!has_note(trace, "took CUPTI over"));
}

TEST(without_our_clock_times_are_those_of_the_wall_clock) {
    cuda().launch("lets go of what earlier tests left");
    cuda().fail("cuptiActivityRegisterTimestampCallback", CUPTI_ERROR_NOT_COMPATIBLE);
    CudaSession session;
    scope("step", [&] { cuda().launch("k"); });
    const Trace trace = session.stop();
    cuda().fail("cuptiActivityRegisterTimestampCallback", 0);
    const size_t call = rows_of(trace, Category::cuda_runtime).at(0);
    const size_t step = rows_of(trace, Category::user_annotation).at(0);
    constexpr int64_t tolerance_ns = 1'000'000;
    CHECK(trace.start_ns[call] > trace.start_ns[step] - tolerance_ns);
    CHECK(trace.end_ns(call) < trace.end_ns(step) + tolerance_ns);
}

TEST(records_of_unknown_kinds_are_passed_over) {
    CudaSession session;
    cuda().launch("before");
    cuda().call<decltype(fake_unknown_record)>("fake_unknown_record", 61, 72);
    cuda().launch("behind");
    const Trace trace = session.stop();
    CHECK(count(trace, Category::kernel) == 2);
    CHECK(!has_note(trace, "unknown kind"));
}

TEST(what_cupti_dropped_and_what_had_not_ended_is_counted_in_notes) {
    CudaSession session;
    cuda().launch("k");
    cuda().call<decltype(fake_drop_records)>("fake_drop_records", uint64_t(3));
    cuda().call<decltype(fake_unfinished_kernel)>("fake_unfinished_kernel");
    const Trace trace = session.stop();
    CHECK(count(trace, Category::kernel) == 1);
    CHECK(has_note(trace, "3 records of the GPU were dropped by CUPTI"));
    CHECK(has_note(trace, "1 pieces of GPU work have no times"));
}

TEST(for_a_session_that_survives_a_crash_records_come_without_being_asked_for) {
    collect::CudaOptions options;
    options.crash_safe = true;
    CudaSession session(options);
    const uint64_t before = collect::cuda_status().records;
    cuda().launch("k");
    for (int i = 0; i < 1000 && collect::cuda_status().records == before; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(collect::cuda_status().records != before);
    CHECK(count(session.stop(), Category::kernel) == 1);
}

TEST(for_such_a_session_cupti_is_asked_once_in_a_while_however_many_calls_there_are) {
    collect::CudaOptions options;
    options.crash_safe = true;
    CudaSession session(options);
    const auto begin = std::chrono::steady_clock::now();
    const int before = cuda().number("fake_flushes");
    const uint64_t records_before = collect::cuda_status().records;
    while (collect::cuda_status().records < records_before + 20'000) cuda().launch("k");
    const int flushes = cuda().number("fake_flushes") - before;
    const auto seconds =
        std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count();
    CHECK(flushes <= seconds + 1);  // the first may be that of the start
    session.stop();
}

TEST(in_the_warm_up_of_such_a_session_cupti_is_not_asked) {
    collect::CudaOptions options;
    options.crash_safe = true;
    record::SessionOptions paused;
    paused.all_threads = paused.starts_paused = true;
    const auto session = record::Recorder::instance().start(paused);
    const uint64_t use = collect::start_cuda(options);
    cuda().launch("k");
    const int before = cuda().number("fake_flushes");
    std::this_thread::sleep_for(std::chrono::milliseconds(400));  // eight looks whether it records
    CHECK(cuda().number("fake_flushes") == before);
    collect::stop_cuda(use);
    record::Recorder::instance().stop(session);
}

TEST(overhead_of_cupti_lies_on_the_thread_that_had_it) {
    CudaSession session;
    cuda().call<decltype(fake_overhead)>("fake_overhead", CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH);
    const Trace trace = session.stop();
    const size_t row = rows_of(trace, Category::overhead).at(0);
    CHECK(name_of(trace, row) == "Buffer Flush");
    CHECK(trace.tracks[trace.track[row]].tid == std::to_string(gettid()));
}

TEST(compilation_by_the_driver_lies_on_the_thread_that_waited_for_it) {
    CudaSession session;
    cuda().call<decltype(fake_compilation)>("fake_compilation");
    const Trace trace = session.stop();
    const size_t row = rows_of(trace, Category::overhead).at(0);
    CHECK(name_of(trace, row) == "JIT PTX to cubin: compile");
    CHECK(trace.tracks[trace.track[row]].tid == std::to_string(gettid()));
}

TEST(sessions_of_many_threads_come_and_go) {
    constexpr int threads = 4, sessions = 20;
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i)
        running.emplace_back([i] {
            const std::string own = "of thread " + std::to_string(i);
            for (int k = 0; k < sessions; ++k) {
                CudaSession session;
                cuda().launch(own.c_str());
                const Trace trace = session.stop();
                size_t found = 0;
                for (const size_t row : rows_of(trace, Category::kernel)) found += name_of(trace, row) == own;
                CHECK(found == 1);
            }
        });
    for (std::thread& thread : running) thread.join();
    CHECK(collect::cuda_status().state == collect::CudaState::off);
    CHECK(!cuda().is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

TEST(many_launches_from_many_threads_are_all_there) {
    constexpr int threads = 4, launches = 5000;
    CudaSession session;
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i)
        running.emplace_back([i] {
            for (int k = 0; k < launches; ++k) cuda().launch("k", uint32_t(i));
        });
    for (std::thread& thread : running) thread.join();
    const Trace trace = session.stop();
    CHECK(count(trace, Category::kernel) == size_t(threads) * launches);
    CHECK(count(trace, Category::cuda_runtime) == size_t(threads) * launches);
}

TEST(a_forked_child_starts_clean_and_the_parent_goes_on) {
    CudaSession session;
    cuda().launch("before");
    const pid_t child = fork();
    if (child == 0) {
        const bool is_clean = collect::cuda_status().state == collect::CudaState::off;
        _exit(is_clean ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cuda().launch("after");
    CHECK(count(session.stop(), Category::kernel) == 2);
}

CHECK_MAIN
