// Which of many lanes comes first, without looking at all of them: a binary tree over their innermost spans.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kinetograph::format {

class LaneTree {
public:
    static constexpr int64_t never = INT64_MAX;

    struct Node {
        int64_t end_ns = never;  // when the innermost span ends; of several lanes, the first of these ends
        int64_t room_ns =
            never;  // up to when a further span may last; of several lanes, the longest of these
    };

    void clear() { nodes_.assign(2, {}); }
    void set(size_t lane, Node node) {
        size_t at = leaves() + lane;
        nodes_[at] = node;
        for (at /= 2; at > 0; at /= 2) nodes_[at] = both(nodes_[2 * at], nodes_[2 * at + 1]);
    }

    int64_t next_end_ns() const { return nodes_[1].end_ns; }
    // The lowest of the lanes that end next.
    size_t first_to_end() const {
        return first([end_ns = next_end_ns()](const Node& node) { return node.end_ns == end_ns; });
    }
    // The lowest lane with room for a span that ends then.
    size_t first_that_fits(int64_t end_ns) {
        if (nodes_[1].room_ns < end_ns) grow();
        return first([end_ns](const Node& node) { return node.room_ns >= end_ns; });
    }

private:
    size_t leaves() const { return nodes_.size() / 2; }
    static Node both(const Node& a, const Node& b) {
        return {std::min(a.end_ns, b.end_ns), std::max(a.room_ns, b.room_ns)};
    }
    // One of the lanes is what is looked for.
    template <class Wanted>
    size_t first(Wanted is_wanted) const {
        size_t at = 1;
        while (at < leaves()) at = 2 * at + (is_wanted(nodes_[2 * at]) ? 0 : 1);
        return at - leaves();
    }
    // Twice as many lanes; the new ones are empty.
    void grow() {
        const size_t before = leaves();
        std::vector<Node> larger(4 * before);
        std::copy(nodes_.begin() + before, nodes_.end(), larger.begin() + 2 * before);
        for (size_t at = 2 * before - 1; at > 0; --at) larger[at] = both(larger[2 * at], larger[2 * at + 1]);
        nodes_ = std::move(larger);
    }

    // The children of i are 2i and 2i+1; the second half are the lanes.
    std::vector<Node> nodes_{2};
};

}  // namespace kinetograph::format
