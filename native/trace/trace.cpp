#include "trace/trace.h"

#include <algorithm>
#include <numeric>

namespace kinetograph::trace {

Trace::Trace(const Storage& where)
    : start_ns(where),
      duration_ns(where),
      name(where),
      track(where),
      category(where),
      kind(where),
      scope(where),
      flags(where),
      correlation(where),
      link(where),
      sequence(where),
      record_function(where),
      args(where),
      args_text(where),
      strings(where),
      categories(std::begin(record::category_names), std::end(record::category_names)),
      storage(where) {}

Trace Trace::clone() const {
    Trace copy(storage);
    copy.start_ns = start_ns.clone();
    copy.duration_ns = duration_ns.clone();
    copy.name = name.clone();
    copy.track = track.clone();
    copy.category = category.clone();
    copy.kind = kind.clone();
    copy.scope = scope.clone();
    copy.flags = flags.clone();
    copy.correlation = correlation.clone();
    copy.link = link.clone();
    copy.sequence = sequence.clone();
    copy.record_function = record_function.clone();
    copy.args = args.clone();
    copy.args_text = args_text.clone();
    copy.strings = strings.clone();
    copy.categories = categories;
    copy.processes = processes;
    copy.tracks = tracks;
    copy.metadata = metadata;
    copy.device_properties = device_properties;
    copy.notes = notes;
    copy.window_start_ns = window_start_ns;
    copy.window_end_ns = window_end_ns;
    copy.base_time_ns = base_time_ns;
    return copy;
}

void Trace::drop_pages(size_t begin, size_t end) const {
    start_ns.drop_pages(begin, end);
    duration_ns.drop_pages(begin, end);
    name.drop_pages(begin, end);
    track.drop_pages(begin, end);
    category.drop_pages(begin, end);
    kind.drop_pages(begin, end);
    scope.drop_pages(begin, end);
    flags.drop_pages(begin, end);
    correlation.drop_pages(begin, end);
    link.drop_pages(begin, end);
    sequence.drop_pages(begin, end);
    record_function.drop_pages(begin, end);
    args.drop_pages(begin, end);
    args_text.drop_pages(0, args_text.size());  // which part belongs to these rows is not known
}

uint8_t Trace::category_id(std::string_view category_name) {
    const auto found = std::find(categories.begin(), categories.end(), category_name);
    if (found != categories.end()) return static_cast<uint8_t>(found - categories.begin());
    if (categories.size() == 255 && category_name != "other") return category_id("other");
    if (categories.size() == 256) return 255;
    categories.emplace_back(category_name);
    return static_cast<uint8_t>(categories.size() - 1);
}

namespace {

// Rows in the order of a permutation: element i comes from row `from[i]`.
template <class T>
void permute(Column<T>& column, const Column<uint32_t>& from) {
    if (column.empty()) return;
    Column<T> moved(column.storage());
    moved.resize(column.size());
    for (size_t i = 0; i < from.size(); ++i) moved[i] = column[from[i]];
    column = std::move(moved);
}

bool comes_before(const Trace& trace, size_t a, size_t b) {
    if (trace.start_ns[a] != trace.start_ns[b]) return trace.start_ns[a] < trace.start_ns[b];
    return trace.duration_ns[a] > trace.duration_ns[b];
}

bool is_ordered(const Trace& trace) {
    for (size_t i = 1; i < trace.size(); ++i) {
        if (trace.track[i] < trace.track[i - 1]) return false;
        if (trace.track[i] == trace.track[i - 1] && comes_before(trace, i, i - 1)) return false;
    }
    return true;
}

// First row of each track, after all rows were grouped by track.
std::vector<size_t> track_starts(const Trace& trace) {
    std::vector<size_t> starts(trace.tracks.size() + 1);
    for (const uint32_t track : trace.track) ++starts[track + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    return starts;
}

Column<uint32_t> ordered_rows(const Trace& trace) {
    const std::vector<size_t> starts = track_starts(trace);
    Column<uint32_t> rows(trace.storage);
    rows.resize(trace.size());
    std::vector<size_t> next = starts;
    for (size_t i = 0; i < trace.size(); ++i) rows[next[trace.track[i]]++] = static_cast<uint32_t>(i);
    const auto before = [&trace](uint32_t a, uint32_t b) { return comes_before(trace, a, b); };
    for (size_t t = 0; t + 1 < starts.size(); ++t) {
        uint32_t* first = rows.data() + starts[t];
        uint32_t* last = rows.data() + starts[t + 1];
        if (!std::is_sorted(first, last, before)) std::stable_sort(first, last, before);
    }
    return rows;
}

void move_links(Trace& trace, const Column<uint32_t>& from) {
    if (trace.link.empty()) return;
    Column<int32_t> now_at(trace.storage);
    now_at.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) now_at[from[i]] = static_cast<int32_t>(i);
    for (int32_t& link : trace.link) link = link < 0 ? -1 : now_at[link];
}

}  // namespace

int64_t first_start_ns(const Trace& trace) {
    int64_t first = trace.window_end_ns != 0 ? trace.window_start_ns : INT64_MAX;
    each_row(trace, [&](size_t row) { first = std::min(first, trace.start_ns[row]); });
    return first == INT64_MAX ? 0 : first;
}

void sort_events(Trace& trace) {
    if (is_ordered(trace)) return;
    const Column<uint32_t> from = ordered_rows(trace);
    permute(trace.start_ns, from);
    permute(trace.duration_ns, from);
    permute(trace.name, from);
    permute(trace.track, from);
    permute(trace.category, from);
    permute(trace.kind, from);
    permute(trace.scope, from);
    permute(trace.flags, from);
    permute(trace.correlation, from);
    permute(trace.link, from);
    permute(trace.sequence, from);
    permute(trace.record_function, from);
    permute(trace.args, from);
    move_links(trace, from);
}

}  // namespace kinetograph::trace
