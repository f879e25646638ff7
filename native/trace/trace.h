// The waist of the hourglass: what a recording or a file becomes, and all that reports and writers read.
//
// A Trace is columns, one row an event, ordered by track, then start, then longer first: on each track a
// parent stands before its children. It knows no clock and no Python; times are int64 ns of wall time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/event.h"
#include "trace/column.h"

namespace kinetograph::trace {

using record::Category;

enum class EventKind : uint8_t { span = 0, instant = 1, counter = 2, memory = 3 };

enum EventFlags : uint8_t {
    event_unfinished = record::flag_unfinished,
    event_async = record::flag_async,
    event_resumed = record::flag_resumed,
};
inline constexpr uint8_t event_flags = event_unfinished | event_async | event_resumed;

// Names by id. Ids are dense and given in the order of first use; id 0 is the empty string.
class Strings {
public:
    explicit Strings(const Storage& storage = {});
    uint32_t intern(std::string_view text);
    // Appends without looking for an equal string, and is not found by intern: for callers that give each
    // string once and remember its id.
    uint32_t add(std::string_view text);
    std::string_view operator[](uint32_t id) const;
    size_t size() const { return starts_.size() - 1; }
    Strings clone() const;

private:
    void rehash(size_t slots);
    Column<char> bytes_;
    Column<uint64_t> starts_;
    std::vector<uint32_t> slots_;  // open addressing, id + 1, 0 is free
    size_t used_slots_ = 0;
};

// Pieces of text by position: the `args` of events, as JSON object members without braces.
struct TextRange {
    uint64_t offset = 0;
    uint64_t length = 0;
};

struct Process {
    std::string pid;  // as it stands in JSON: 4711, or "Spans" with its quotes
    std::string name;
    std::string labels;
    std::string sort_index;  // "" when the file has none
};

// A thread of a process, a lane of a thread (asyncio task), or a stream of a device.
struct Track {
    uint32_t process = 0;  // index in Trace::processes
    std::string tid;       // as it stands in JSON
    std::string name;
    std::string sort_index;
    int32_t parent = -1;  // the thread's track, for a lane
    uint8_t device_type = 0;
    int32_t device_index = -1;
    uint32_t framework_thread = 0;  // as PyTorch numbers the threads of a process; 0: not known
};

// Something lost, doubted or degraded. Written into every file and shown by every report.
struct Note {
    std::string kind;  // one word: dropped, clock, unbalanced, callback ...
    std::string text;
};

struct Trace {
    explicit Trace(const Storage& storage = {});
    Trace(Trace&&) = default;
    Trace& operator=(Trace&&) = default;
    Trace clone() const;
    // Lets go of the pages of these rows, if the columns live in a file.
    void drop_pages(size_t begin, size_t end) const;

    size_t size() const { return start_ns.size(); }
    std::string_view args_of(size_t event) const {
        if (args.empty()) return {};
        return {args_text.data() + args[event].offset, args[event].length};
    }
    // Adds a name that is not Kineto's. There is room for 256; what comes after is called "other".
    uint8_t category_id(std::string_view category_name);
    int64_t end_ns(size_t event) const { return start_ns[event] + duration_ns[event]; }
    bool is_span(size_t event) const { return kind[event] == uint8_t(EventKind::span); }
    bool is_async(size_t event) const { return flags[event] & event_async; }
    // Overlaps others of the host: where times add up there is no place for it. What an interpreter of
    // kernels recorded is host time already, that of the operator or function which ran it.
    bool is_beside(size_t event) const {
        return is_async(event) || category[event] == uint8_t(Category::intra_kernel);
    }
    bool on_device(size_t event) const { return tracks[track[event]].device_type != 0; }
    // Makes an optional column present: `filler` for the rows that are there.
    template <class T>
    void fill(Column<T>& column, T filler) const {
        while (column.size() < size()) column.push_back(filler);
    }

    // One row per event.
    Column<int64_t> start_ns;
    Column<int64_t> duration_ns;
    Column<uint32_t> name;
    Column<uint32_t> track;
    Column<uint8_t> category;  // index in `categories`
    Column<uint8_t> kind;      // EventKind
    Column<uint8_t> scope;     // RecordScope
    Column<uint8_t> flags;     // EventFlags

    // Empty when no event has one; otherwise one row per event.
    Column<int64_t> correlation;  // 0: none. Joins a launch and the device work it caused
    Column<int32_t> link;      // row of the host event that caused this one (Kineto's External id), -1: none
    Column<int64_t> sequence;  // autograd's sequence number, -1: none
    Column<uint32_t>
        record_function;  // the framework's number of the call, 0: none; execution traces have it
    Column<TextRange> args;

    Column<char> args_text;
    Strings strings;
    std::vector<std::string> categories;  // the first category_count are record::Category
    std::vector<Process> processes;
    std::vector<Track> tracks;
    std::vector<std::pair<std::string, std::string>> metadata;  // key, JSON text; in the order of the file
    std::string device_properties = "[]";                       // JSON text
    std::vector<Note> notes;
    int64_t window_start_ns = 0;
    int64_t window_end_ns = 0;
    int64_t base_time_ns = 0;  // times in JSON count from here; 0: the three-month grid Kineto uses
    Storage storage;
};

// Calls visit(row) for all rows in order. Of columns in a file only the pages around the row stay in this
// process, so that a trace larger than the memory ceiling can be gone over.
template <class Visit>
void each_row(const Trace& trace, Visit&& visit) {
    constexpr size_t stretch = 1 << 16;
    for (size_t begin = 0; begin < trace.size(); begin += stretch) {
        const size_t end = std::min(begin + stretch, trace.size());
        for (size_t row = begin; row < end; ++row) visit(row);
        trace.drop_pages(begin, end);
    }
}

// Begin of the window or of the first event, whichever is earlier; 0 when there is neither.
int64_t first_start_ns(const Trace& trace);

// Puts the rows in the order the class comment promises; linear when they already are.
void sort_events(Trace& trace);

// Parents and self times, computed in one pass over an ordered trace.
struct Nesting {
    Column<int32_t> parent;   // row, or -1
    Column<int64_t> self_ns;  // what no child covers: never negative, even where children overlap
    Column<uint16_t> depth;
};
// Async spans stand beside the tree: they have no parent, no children and no self time.
Nesting nest(const Trace& trace);

}  // namespace kinetograph::trace
