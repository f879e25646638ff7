// The nodes of an execution trace as JSON, made of the bytes that threads left. One thread at a time.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace_values.h"
#include "utf8.h"

namespace kinetograph::torch_observer {

enum class TraceRecord : uint8_t { begin, end };

// The fixed part of a begin; name, overload, kernel's backend and file, range of tensors, further attributes
// and inputs follow. Of an end there are only its id and the outputs.
struct NodeFacts {
    uint64_t id = 0;
    uint64_t parent = 0;  // 0: the thread
    uint64_t function = 0, forward_parent = 0, forward_thread = 0;
    int64_t sequence = -1;
    int64_t stream = 0;
    uint8_t scope = 0;
    bool has_stream = false;
};

struct ThreadFacts {
    uint64_t root = 0;    // the node that stands for it
    uint64_t number = 0;  // as torch counts threads
};

class ByteReader {
public:
    explicit ByteReader(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

    bool is_empty() const { return at_ == end_; }
    template <class Plain>
    Plain get() {
        Plain value;
        std::memcpy(&value, at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    std::string_view get_text() {
        const auto bytes = get<uint32_t>();
        return {std::exchange(at_, at_ + bytes), bytes};
    }

private:
    const char* at_;
    const char* end_;
};

template <class Number>
void add_number(std::string& text, Number number) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text.append(digits, size_t(end - digits));
}

inline void add_escaped(std::string& text, char c) {
    if (c == '"' || c == '\\') {
        text += '\\';
        text += c;
    } else if (uint8_t(c) < ' ') {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", unsigned(c));
        text += escaped;
    } else {
        text += c;
    }
}

inline void add_escaped(std::string& text, std::string_view raw) {
    while (!raw.empty()) {
        const size_t bytes = character_bytes(raw);
        if (bytes == 1)
            add_escaped(text, raw.front());
        else
            text += bytes == 0 ? no_character : raw.substr(0, bytes);
        raw.remove_prefix(std::max<size_t>(bytes, 1));
    }
}

inline void add_quoted(std::string& text, std::string_view raw) {
    text += '"';
    add_escaped(text, raw);
    text += '"';
}

// Values, shapes, types and strides: four lists that grow side by side.
class ValueLists {
public:
    template <class Ids>
    void read(ByteReader& bytes, Ids& ids) {
        const auto count = bytes.get<uint32_t>();
        for (uint32_t i = 0; i < count; ++i) {
            for (std::string* list : {&values_, &shapes_, &types_, &strides_})
                if (!list->empty()) *list += ',';
            std::string type;
            read_value(bytes, ids, type);
            add_quoted(types_, type);
        }
    }

    // As torch has it: there is no stride beside it.
    void add_stream(int64_t stream) {
        for (std::string* list : {&values_, &shapes_, &types_})
            if (!list->empty()) *list += ',';
        add_number(values_, stream);
        shapes_ += "[]";
        types_ += "\"Int\"";
    }

    void write(std::string& text) const {
        text += "{\"values\": [" + values_ + "], \"shapes\": [" + shapes_ + "], \"types\": [" + types_ +
                "], \"strides\": [" + strides_ + "]}";
    }

private:
    template <class Ids>
    void read_value(ByteReader& bytes, Ids& ids, std::string& type) {
        const auto tag = bytes.get<ValueTag>();
        if (tag == ValueTag::tensor) return read_tensor(bytes, ids, type);
        if (tag == ValueTag::list) return read_list(bytes, ids, type);
        shapes_ += "[]";
        strides_ += "[]";
        if (tag == ValueTag::integer) {
            type += "Int";
            add_number(values_, bytes.get<int64_t>());
        } else if (tag == ValueTag::boolean) {
            type += "Bool";
            values_ += bytes.get<bool>() ? "true" : "false";
        } else if (tag == ValueTag::real) {
            type += "Double";
            add_real(bytes.get<double>());
        } else if (tag == ValueTag::text) {
            type += "String";
            add_quoted(values_, bytes.get_text());
        } else {
            type += bytes.get_text();
            add_quoted(values_, bytes.get_text());
        }
    }

    // Numbers that JSON has no place for are texts, as torch has them.
    void add_real(double number) {
        if (std::isnan(number))
            values_ += "\"nan\"";
        else if (std::isinf(number))
            values_ += number < 0 ? "\"-inf\"" : "\"inf\"";
        else {
            const size_t before = values_.size();
            add_number(values_, number);
            // A reader is to take it for a number with a point.
            if (values_.find_first_of(".e", before) == std::string::npos) values_ += ".0";
        }
    }

    template <class Ids>
    void read_list(ByteReader& bytes, Ids& ids, std::string& type) {
        type += bytes.get_text();
        const auto count = bytes.get<uint32_t>();
        type += '[';
        open_lists();
        for (uint32_t i = 0; i < count; ++i) {
            if (i != 0) {
                for (std::string* list : {&values_, &shapes_, &strides_}) *list += ',';
                type += ',';
            }
            read_value(bytes, ids, type);
        }
        for (std::string* list : {&values_, &shapes_, &strides_}) *list += ']';
        type += ']';
    }
    void open_lists() {
        for (std::string* list : {&values_, &shapes_, &strides_}) *list += '[';
    }

    template <class Ids>
    void read_tensor(ByteReader& bytes, Ids& ids, std::string& type) {
        const auto facts = bytes.get<TensorFacts>();
        const auto name = facts.type.name();  // a view of its own in torch 2.6
        ((type += "Tensor(").append(name.data(), name.size())) += ')';
        values_ += '[';
        add_number(values_, ids.of_tensor(facts.tensor));
        values_ += ',';
        if (facts.has_storage) {
            add_number(values_, ids.of_storage(facts.storage));
            for (const int64_t number : {facts.offset, facts.elements, int64_t(facts.element_bytes)}) {
                values_ += ',';
                add_number(values_, number);
            }
            values_ += ",\"";
            values_ += c10::Device(c10::DeviceType(facts.device_type), facts.device_index).str();
            values_ += "\"]";
        } else {
            values_ += "0,0,0,0,\"\"]";
        }
        add_list(shapes_, bytes, facts.dims);
        add_list(strides_, bytes, facts.strides);
    }

    static void add_list(std::string& list, ByteReader& bytes, uint16_t count) {
        list += '[';
        for (uint16_t i = 0; i < count; ++i) {
            if (i != 0) list += ',';
            add_number(list, bytes.get<int64_t>());
        }
        list += ']';
    }

    std::string values_, shapes_, types_, strides_;
};

// Numbers of tensors and storages, by their address: where one is gone, the next may have its number, as in
// torch's traces. They are counted together with the nodes.
class TensorIds {
public:
    explicit TensorIds(std::atomic<uint64_t>& next) : next_(next) {}

    uint64_t of_tensor(uint64_t address) { return find(tensors_, address); }
    uint64_t of_storage(uint64_t address) { return find(storages_, address); }

private:
    uint64_t find(std::unordered_map<uint64_t, uint64_t>& ids, uint64_t address) {
        const auto [known, is_new] = ids.try_emplace(address);
        if (is_new) known->second = next_.fetch_add(1, std::memory_order_relaxed);
        return known->second;
    }

    std::atomic<uint64_t>& next_;
    std::unordered_map<uint64_t, uint64_t> tensors_, storages_;
};

class NodeWriter {
public:
    explicit NodeWriter(std::atomic<uint64_t>& next_id) : ids_(next_id) {}

    std::string& text() { return text_; }

    void write_process() { write_root(1, "[pytorch|profiler|execution_trace|process]", 0); }
    void write_thread(const ThreadFacts& thread) {
        write_root(thread.root, "[pytorch|profiler|execution_trace|thread]", thread.number);
    }

    // What one thread left, in its order.
    void write(const ThreadFacts& thread, std::string_view left) {
        ByteReader bytes(left);
        while (!bytes.is_empty()) {
            if (bytes.get<TraceRecord>() == TraceRecord::begin)
                begin(thread, bytes);
            else
                end(bytes);
        }
    }

    // Those whose end did not come: they are what others name as their parent.
    void write_open() {
        for (auto& [id, node] : open_) finish(node, ValueLists());
        open_.clear();
    }

private:
    struct OpenNode {
        std::string head, attributes;
    };

    void begin(const ThreadFacts& thread, ByteReader& bytes) {
        const auto facts = bytes.get<NodeFacts>();
        const std::string_view name = bytes.get_text(), overload = bytes.get_text();
        OpenNode& node = open_[facts.id];
        // Of those lost for want of memory nobody can be the child.
        const bool has_parent = facts.parent != 0 && open_.contains(facts.parent);
        start_node(node.head, facts.id, name, has_parent ? facts.parent : thread.root);
        write_attributes(node.attributes, facts, thread.number, schema_of(facts.scope, name, overload),
                         bytes);
        ValueLists inputs;
        inputs.read(bytes, ids_);
        if (facts.has_stream) inputs.add_stream(facts.stream);
        inputs.write(node.head);
    }

    void end(ByteReader& bytes) {
        const auto id = bytes.get<uint64_t>();
        ValueLists outputs;
        outputs.read(bytes, ids_);
        const auto node = open_.find(id);
        if (node == open_.end()) return;
        finish(node->second, outputs);
        open_.erase(node);
    }

    void finish(const OpenNode& node, const ValueLists& outputs) {
        text_ += std::exchange(is_first_, false) ? "\n" : ",\n";
        text_ += node.head;
        text_ += ",\n        \"outputs\": ";
        outputs.write(text_);
        text_ += node.attributes;
    }

    void write_root(uint64_t id, std::string_view name, uint64_t thread) {
        constexpr uint8_t user_scope = 7;
        OpenNode node;
        start_node(node.head, id, name, 1);
        ValueLists().write(node.head);
        NodeFacts facts;
        facts.scope = user_scope;
        const std::string nothing(4 * sizeof(uint32_t), '\0');
        ByteReader bytes(nothing);
        write_attributes(node.attributes, facts, thread, "", bytes);
        finish(node, ValueLists());
    }

    static void start_node(std::string& head, uint64_t id, std::string_view name, uint64_t parent) {
        head = "      {\n        \"id\": ";
        add_number(head, id);
        head += ", \"name\": ";
        add_quoted(head, name);
        head += ", \"ctrl_deps\": ";
        add_number(head, parent);
        head += ",\n        \"inputs\": ";
    }

    static void write_attributes(std::string& text, const NodeFacts& facts, uint64_t thread,
                                 std::string_view schema, ByteReader& bytes) {
        text = ",\n        \"attrs\": [";
        add_attribute(text, "rf_id", facts.function);
        add_attribute(text, "fw_parent", facts.forward_parent);
        add_attribute(text, "seq_id", facts.sequence);
        add_attribute(text, "scope", uint64_t(facts.scope));
        add_attribute(text, "tid", thread);
        add_attribute(text, "fw_tid", facts.forward_thread);
        add_attribute(text, "op_schema", schema);
        add_attribute(text, "kernel_backend", bytes.get_text());
        add_attribute(text, "kernel_file", bytes.get_text());
        add_attribute(text, "tensor_range", bytes.get_text());
        text.back() = ']';
        const std::string_view further = bytes.get_text();
        if (!further.empty()) (text.back() = ',', text += further, text += ']');
        text += "\n      }";
    }

    static void add_attribute(std::string& text, const char* name, uint64_t value) {
        ((text += "{\"name\": \"") += name) += "\", \"type\": \"uint64\", \"value\": ";
        add_number(text, value);
        text += "},";
    }
    static void add_attribute(std::string& text, const char* name, int64_t value) {
        ((text += "{\"name\": \"") += name) += "\", \"type\": \"int64\", \"value\": ";
        add_number(text, value);
        text += "},";
    }
    static void add_attribute(std::string& text, const char* name, std::string_view value) {
        ((text += "{\"name\": \"") += name) += "\", \"type\": \"string\", \"value\": ";
        add_quoted(text, value);
        text += "},";
    }

    // Looked up here and not by the program's thread: it is a long text, and copied each time.
    const std::string& schema_of(uint8_t scope, std::string_view name, std::string_view overload) {
        std::string key = std::to_string(scope);
        ((key += name) += '.') += overload;
        const auto [known, is_new] = schemas_.try_emplace(std::move(key));
        if (is_new && at::RecordScope(scope) != at::RecordScope::USER_SCOPE) {
            const auto found = c10::Dispatcher::singleton().findSchema(
                c10::OperatorName(std::string(name), std::string(overload)));
            if (found) known->second = toString(found->schema());
        }
        return known->second;
    }

    TensorIds ids_;
    std::unordered_map<uint64_t, OpenNode> open_;
    std::unordered_map<std::string, std::string> schemas_;
    std::string text_;
    bool is_first_ = true;
};

}  // namespace kinetograph::torch_observer
