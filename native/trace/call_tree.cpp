#include "trace/call_tree.h"

#include <algorithm>
#include <unordered_map>

#include "trace/dense_ids.h"
#include "trace/event_args.h"
#include "trace/name_rules.h"

namespace kinetograph::trace {

namespace {

constexpr int32_t no_node = -1;

struct Edge {
    int32_t parent;
    uint32_t name;
    uint8_t category;
    bool operator==(const Edge&) const = default;
};

struct EdgeHash {
    size_t operator()(const Edge& edge) const {
        uint64_t bits = uint64_t(uint32_t(edge.parent)) << 32 | edge.name;
        bits = (bits ^ uint64_t(edge.category) << 24) * 0x9e3779b97f4a7c15u;
        return bits ^ bits >> 32;
    }
};

class Merger {
public:
    Merger(const Trace& trace, const Nesting& nesting, const DeviceWork& work, const CallTreeOptions& options)
        : trace_(trace),
          nesting_(nesting),
          work_(work),
          options_(options),
          rules_(trace),
          node_of_row_(trace.storage) {
        if (!work.launcher.empty()) node_of_row_.resize(trace.size());
        for (const Track& track : trace.tracks) is_device_.push_back(track.device_type != 0);
        has_stacks_ =
            std::string_view(trace.args_text.data(), trace.args_text.size()).find("\"Call stack\":") !=
            std::string_view::npos;
    }

    CallTree run() {
        each_row(trace_, [this](size_t row) {
            if (trace_.is_span(row) && !is_device_[trace_.track[row]]) add(row);
        });
        if (!work_.launcher.empty()) add_device_work();
        return std::move(tree_);
    }

private:
    struct Open {
        int32_t row;
        int32_t node;
    };

    void add(size_t row) {
        if (trace_.is_beside(row)) return set_node(row, no_node);
        while (!open_.empty() && open_.back().row != nesting_.parent[row]) open_.pop_back();
        const int32_t around = open_.empty() ? no_node : open_.back().node;
        const bool is_shown = shows(row);
        const int32_t parent = around == no_node && is_shown && has_stacks_ ? recorded_stack(row) : around;
        const int32_t node = is_shown ? child(parent, edge_name(row), trace_.category[row]) : around;
        if (is_shown) count(tree_.nodes[node], row);
        if (node != no_node) tree_.nodes[node].self_ns += nesting_.self_ns[row];
        set_node(row, node);
        open_.push_back({static_cast<int32_t>(row), node});
    }

    bool shows(size_t row) const {
        const bool is_python = trace_.category[row] == uint8_t(Category::python_function);
        return !rules_.is_hidden(trace_.name[row]) && (options_.with_python || !is_python);
    }

    void count(CallNode& node, size_t row) {
        node.count += !(trace_.flags[row] & event_resumed);
        node.total_ns += trace_.duration_ns[row];
    }

    void set_node(size_t row, int32_t node) {
        if (!node_of_row_.empty()) node_of_row_[row] = node;
    }

    uint32_t edge_name(size_t row) {
        const uint32_t name = rules_.counted_as(trace_.name[row]);
        return trace_.strings[name].starts_with(step_prefix) ? extra_name(std::string(all_steps)) : name;
    }

    uint32_t extra_name(const std::string& text) {
        const auto next = static_cast<uint32_t>(trace_.strings.size() + tree_.extra_names.size());
        const auto [found, is_new] = extra_ids_.try_emplace(text, next);
        if (is_new) tree_.extra_names.push_back(text);
        return found->second;
    }

    int32_t child(int32_t parent, uint32_t name, uint8_t category) {
        const auto [node, is_new] = edges_.find_or_add({parent, name, category});
        if (is_new) tree_.nodes.push_back({parent, name, category, 0, 0, 0, 0, 0});
        return static_cast<int32_t>(node);
    }

    // The nodes of the frames an event was recorded with, for those that no traced function encloses. They
    // stand innermost first, and get the time that the events below them have.
    int32_t recorded_stack(size_t row) {
        std::string_view stack = string_argument(trace_.args_of(row), "Call stack");
        int32_t node = no_node;
        while (!stack.empty()) {
            const size_t end = stack.back() == ';' ? stack.size() - 1 : stack.size();
            const size_t separator = stack.substr(0, end).rfind(';');
            const size_t begin = separator == stack.npos ? 0 : separator + 1;
            if (begin < end) node = frame_node(node, stack.substr(begin, end - begin), row);
            stack = stack.substr(0, begin);
        }
        return node;
    }

    int32_t frame_node(int32_t parent, std::string_view escaped, size_t row) {
        frame_.clear();
        if (options_.append_unescaped != nullptr) {
            options_.append_unescaped(frame_, escaped);
        } else {
            frame_ = escaped;
        }
        const int32_t node = child(parent, extra_name(frame_), uint8_t(Category::python_function));
        tree_.nodes[node].total_ns += trace_.duration_ns[row];
        return node;
    }

    void add_device_work() {
        each_row(trace_, [this](size_t row) {
            if (!trace_.is_span(row) || !is_device_[trace_.track[row]] ||
                !is_device_work(trace_.category[row]))
                return;
            const int32_t launcher = work_.launcher[row];
            const int32_t parent = launcher < 0 ? no_node : node_of_row_[launcher];
            CallNode& node = tree_.nodes[child(parent, edge_name(row), trace_.category[row])];
            ++node.count;
            node.self_device_ns += trace_.duration_ns[row];
        });
        for (size_t i = tree_.nodes.size(); i-- > 0;) {
            CallNode& node = tree_.nodes[i];
            node.device_total_ns += node.self_device_ns;
            if (node.parent >= 0) tree_.nodes[node.parent].device_total_ns += node.device_total_ns;
        }
    }

    const Trace& trace_;
    const Nesting& nesting_;
    const DeviceWork& work_;
    const CallTreeOptions options_;
    const NameRules rules_;
    Column<int32_t> node_of_row_;  // empty when there is no device work to hang below
    std::vector<bool> is_device_;  // by track
    std::vector<Open> open_;
    DenseIds<Edge, EdgeHash> edges_;  // each leads to the node of its number
    std::unordered_map<std::string, uint32_t> extra_ids_;
    std::string frame_;
    bool has_stacks_ = false;
    CallTree tree_;
};

}  // namespace

CallTree merge_calls(const Trace& trace, const Nesting& nesting, const DeviceWork& work,
                     const CallTreeOptions& options) {
    return Merger(trace, nesting, work, options).run();
}

}  // namespace kinetograph::trace
