// Spans that a file tells in two events, a begin and an end. Files need not be in order of time, so which of
// them belong together is known only when all are there.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace kinetograph::format {

class BeginEnds {
public:
    struct Matched {
        uint32_t row;
        int64_t end_ns;
        std::string_view members;  // arguments of the end
    };

    explicit BeginEnds(const trace::Storage& storage) : marks_(storage), args_text_(storage) {}

    // `row` is the span that begins.
    void begin(uint32_t track, int64_t time_ns, uint32_t row) { add({time_ns, track, row, {}}); }
    void end(uint32_t track, int64_t time_ns, std::string_view members) {
        add({time_ns, track, no_row, {args_text_.size(), members.size()}});
        args_text_.append(members.data(), members.size());
    }

    // Gives every end to the innermost span of its track that is open then: calls matched(Matched). Returns
    // the number of ends without a begin.
    template <class OnMatch>
    size_t match(OnMatch&& matched) {
        if (!is_ordered_) sort();
        size_t lonely_ends = 0;
        open_.assign(last_ns_.size(), {});
        for (const Mark& mark : marks_) {
            std::vector<uint32_t>& open = open_[mark.track];
            if (mark.row != no_row) {
                open.push_back(mark.row);
            } else if (open.empty()) {
                ++lonely_ends;
            } else {
                matched(Matched{open.back(), mark.time_ns, text_of(mark)});
                open.pop_back();
            }
        }
        return lonely_ends;
    }
    // After match(): the rows that have no end, by track.
    const std::vector<std::vector<uint32_t>>& open() const { return open_; }

private:
    static constexpr uint32_t no_row = UINT32_MAX;

    struct Mark {
        int64_t time_ns;
        uint32_t track;
        uint32_t row;  // no_row for an end
        trace::TextRange args;
    };

    void add(const Mark& mark);
    void sort();
    std::string_view text_of(const Mark& mark) const {
        return {args_text_.data() + mark.args.offset, mark.args.length};
    }

    trace::Column<Mark> marks_;
    trace::Column<char> args_text_;
    std::vector<int64_t> last_ns_;  // by track
    bool is_ordered_ = true;        // on every track
    std::vector<std::vector<uint32_t>> open_;
};

}  // namespace kinetograph::format
