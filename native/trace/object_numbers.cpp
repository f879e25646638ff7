#include "trace/object_numbers.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "record/object_name.h"

namespace kinetograph::trace {

namespace {

struct Object {
    uint32_t recorded;  // name
    int64_t first_ns = INT64_MAX;
    size_t first_row = 0;
    uint32_t name = 0;
    TextRange args;  // shared by its calls
};

// By the name that was recorded; nullptr for those that are not of objects.
class Objects {
public:
    explicit Objects(const std::vector<uint32_t>& names) {
        for (const uint32_t name : names) objects_.push_back({name, INT64_MAX, 0, 0, {}});
        places_.resize(*std::max_element(names.begin(), names.end()) + 1, -1);
        for (size_t i = 0; i < objects_.size(); ++i) places_[objects_[i].recorded] = int64_t(i);
    }

    Object* find(uint32_t name) {
        return name < places_.size() && places_[name] >= 0 ? &objects_[size_t(places_[name])] : nullptr;
    }
    std::vector<Object*> by_first_call() {
        std::vector<Object*> order;
        for (Object& object : objects_) order.push_back(&object);
        std::sort(order.begin(), order.end(), [](const Object* a, const Object* b) {
            return a->first_ns != b->first_ns ? a->first_ns < b->first_ns : a->first_row < b->first_row;
        });
        return order;
    }

private:
    std::vector<Object> objects_;
    std::vector<int64_t> places_;
};

TextRange add_text(Trace& trace, std::string_view text) {
    const TextRange range{trace.args_text.size(), text.size()};
    trace.args_text.append(text.data(), text.size());
    return range;
}

// `kind: Class`, separator, number of the class, separator, number of the object.
void name_objects(Trace& trace, const std::vector<Object*>& order) {
    std::unordered_map<std::string, uint32_t> counts;
    for (Object* object : order) {
        const std::string text(trace.strings[object->recorded]);
        const std::string number =
            std::to_string(counts[text.substr(0, text.rfind(record::object_separator))]++);
        object->name =
            trace.strings.intern(text.substr(0, text.find(record::object_separator)) + "_" + number);
        object->args = add_text(trace, "\"Python module id\":" + number);
    }
}

void write_args(Trace& trace, size_t row, const Object& object) {
    if (trace.args.empty()) trace.args.resize(trace.size());
    const std::string before(trace.args_of(row));
    trace.args[row] = object.args;
    if (before.empty()) return;
    const std::string number(trace.args_of(row));
    trace.args[row] = add_text(trace, number + "," + before);
}

}  // namespace

void number_objects(Trace& trace, const std::vector<uint32_t>& names) {
    if (names.empty()) return;
    Objects objects(names);
    each_row(trace, [&](size_t row) {
        Object* object = objects.find(trace.name[row]);
        if (!object || object->first_ns <= trace.start_ns[row]) return;
        object->first_ns = trace.start_ns[row];
        object->first_row = row;
    });
    name_objects(trace, objects.by_first_call());
    each_row(trace, [&](size_t row) {
        const Object* object = objects.find(trace.name[row]);
        if (!object) return;
        trace.name[row] = object->name;
        write_args(trace, row, *object);
    });
}

}  // namespace kinetograph::trace
