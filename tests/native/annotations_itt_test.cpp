// What PyPI's ittapi does not call: metadata, markers, regions, frames, counters, and clients of the
// collector that made domains before they knew it.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "annotation_session.h"
#include "base/itt_types.h"
#include "check.h"
#include "kinetograph/record_abi.h"

using namespace kinetograph;
using test::start;
using test::stop;

namespace {

constexpr itt::Id no_id{};

// The part of ITT that is compiled into each client: pointers, which the collector sets.
class Client {
public:
    template <class Function>
    void wants(const char* name, Function*& function) {
        functions_.push_back({name, reinterpret_cast<void**>(&function), nullptr, nullptr, 0});
    }

    void connect(void* collector, itt::Domain* domains = nullptr) {
        functions_.push_back({});
        global_.functions = functions_.data();
        global_.domains = domains;
        using Init = void (*)(itt::Global*, int);
        reinterpret_cast<Init>(dlsym(collector, "__itt_api_init"))(&global_, 0);
    }

private:
    std::vector<itt::Api> functions_;
    itt::Global global_{};
};

struct Calls {
    itt::Domain* (*domain)(const char*) = nullptr;
    itt::String* (*string)(const char*) = nullptr;
    void (*begin)(const itt::Domain*, itt::Id, itt::Id, itt::String*) = nullptr;
    void (*begin_function)(const itt::Domain*, itt::Id, itt::Id, void*) = nullptr;
    void (*end)(const itt::Domain*) = nullptr;
    void (*metadata)(const itt::Domain*, itt::Id, itt::String*, itt::Number, size_t, void*) = nullptr;
    void (*text)(const itt::Domain*, itt::Id, itt::String*, const char*, size_t) = nullptr;
    void (*marker)(const itt::Domain*, itt::Id, itt::String*, int) = nullptr;
    void (*begin_region)(const itt::Domain*, itt::Id, itt::Id, itt::String*) = nullptr;
    void (*end_region)(const itt::Domain*, itt::Id) = nullptr;
    void (*begin_frame)(const itt::Domain*, itt::Id*) = nullptr;
    void (*end_frame)(const itt::Domain*, itt::Id*) = nullptr;
    void (*submit_frame)(const itt::Domain*, itt::Id*, uint64_t, uint64_t) = nullptr;
    unsigned long long (*timestamp)() = nullptr;
    void* (*counter)(const char*, const char*, itt::Number) = nullptr;
    void (*set)(void*, void*) = nullptr;
    void (*increase)(void*) = nullptr;
    void (*decrease_by)(void*, unsigned long long) = nullptr;
    void (*increase_named)(const itt::Domain*, const itt::String*, unsigned long long) = nullptr;
    void (*pause)() = nullptr;
    void (*resume)() = nullptr;
    void (*unknown)() = nullptr;
};

Calls itt_calls;
itt::Domain made_early{0, "made early", nullptr, 0, nullptr, nullptr};

void connect(const char* path) {
    static Client client;
    client.wants("__itt_domain_create", itt_calls.domain);
    client.wants("__itt_string_handle_create", itt_calls.string);
    client.wants("__itt_task_begin", itt_calls.begin);
    client.wants("__itt_task_begin_fn", itt_calls.begin_function);
    client.wants("__itt_task_end", itt_calls.end);
    client.wants("__itt_metadata_add", itt_calls.metadata);
    client.wants("__itt_metadata_str_add", itt_calls.text);
    client.wants("__itt_marker", itt_calls.marker);
    client.wants("__itt_region_begin", itt_calls.begin_region);
    client.wants("__itt_region_end", itt_calls.end_region);
    client.wants("__itt_frame_begin_v3", itt_calls.begin_frame);
    client.wants("__itt_frame_end_v3", itt_calls.end_frame);
    client.wants("__itt_frame_submit_v3", itt_calls.submit_frame);
    client.wants("__itt_get_timestamp", itt_calls.timestamp);
    client.wants("__itt_counter_create_typed", itt_calls.counter);
    client.wants("__itt_counter_set_value", itt_calls.set);
    client.wants("__itt_counter_inc", itt_calls.increase);
    client.wants("__itt_counter_dec_delta", itt_calls.decrease_by);
    client.wants("__itt_counter_inc_delta_v3", itt_calls.increase_named);
    client.wants("__itt_pause", itt_calls.pause);
    client.wants("__itt_resume", itt_calls.resume);
    client.wants("__itt_something_new", itt_calls.unknown);
    void* collector = dlopen(path, RTLD_NOW);
    CHECK(collector != nullptr);
    client.connect(collector, &made_early);
}

std::string name(const trace::Trace& trace, size_t row) {
    return std::string(trace.strings[trace.name[row]]);
}

std::string category(const trace::Trace& trace, size_t row) {
    return trace.categories[trace.category[row]];
}

bool has_note(const trace::Trace& trace, std::string_view text, std::string_view kind = "names") {
    return std::any_of(trace.notes.begin(), trace.notes.end(),
                       [&](const trace::Note& note) { return note.kind == kind && note.text == text; });
}

TEST(what_is_not_known_stays_what_it_was) {
    CHECK(itt_calls.unknown == nullptr);
}

TEST(a_domain_that_was_made_early_is_switched_on) {
    CHECK(made_early.flags == 1);
    const auto session = start();
    itt_calls.begin(&made_early, no_id, no_id, itt_calls.string("task"));
    itt_calls.end(&made_early);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1 && category(trace, 0) == "made early" && name(trace, 0) == "task");
}

TEST(handles_are_the_same_for_the_same_text) {
    CHECK(itt_calls.domain("x") == itt_calls.domain("x") && itt_calls.domain("x") != itt_calls.domain("y"));
    CHECK(itt_calls.string("x") == itt_calls.string("x") && itt_calls.string("x") != itt_calls.string("y"));
    const std::string longer(500, 'l');
    CHECK(itt_calls.string(longer.c_str()) == itt_calls.string(longer.c_str()));
    CHECK(itt_calls.domain("x")->flags == 1 && std::string(itt_calls.string("x")->text) == "x");
}

TEST(one_text_in_two_domains_is_two_names) {
    const auto session = start();
    for (const char* domain : {"first", "second"}) {
        itt_calls.begin(itt_calls.domain(domain), no_id, no_id, itt_calls.string("shared"));
        itt_calls.end(itt_calls.domain(domain));
    }
    const trace::Trace trace = stop(session);
    CHECK(category(trace, 0) == "first" && category(trace, 1) == "second");
}

TEST(a_domain_called_like_us_is_one_of_the_programs) {
    const auto session = start();
    itt_calls.begin(itt_calls.domain("kinetograph"), no_id, no_id, itt_calls.string("not ours"));
    itt_calls.end(itt_calls.domain("kinetograph"));
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1 && category(trace, 0) == "kinetograph" && name(trace, 0) == "not ours");
}

TEST(any_character_may_be_in_a_domain_and_in_a_name) {
    itt::Domain* domain = itt_calls.domain(
        "a\x1f"
        "b\x1d"
        "0\x1d");
    const auto session = start();
    for (const char* task : {"c\x1f"
                             "d\x1d"
                             "0",
                             ""}) {
        itt_calls.begin(domain, no_id, no_id, itt_calls.string(task));
        itt_calls.end(domain);
    }
    const trace::Trace trace = stop(session);
    for (size_t row = 0; row < 2; ++row)
        CHECK(category(trace, row) ==
              "a\x1f"
              "b\x1d"
              "0\x1d");
    CHECK(name(trace, 0) ==
              "c\x1f"
              "d\x1d"
              "0" &&
          name(trace, 1) == "");
}

TEST(a_domain_that_would_leave_no_room_for_names_is_cut_and_told_of) {
    std::string longest(16 * 1024 - 1, 'd');
    const itt::Domain* domain = itt_calls.domain((longest + "\xc3\xa4" + longest + longest).c_str());
    const auto session = start();
    for (const char* task : {"first", "second"}) {
        itt_calls.begin(domain, no_id, no_id, itt_calls.string(task));
        itt_calls.end(domain);
    }
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 2 && name(trace, 0) == "first" && name(trace, 1) == "second");
    CHECK(category(trace, 0) == longest && category(trace, 1) == longest);
    CHECK(has_note(trace, "2 names are in a domain of NVTX or ITT that was longer than 16 KiB and was cut"));
}

TEST(operators_of_torch_are_operators) {
    const auto session = start();
    itt_calls.begin(itt_calls.domain("PyTorch"), no_id, no_id, itt_calls.string("aten::add"));
    itt_calls.end(itt_calls.domain("PyTorch"));
    const trace::Trace trace = stop(session);
    CHECK(category(trace, 0) == "cpu_op" && name(trace, 0) == "aten::add" && trace.scope[0] == 0);
}

TEST(metadata_are_arguments_of_the_task) {
    itt::Domain* domain = itt_calls.domain("metadata");
    const auto session = start();
    itt_calls.begin(domain, no_id, no_id, itt_calls.string("task"));
    double numbers[] = {0.5, 2};
    int32_t number = -3;
    itt_calls.metadata(domain, no_id, itt_calls.string("numbers"), itt::Number::f64, 2, numbers);
    itt_calls.metadata(domain, no_id, itt_calls.string("number"), itt::Number::s32, 1, &number);
    itt_calls.metadata(domain, no_id, itt_calls.string("nothing"), itt::Number::s32, 1, nullptr);
    itt_calls.text(domain, no_id, itt_calls.string("text"), "some text", 4);
    itt_calls.end(domain);
    const trace::Trace trace = stop(session);
    CHECK(trace.args_of(0) == R"("numbers":[0.5,2],"number":-3,"text":"some")");
}

TEST(long_metadata_are_cut_and_told_of) {
    itt::Domain* domain = itt_calls.domain("metadata");
    const auto session = start();
    itt_calls.begin(domain, no_id, no_id, itt_calls.string("task"));
    std::vector<uint16_t> numbers(1'025, 7);
    itt_calls.metadata(domain, no_id, itt_calls.string("numbers"), itt::Number::u16, numbers.size(),
                       numbers.data());
    itt_calls.end(domain);
    CHECK(has_note(stop(session), "1 arrays in metadata of ITT are here with their first 1,024 elements only",
                   "partial"));
}

TEST(metadata_of_no_known_type_are_not_read) {
    itt::Domain* domain = itt_calls.domain("metadata");
    const auto session = start();
    itt_calls.begin(domain, no_id, no_id, itt_calls.string("task"));
    void* anywhere = reinterpret_cast<void*>(0x1234);
    itt_calls.metadata(domain, no_id, itt_calls.string("address"), itt::Number::unknown, 1, anywhere);
    itt_calls.metadata(domain, no_id, itt_calls.string("bytes"), itt::Number::unknown, 3, anywhere);
    itt_calls.metadata(domain, no_id, itt_calls.string("other"), itt::Number(99), 1, anywhere);
    itt_calls.end(domain);
    itt_calls.set(itt_calls.counter("of nothing", "metadata", itt::Number::unknown), anywhere);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1);
    CHECK(trace.args_of(0) == R"("address":"0x1234","bytes":null,"other":"0x1234")");
    CHECK(has_note(trace, "1 arrays in metadata of ITT are null: their type is not known", "partial"));
    CHECK(has_note(trace, "1 values of ITT counters were not recorded: their type is not known",
                   "annotations"));
}

TEST(metadata_of_one_range_do_not_grow_for_ever) {
    itt::Domain* domain = itt_calls.domain("metadata");
    const std::string text(1'000, 'x');
    constexpr itt::Id of_region{{77, 0, 0}};
    const auto session = start();
    itt_calls.begin(domain, no_id, no_id, itt_calls.string("task"));
    itt_calls.begin_region(domain, of_region, no_id, itt_calls.string("region"));
    // Too long by itself, it keeps none of the others out.
    const std::string longer(100'000, 'y');
    itt_calls.text(domain, no_id, itt_calls.string("text"), longer.data(), longer.size());
    for (const itt::Id& id : {no_id, of_region})
        for (int i = 0; i < 100; ++i)
            itt_calls.text(domain, id, itt_calls.string("text"), text.data(), text.size());
    itt_calls.end_region(domain, of_region);
    itt_calls.end(domain);
    const trace::Trace trace = stop(session);
    const std::string first = R"("text":")" + text + '"';
    for (const size_t row : {0, 1}) {
        CHECK(trace.args_of(row).starts_with(first));
        CHECK(trace.args_of(row).size() == 48 * (first.size() + 1) - 1);
    }
    // Of many at a time a trace may lack some that come behind.
    const uint64_t of_task = test::count_in_note(trace, "arguments of ranges were left out"),
                   of_id = test::count_in_note(trace, "metadata of ITT were left out");
    CHECK(of_task <= 53 && of_task >= 53 - 53 / 16);
    CHECK(of_id <= 52 && of_id >= 52 - 52 / 16);
}

TEST(metadata_of_an_id_are_those_of_its_range) {
    itt::Domain* domain = itt_calls.domain("ids");
    const auto session = start();
    int32_t first = 1, second = 2;
    itt_calls.begin(domain, {{9, 0, 0}}, no_id, itt_calls.string("task"));
    itt_calls.begin_region(domain, {{8, 0, 0}}, no_id, itt_calls.string("region"));
    itt_calls.metadata(domain, {{8, 0, 0}}, itt_calls.string("number"), itt::Number::s32, 1, &first);
    itt_calls.metadata(domain, {{9, 0, 0}}, itt_calls.string("number"), itt::Number::s32, 1, &second);
    itt_calls.end(domain);
    itt_calls.end_region(domain, {{8, 0, 0}});
    const trace::Trace trace = stop(session);
    CHECK(name(trace, 0) == "task" && trace.args_of(0) == "\"number\":2");
    CHECK(name(trace, 1) == "region" && trace.args_of(1) == "\"number\":1");
}

TEST(metadata_of_a_range_that_is_not_recorded_are_not_those_of_the_next) {
    itt::Domain* domain = itt_calls.domain("the same id again");
    const itt::Id task{{9, 0, 0}}, region{{8, 0, 0}};
    int32_t number = 1;
    itt_calls.begin(domain, task, no_id, itt_calls.string("before"));
    const auto first = start();
    itt_calls.metadata(domain, task, itt_calls.string("number"), itt::Number::s32, 1, &number);
    itt_calls.end(domain);
    itt_calls.begin_region(domain, region, no_id, itt_calls.string("in the first"));
    itt_calls.metadata(domain, region, itt_calls.string("number"), itt::Number::s32, 1, &number);
    stop(first);
    itt_calls.end_region(domain, region);
    const auto second = start();
    itt_calls.begin(domain, task, no_id, itt_calls.string("task"));
    itt_calls.end(domain);
    itt_calls.begin_region(domain, region, no_id, itt_calls.string("region"));
    itt_calls.end_region(domain, region);
    const trace::Trace trace = stop(second);
    CHECK(trace.size() == 2);
    for (size_t row = 0; row < trace.size(); ++row) CHECK(trace.args_of(row).empty());
}

// Markers have no end, and some ranges are never ended.
TEST(metadata_of_what_never_ends_make_room_for_those_of_others) {
    itt::Domain* domain = itt_calls.domain("never ends");
    itt::String* key = itt_calls.string("key");
    const auto session = start();
    for (uint64_t id = 1; id <= 70'000; ++id)
        itt_calls.text(domain, itt::Id{{id, 0, 0}}, key, "of a marker", 0);
    const itt::Id last{{1'000'000, 0, 0}};
    itt_calls.begin_region(domain, last, no_id, itt_calls.string("region"));
    itt_calls.text(domain, last, key, "kept", 0);
    itt_calls.end_region(domain, last);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1 && trace.args_of(0) == R"("key":"kept")");
    const uint64_t left_out = test::count_in_note(trace, "metadata of ITT were left out");
    CHECK(left_out >= 32'768 && left_out < 33'000);  // with the last of other tests'
}

TEST(a_domain_that_was_switched_off_stays_so_when_it_is_asked_for_again) {
    itt::Domain* domain = itt_calls.domain("switched");
    CHECK(domain->flags == 1);
    domain->flags = 0;
    CHECK(itt_calls.domain("switched")->flags == 0);
}

TEST(what_ends_in_a_pause_has_ended) {
    itt::Domain* domain = itt_calls.domain("pauses");
    const auto session = start();
    itt_calls.begin_region(domain, {{1, 0, 0}}, no_id, itt_calls.string("region"));
    itt_calls.pause();
    itt_calls.end_region(domain, {{1, 0, 0}});
    itt_calls.marker(domain, no_id, itt_calls.string("not wanted"), 1);
    itt_calls.resume();
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1 && trace.flags[0] == trace::event_async);
}

TEST(markers_regions_frames_and_functions) {
    itt::Domain* domain = itt_calls.domain("others");
    const auto session = start();
    itt_calls.marker(domain, no_id, itt_calls.string("marker"), 1);
    itt_calls.begin_region(domain, {{1, 2, 3}}, no_id, itt_calls.string("region"));
    itt_calls.begin_frame(domain, nullptr);
    itt_calls.end_region(domain, {{1, 2, 3}});
    itt_calls.end_frame(domain, nullptr);
    itt_calls.begin_function(domain, no_id, no_id, reinterpret_cast<void*>(0x1234));
    itt_calls.end(domain);
    itt_calls.end(domain);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 4);
    CHECK(name(trace, 0) == "marker" && trace.kind[0] == uint8_t(trace::EventKind::instant));
    CHECK(name(trace, 1) == "region" && trace.flags[1] == trace::event_async);
    CHECK(name(trace, 2) == "frame" && trace.flags[2] == trace::event_async);
    CHECK(name(trace, 3) == "0x1234" && trace.flags[3] == 0);
}

TEST(a_frame_without_an_id_is_the_one_of_its_domain) {
    itt::Domain *one = itt_calls.domain("one"), *other = itt_calls.domain("other");
    const auto session = start();
    itt_calls.begin_frame(one, nullptr);
    itt_calls.begin_frame(other, nullptr);
    itt_calls.begin_region(one, no_id, no_id, itt_calls.string("region without an id"));
    itt_calls.end_frame(one, nullptr);
    itt_calls.end_frame(other, nullptr);
    itt_calls.end_region(one, no_id);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 3);
    for (size_t row = 0; row < 3; ++row) CHECK(trace.flags[row] == trace::event_async);
    CHECK(category(trace, 0) == "one" && category(trace, 1) == "other" && name(trace, 1) == "frame");
    CHECK(name(trace, 2) == "region without an id");
    const auto end = [&](size_t row) { return trace.start_ns[row] + trace.duration_ns[row]; };
    CHECK(end(0) <= end(1) && end(1) <= end(2));
}

TEST(frames_that_are_submitted_lie_at_the_times_they_were_given) {
    itt::Domain* domain = itt_calls.domain("submitted");
    itt::Id id{{5, 0, 0}};
    const auto session = start();
    const unsigned long long first = itt_calls.timestamp();
    itt_calls.marker(domain, no_id, itt_calls.string("within"), 1);
    const unsigned long long second = itt_calls.timestamp();
    itt_calls.marker(domain, no_id, itt_calls.string("behind"), 1);
    itt_calls.submit_frame(domain, nullptr, first, second);
    itt_calls.submit_frame(domain, &id, first, itt_calls.timestamp());
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 4);
    CHECK(name(trace, 0) == "frame" && name(trace, 1) == "frame" && name(trace, 2) == "within");
    CHECK(category(trace, 0) == "submitted" && trace.start_ns[0] == trace.start_ns[1]);
    const int64_t shorter = std::min(trace.duration_ns[0], trace.duration_ns[1]),
                  longer = std::max(trace.duration_ns[0], trace.duration_ns[1]);
    CHECK(trace.start_ns[0] + shorter <= trace.start_ns[3] &&
          trace.start_ns[3] <= trace.start_ns[0] + longer);
}

TEST(frames_with_times_of_another_clock_are_told_of) {
    itt::Domain* domain = itt_calls.domain("submitted");
    const auto session = start();
    const unsigned long long now = itt_calls.timestamp();
    itt_calls.submit_frame(domain, nullptr, 1, now);
    itt_calls.submit_frame(domain, nullptr, now, UINT64_MAX);
    itt_calls.submit_frame(domain, nullptr, now, now - 1);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 0);
    CHECK(has_note(
        trace, "3 frames of ITT were not recorded: their times are not those that __itt_get_timestamp gave",
        "annotations"));
}

TEST(counters_are_set_and_counted) {
    void* counter = itt_calls.counter("counter", "counting", itt::Number::s32);
    CHECK(itt_calls.counter("counter", "counting", itt::Number::s32) == counter);
    const auto session = start();
    int32_t value = 7;
    itt_calls.set(counter, &value);
    itt_calls.increase(counter);
    itt_calls.decrease_by(counter, 10);
    itt_calls.set(counter, nullptr);
    itt_calls.increase(nullptr);
    itt_calls.increase_named(itt_calls.domain("counting"), itt_calls.string("by name"), 5);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 4);
    for (size_t row = 0; row < 4; ++row) CHECK(category(trace, row) == "counting");
    CHECK(trace.args_of(0) == "\"value\":7" && trace.args_of(1) == "\"value\":8" &&
          trace.args_of(2) == "\"value\":-2" && trace.args_of(3) == "\"value\":5");
}

std::vector<std::string> values_of(const trace::Trace& trace) {
    std::vector<std::string> values;
    for (size_t row = 0; row < trace.size(); ++row) values.emplace_back(trace.args_of(row));
    return values;
}

TEST(counters_go_on_while_nobody_records) {
    void* counter = itt_calls.counter("unseen", "counting", itt::Number::u64);
    const itt::Domain* domain = itt_calls.domain("counting");
    const itt::String* name = itt_calls.string("unseen by name");
    const auto count = [&] {
        itt_calls.increase(counter);
        itt_calls.increase_named(domain, name, 10);
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&] {
            for (int n = 0; n < 5'000; ++n) count();
        });
    for (std::thread& thread : threads) thread.join();
    const auto session = start();
    count();
    CHECK(values_of(stop(session)) == (std::vector<std::string>{"\"value\":10001", "\"value\":100010"}));
}

TEST(what_threads_count_is_told_in_the_order_of_its_times) {
    void* counter = itt_calls.counter("together", "counting", itt::Number::u64);
    const auto session = start();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int n = 0; n < 5'000; ++n) itt_calls.increase(counter);
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(test::values_by_time(stop(session)) == test::numbers_up_to(20'000));
}

TEST(a_counter_of_fractions_keeps_them) {
    void* counter = itt_calls.counter("fractions", "counting", itt::Number::f64);
    const auto session = start();
    double value = 2.5;
    itt_calls.set(counter, &value);
    itt_calls.increase(counter);
    itt_calls.decrease_by(counter, 2);
    value = 1e15;
    itt_calls.set(counter, &value);
    CHECK(values_of(stop(session)) ==
          (std::vector<std::string>{"\"value\":2.5", "\"value\":3.5", "\"value\":1.5",
                                    "\"value\":1000000000000000"}));
}

TEST(a_counter_is_read_by_the_type_that_its_handle_was_made_with) {
    void* whole = itt_calls.counter("retyped", "counting", itt::Number::u64);
    void* fraction = itt_calls.counter("retyped", "counting", itt::Number::f64);
    const auto session = start();
    uint64_t two = 2;
    double half = 0.5;
    itt_calls.set(whole, &two);
    itt_calls.set(fraction, &half);
    CHECK(values_of(stop(session)) == (std::vector<std::string>{"\"value\":2", "\"value\":0.5"}));
}

TEST(counters_tell_nothing_in_a_pause_and_have_counted_after_it) {
    void* counter = itt_calls.counter("paused", "counting", itt::Number::s32);
    const auto session = start();
    itt_calls.pause();
    int32_t value = 7;
    itt_calls.set(counter, &value);
    itt_calls.increase(counter);
    itt_calls.resume();
    itt_calls.increase(counter);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 1 && trace.args_of(0) == "\"value\":9");
}

// As with torch's emit_itt while our observer watches, which torch asks first.
TEST(a_task_of_torch_that_was_recorded_as_an_operator_is_not_recorded_again) {
    itt::Domain* torch = itt_calls.domain("PyTorch");
    itt::Domain* other = itt_calls.domain("another");
    itt::String* mm = itt_calls.string("aten::mm");
    const kinetograph_record_table& table = *kinetograph_record_table_for(KINETOGRAPH_RECORD_ABI);
    const auto session = start();
    const uint64_t outer = table.begin_operator(table.intern_text("aten::mm", 8), 0, 0, 0);
    itt_calls.begin(torch, no_id, no_id, mm);
    itt_calls.begin(other, no_id, no_id, mm);
    itt_calls.begin(torch, no_id, no_id, itt_calls.string("of the program"));
    itt_calls.end(torch);
    itt_calls.end(other);
    table.end_operator(outer, -1, 0);
    itt_calls.end(torch);
    const trace::Trace trace = stop(session);
    CHECK(trace.size() == 3);
    CHECK(name(trace, 0) == "aten::mm" && category(trace, 0) == "cpu_op");
    CHECK(name(trace, 1) == "aten::mm" && category(trace, 1) == "another");
    CHECK(name(trace, 2) == "of the program" && category(trace, 2) == "cpu_op");
}

// As where no observer watches, or a program has ranges of one name within each other.
TEST(tasks_of_torch_within_others_of_their_name_are_recorded) {
    itt::Domain* torch = itt_calls.domain("PyTorch");
    itt::String* sum = itt_calls.string("aten::sum");
    const kinetograph_record_table& table = *kinetograph_record_table_for(KINETOGRAPH_RECORD_ABI);
    const uint32_t known = table.intern_text("aten::sum", 9);
    const auto session = start();
    for (int i = 0; i < 2; ++i) itt_calls.begin(torch, no_id, no_id, sum);
    for (int i = 0; i < 2; ++i) itt_calls.end(torch);
    table.begin(known, 0, 0);
    itt_calls.begin(torch, no_id, no_id, sum);
    itt_calls.end(torch);
    table.end(known);
    const uint64_t watched = table.begin_operator(known, 0, 0, 0);
    for (int i = 0; i < 2; ++i) itt_calls.begin(torch, no_id, no_id, sum);
    for (int i = 0; i < 2; ++i) itt_calls.end(torch);
    table.end_operator(watched, -1, 0);
    CHECK(stop(session).size() == 6);
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 2);
    connect(argv[1]);
    return test::run_all();
}
