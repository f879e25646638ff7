#include "format/folded.h"

#include <algorithm>
#include <string>
#include <vector>

#include "format/block.h"

namespace kinetograph::format {

namespace {

constexpr std::string_view unnamed = "(no name)";

constexpr std::string_view replacement = "\xef\xbf\xbd";

// One character of a name as it may stand in a line. Readers end lines at Unicode's separators too.
std::string_view folded_character(std::string_view character) {
    if (character.size() == 1) {
        const auto byte = static_cast<uint8_t>(character[0]);
        return byte < 0x20 || byte == 0x7f || byte == ';' ? " " : character;
    }
    const bool ends_line =
        character == "\xc2\x85" || character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9";
    return ends_line ? " " : character;
}

std::string folded_text(std::string_view text) {
    std::string folded;
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        folded += length == 0 ? replacement : folded_character(text.substr(0, length));
        text.remove_prefix(std::max<size_t>(length, 1));
    }
    if (folded.find_first_not_of(' ') == folded.npos) return std::string(unnamed);
    if (folded.front() == '#') folded.front() = '_';  // a line that begins with # is a comment
    return folded;
}

int64_t microseconds(int64_t ns) {
    return (ns + 500) / 1000;
}

int64_t value_of(const trace::CallNode& node, FoldedMetric metric) {
    switch (metric) {
        case FoldedMetric::self_device_time:
            return microseconds(node.self_device_ns);
        case FoldedMetric::calls:
            return node.count;
        default:
            return microseconds(node.self_ns);
    }
}

class FoldedWriter {
public:
    FoldedWriter(const trace::Trace& trace, const trace::CallTree& tree, Sink& sink)
        : trace_(trace), tree_(tree), out_(sink), names_(trace.strings.size() + tree.extra_names.size()) {}

    void write(FoldedMetric metric) {
        for (size_t node = 0; node < tree_.nodes.size(); ++node) {
            const int64_t value = value_of(tree_.nodes[node], metric);
            if (value > 0) write_line(static_cast<int64_t>(node), value);
        }
        out_.flush();
    }

private:
    void write_line(int64_t node, int64_t value) {
        path_.clear();
        for (; node >= 0; node = tree_.nodes[node].parent) path_.push_back(tree_.nodes[node].name);
        for (size_t i = path_.size(); i-- > 0;) {
            out_.put(folded_name(path_[i]));
            out_.put(i > 0 ? ";" : " ");
        }
        out_.need(32);
        out_.put_number(value);
        out_.put_short('\n');
    }

    // Made once per name: a path has many, and few are new.
    const std::string& folded_name(int64_t id) {
        std::string& name = names_[id];
        if (name.empty()) name = folded_text(tree_.name_of(trace_, id));
        return name;
    }

    const trace::Trace& trace_;
    const trace::CallTree& tree_;
    Block out_;
    std::vector<std::string> names_;
    std::vector<int64_t> path_;
};

}  // namespace

void write_folded(const trace::Trace& trace, const trace::CallTree& tree, FoldedMetric metric, Sink& sink) {
    FoldedWriter(trace, tree, sink).write(metric);
}

}  // namespace kinetograph::format
