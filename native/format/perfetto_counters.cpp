#include "format/perfetto_counters.h"

#include <optional>

#include "format/json_number.h"
#include "format/json_pieces.h"
#include "format/json_text.h"

namespace kinetograph::format::perfetto {

namespace {

bool is_exact(std::string_view token) {
    return to_int64(token).has_value() || token.find_first_of(".eE") != token.npos;
}

void add_piece(std::string& pieces, std::string_view piece) {
    (pieces += pieces.empty() ? "" : ",") += piece;
}

}  // namespace

void Counters::find_series(size_t row) {
    series_.clear();
    exact_.clear();
    others_.clear();
    const std::string_view name = trace_.strings[trace_.name[row]];
    const uint32_t process = trace_.tracks[trace_.track[row]].process;
    each_piece(trace_.args_of(row), [&](std::string_view piece) {
        const Member member = as_member(piece);
        const bool is_number = to_double(member.value).has_value();
        if (!is_number) return add_piece(others_, piece);
        if (!is_exact(member.value)) add_piece(exact_, piece);
        std::string track(name);
        if (member.key != usual_series) {
            track += ' ';
            append_unescaped(track, member.key);
        }
        series_.push_back({tracks_.of_counter(process, track), member.value});
    });
}

void Counters::write(size_t row) {
    find_series(row);
    packets_.event(trace_.start_ns[row], [&] {
        ProtoBuffer& out = packets_.message();
        out.number(event::type, event::counter);
        packets_.put_category(trace_.category[row]);
        packets_.put_name(trace_.name[row]);
        if (!series_.empty()) put_first(series_[0]);
        put_others();
        packets_.annotations().members(out, event::annotations, exact_);
        packets_.annotations().members(out, event::annotations, others_);
    });
}

void Counters::put_first(const Series& series) {
    ProtoBuffer& out = packets_.message();
    out.number(event::track_uuid, series.track);
    if (const std::optional<int64_t> whole = to_int64(series.token)) {
        out.number(event::counter_value, static_cast<uint64_t>(*whole));
    } else {
        out.real(event::real_counter_value, *to_double(series.token));
    }
}

void Counters::put_others() {
    ProtoBuffer& out = packets_.message();
    for (size_t i = 1; i < series_.size(); ++i) {
        if (const std::optional<int64_t> whole = to_int64(series_[i].token)) {
            out.number(event::extra_values, static_cast<uint64_t>(*whole));
            out.number(event::extra_tracks, series_[i].track);
        } else {
            out.real(event::extra_real_values, *to_double(series_[i].token));
            out.number(event::extra_real_tracks, series_[i].track);
        }
    }
}

}  // namespace kinetograph::format::perfetto
