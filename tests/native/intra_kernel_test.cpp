// What kernels wrote becomes events; what they could not write, or what is no record, becomes notes.
#include <bit>
#include <string>

#include "check.h"
#include "intra_kernel/decode.h"
#include "intra_kernel_buffers.h"

using namespace kinetograph;
using test::ProfilerBuffer;
using trace::Trace;

namespace {

constexpr uint64_t begin_ns = 1'700'000'000'000'000'000;

Trace decoded(const ProfilerBuffer& buffer) {
    return intra_kernel::decode(buffer.bytes(), {{"load", "dot"}});
}

std::string_view name(const Trace& trace, size_t row) {
    return trace.strings[trace.name[row]];
}

}  // namespace

TEST(ranges_have_the_time_between_their_clocks) {
    ProfilerBuffer buffer(16, 2);
    buffer.claim(5, 3, begin_ns, 1000);
    buffer.start(0, begin_ns + 1'000, 3'000);
    buffer.end(0, 3'100);
    buffer.start(1, begin_ns + 200'000, 401'000);  // two cycles a nanosecond
    buffer.end(1, 401'010);
    const Trace trace = decoded(buffer);
    CHECK(trace.size() == 2 && trace.notes.empty());
    CHECK(name(trace, 0) == "load" && name(trace, 1) == "dot");
    CHECK(trace.start_ns[0] == int64_t(begin_ns) + 1'000);
    CHECK(trace.duration_ns[0] == 50 && trace.duration_ns[1] == 5);
    CHECK(trace.categories[trace.category[0]] == "intra_kernel");
    CHECK(trace.args_of(0) == "\"block\":5,\"sm\":3,\"launch\":0");
}

TEST(starts_between_two_steps_of_the_globaltimer_differ) {
    ProfilerBuffer buffer(16, 1);
    buffer.claim(0, 0, begin_ns, 0);
    for (uint32_t clock = 20; clock <= 60; clock += 20) buffer.mark(0, begin_ns, clock);
    buffer.mark(0, begin_ns + 100'000, 200'000);
    const Trace trace = decoded(buffer);
    CHECK(trace.start_ns[0] + 10 == trace.start_ns[1] && trace.start_ns[1] + 10 == trace.start_ns[2]);
}

// Some GPUs step by a microsecond: the segment that seems to be the longest is mostly wrong about its rate.
TEST(where_the_globaltimer_is_coarse_all_segments_together_tell_the_rate) {
    for (const uint64_t gap_ns : {1'000'000, 20'000}) {  // with neighbours that tell it better, and without
        ProfilerBuffer buffer(16, 64);
        for (uint64_t i = 0; i < 64; ++i) {
            const uint64_t at_ns = begin_ns + i * gap_ns + i * i * 37;
            const auto told_ns = [](uint64_t time_ns) { return time_ns / 1024 * 1024; };
            const auto clock = [](uint64_t time_ns) { return uint32_t((time_ns - begin_ns) * 3 / 2); };
            buffer.claim(uint32_t(i), 0, told_ns(at_ns), clock(at_ns));
            buffer.start(0, told_ns(at_ns + 100), clock(at_ns + 100));
            buffer.end(0, clock(at_ns + 2'100));
            buffer.start(1, told_ns(at_ns + 2'600), clock(at_ns + 2'600));
            buffer.end(1, clock(at_ns + 2'700));
        }
        const Trace trace = decoded(buffer);
        CHECK(trace.size() == 128);
        for (size_t row = 0; row < 128; row += 2)
            CHECK(trace.duration_ns[row] > 1'900 && trace.duration_ns[row] < 2'100);
    }
}

TEST(where_segments_are_short_those_that_follow_each_other_on_an_sm_tell_the_rate) {
    ProfilerBuffer buffer(16, 4);
    for (const uint32_t launch : {0u, 1u, 2u}) {
        for (const uint32_t sm : {7u, 8u}) {
            const uint64_t at_ns = begin_ns + launch * 1'000'000 + sm * 100;
            buffer.claim(sm, sm, at_ns, sm * 12'345 + launch * 1'500'000);  // 1.5 cycles a nanosecond
            buffer.start(0, at_ns, sm * 12'345 + launch * 1'500'000 + 15);
            buffer.end(0, sm * 12'345 + launch * 1'500'000 + 900'015);
        }
    }
    const Trace trace = decoded(buffer);
    for (size_t row = 0; row < trace.size(); ++row) CHECK(trace.duration_ns[row] == 600'000);
}

TEST(a_segment_alone_goes_by_the_clock_that_the_device_tells) {
    ProfilerBuffer buffer(16, 1);
    buffer.slot(2)[0] = 1'800'000;  // kilohertz
    buffer.claim(0, 0, begin_ns, 100);
    buffer.start(0, begin_ns, 118);
    buffer.end(0, 118 + 1'800'000);
    const Trace trace = decoded(buffer);
    CHECK(trace.size() == 1 && trace.duration_ns[0] == 1'000'000);
}

TEST(a_clock_that_slept_between_two_segments_tells_no_rate) {
    ProfilerBuffer buffer(16, 2);
    buffer.slot(2)[0] = 2'000'000;
    for (const uint32_t launch : {0u, 1u}) {
        buffer.claim(launch, 0, begin_ns + launch * 1'000'000, launch * 500'000);
        buffer.start(0, begin_ns + launch * 1'000'000, launch * 500'000);
        buffer.end(0, launch * 500'000 + 200'000);
    }
    const Trace trace = decoded(buffer);
    CHECK(trace.duration_ns[0] == 100'000 && trace.duration_ns[1] == 100'000);
}

TEST(blocks_and_groups_have_tracks_under_their_sm) {
    ProfilerBuffer buffer(8, 4);
    for (const uint32_t block : {1u, 0u}) {
        for (const uint32_t group : {0u, 1u}) {
            buffer.claim(block, block + 7, begin_ns, 0, group, 2);
            buffer.mark(1, begin_ns, 1);
        }
    }
    const Trace trace = decoded(buffer);
    CHECK(trace.processes.size() == 2 && trace.processes[0].name == "SM 7");
    CHECK(trace.tracks.size() == 4 && trace.tracks[3].name == "block 1 group 1");
    CHECK(trace.tracks[3].process == 1);
}

TEST(launches_of_one_grid_are_numbered) {
    ProfilerBuffer buffer(8, 4);
    for (uint64_t launch = 0; launch < 3; ++launch) {
        buffer.claim(0, 0, begin_ns + launch * 1'000, 0);
        buffer.mark(0, begin_ns + launch * 1'000, 0);
    }
    const Trace trace = decoded(buffer);
    CHECK(trace.tracks.size() == 1 && trace.size() == 3);
    CHECK(trace.args_of(2) == "\"block\":0,\"sm\":0,\"launch\":2");
}

TEST(nested_ranges_of_one_task_end_inner_first) {
    ProfilerBuffer buffer(16, 1);
    buffer.claim(0, 0, begin_ns, 0);
    buffer.start(0, begin_ns, 0);
    buffer.start(0, begin_ns, 10);
    buffer.end(0, 20);
    buffer.end(0, 30);
    const Trace trace = decoded(buffer);
    CHECK(trace.duration_ns[0] == 30 && trace.duration_ns[1] == 10);
}

TEST(a_payload_belongs_to_the_record_behind_it) {
    ProfilerBuffer buffer(16, 1);
    buffer.claim(0, 0, begin_ns, 0);
    buffer.payload(KG_PAYLOAD_INT, uint64_t(-5));
    buffer.start(0, begin_ns, 0);
    buffer.payload(KG_PAYLOAD_FLOAT, std::bit_cast<uint32_t>(0.5f));
    buffer.end(0, 20);
    buffer.mark(1, begin_ns, 30);
    const Trace trace = decoded(buffer);
    CHECK(trace.args_of(0) == "\"block\":0,\"sm\":0,\"launch\":0,\"payload\":-5,\"end_payload\":0.5");
    CHECK(trace.args_of(1) == "\"block\":0,\"sm\":0,\"launch\":0");
}

TEST(a_range_without_end_lasts_until_the_last_record) {
    ProfilerBuffer buffer(16, 1);
    buffer.claim(0, 0, begin_ns, 0);
    buffer.start(0, begin_ns, 0);
    buffer.mark(1, begin_ns + 500, 500);
    buffer.end(1, 600);
    const Trace trace = decoded(buffer);
    CHECK(trace.duration_ns[0] == 600 && (trace.flags[0] & trace::event_unfinished));
    CHECK(trace.notes.size() == 1 && trace.notes[0].kind == "unbalanced");
    CHECK(trace.notes[0].text == "1 ranges have no end, and 1 ends have no start");
}

TEST(what_finds_no_slot_is_counted) {
    ProfilerBuffer buffer(8, 1);  // room for five
    buffer.claim(0, 0, begin_ns, 0);
    for (uint32_t i = 0; i < 5; ++i) buffer.mark(0, begin_ns + i, i);
    CHECK(decoded(buffer).size() == 5 && decoded(buffer).notes.empty());
    for (uint32_t i = 5; i < 100; ++i) buffer.mark(0, begin_ns + i, i);
    const Trace trace = decoded(buffer);
    CHECK(trace.size() == 4);
    CHECK(trace.notes.size() == 1 && trace.notes[0].kind == "dropped");
    CHECK(trace.notes[0].text.starts_with("about 96 records found no slot, in 1 full segments"));
}

TEST(what_is_written_over_the_tail_in_rows_is_counted) {
    ProfilerBuffer buffer(16, 1);  // nine before the tail
    buffer.claim(0, 0, begin_ns, 0);
    const auto record = [&](uint32_t rows, uint32_t length) {
        for (uint32_t i = 0; i < rows; ++i) {
            buffer.begin_row();
            for (uint32_t j = 0; j < length; ++j) buffer.mark(0, begin_ns, 0);
        }
    };
    record(4, 3);
    CHECK(decoded(buffer).size() == 12 && decoded(buffer).notes.empty());
    record(96, 3);
    CHECK(decoded(buffer).size() == 9);
    CHECK(decoded(buffer).notes[0].text.starts_with("about 291 records found no slot, in 1 full segments"));
    record(1, 1);  // older ones stay behind it
    CHECK(decoded(buffer).notes[0].text.starts_with("about 292 records found no slot, in 1 full segments"));
}

TEST(those_of_the_last_tasks_are_not_counted_twice) {
    ProfilerBuffer buffer(16, 1);
    buffer.claim(0, 0, begin_ns, 0);
    for (uint32_t i = 0; i < 100; ++i) {
        buffer.start(2047, begin_ns + i, i);
        buffer.end(2047, i);
    }
    CHECK(decoded(buffer).notes[0].text.starts_with("about 188 records found no slot, in 1 full segments"));
}

TEST(launches_of_two_grids_have_two_numbers) {
    ProfilerBuffer buffer(8, 8);
    for (const uint32_t blocks : {2u, 1u, 2u}) {
        for (uint32_t block = 0; block < blocks; ++block) {
            buffer.claim(block, block, begin_ns, 0, 0, 1, blocks);
            buffer.mark(0, begin_ns, 0);
        }
    }
    const Trace trace = decoded(buffer);
    std::string launches;
    for (size_t row = 0; row < trace.size(); ++row) launches += trace.args_of(row).back();
    CHECK(launches == "01202");  // of block 0, and of block 1
}

TEST(blocks_without_a_segment_are_counted) {
    ProfilerBuffer buffer(8, 2);
    for (uint32_t block = 0; block < 5; ++block) {
        buffer.claim(block, 0, begin_ns, 0);
        buffer.mark(0, begin_ns, 0);
    }
    const Trace trace = decoded(buffer);
    CHECK(trace.size() == 2 && trace.notes.size() == 1);
    CHECK(trace.notes[0].text.starts_with("3 blocks found no free segment"));
}

TEST(records_end_where_garbage_begins) {
    ProfilerBuffer buffer(16, 1);
    buffer.claim(0, 0, begin_ns, 0);
    for (uint32_t i = 0; i < 6; ++i) buffer.mark(0, begin_ns + i, i);
    buffer.record(3)[0] ^= 0x10000000;
    const Trace trace = decoded(buffer);
    CHECK(trace.size() == 3 && trace.notes.size() == 1 && trace.notes[0].kind == "damaged");
}

TEST(a_slot_that_was_not_written_yet_is_told) {
    ProfilerBuffer buffer(16, 1);
    buffer.claim(0, 0, begin_ns, 0);
    for (uint32_t i = 0; i < 6; ++i) buffer.mark(0, begin_ns + i, i);
    std::memset(buffer.record(3), 0, KG_SLOT_BYTES);
    const Trace trace = decoded(buffer);
    CHECK(trace.size() == 3 && trace.notes.size() == 1 && trace.notes[0].kind == "damaged");
}

TEST(a_buffer_that_is_cut_gives_what_it_holds) {
    ProfilerBuffer buffer(8, 3);
    for (uint32_t block = 0; block < 3; ++block) {
        buffer.claim(block, 0, begin_ns, 0);
        buffer.mark(0, begin_ns, 0);
    }
    const Trace trace =
        intra_kernel::decode(buffer.bytes().first((KG_HEADER_SLOTS + 8) * KG_SLOT_BYTES + 20), {});
    CHECK(trace.size() == 1 && name(trace, 0) == "task 0");
    CHECK(trace.notes.size() == 1 && trace.notes[0].text.starts_with("2 segments"));
}

TEST(something_else_is_no_buffer) {
    const std::vector<std::byte> zeros(4096);
    for (const size_t size : {size_t(0), size_t(7), zeros.size()}) {
        const Trace trace = intra_kernel::decode(std::span(zeros).first(size), {});
        CHECK(trace.size() == 0 && trace.notes.size() == 1 && trace.notes[0].kind == "damaged");
    }
}

TEST(times_follow_the_globaltimer_where_the_rate_changes) {
    ProfilerBuffer buffer(64, 1);
    buffer.claim(0, 0, begin_ns, 0);
    uint32_t clock = 0;
    for (uint32_t i = 1; i <= 40; ++i) {
        clock += i <= 20 ? 20'000 : 10'000;
        buffer.mark(0, begin_ns + i * 10'000, clock);
    }
    const Trace trace = decoded(buffer);
    for (int64_t i = 1; i <= 40; ++i) {
        const int64_t error = trace.start_ns[size_t(i - 1)] - int64_t(begin_ns) - i * 10'000;
        CHECK(error >= -1'000 && error <= 1'000);
    }
}

TEST(clocks_that_wrap_are_told_by_the_globaltimer) {
    ProfilerBuffer buffer(16, 1);
    buffer.claim(0, 0, begin_ns, 0xFFFFFF00u);
    buffer.start(0, begin_ns + 100, 0xFFFFFFF0u);
    buffer.end(0, 0x10u);
    buffer.start(1, begin_ns + 10'000'000'000, 0x20u);
    buffer.end(1, 0x40u);
    const Trace trace = decoded(buffer);
    CHECK(trace.duration_ns[0] == 32 && trace.duration_ns[1] == 32);
    CHECK(trace.start_ns[1] - trace.start_ns[0] == 10'000'000'000 - 100 - 140);
    // Whether the first took ten seconds more, nothing tells.
    CHECK(trace.notes.size() == 1 && trace.notes[0].kind == "clock");
    CHECK(trace.notes[0].text.starts_with("1 ends of ranges may be seconds too early"));
}

TEST(ends_with_a_globaltimer_are_never_too_early) {
    ProfilerBuffer buffer(16, 1);
    buffer.claim(0, 0, begin_ns, 0);
    buffer.start(0, begin_ns + 100, 100);
    buffer.end(0, uint32_t(10'000'000'100), begin_ns + 10'000'000'100);
    const Trace trace = decoded(buffer);
    CHECK(trace.duration_ns[0] == 10'000'000'000 && trace.notes.empty());
}

CHECK_MAIN
