#include "inject/itt_counters.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "base/json_members.h"
#include "inject/counted_note.h"
#include "inject/itt_names.h"
#include "inject/itt_pause.h"
#include "inject/library_lock.h"
#include "inject/names.h"
#include "inject/record_table.h"
#include "inject/text.h"
#include "inject/thread_state.h"

namespace kinetograph::inject {

class IttCounter {
public:
    IttCounter(const Domain& domain, std::string_view name, itt::Number type)
        : name_(domain, name), type_(type) {}

    void add(int64_t more) {
        change([&] {
            if (!is_whole())
                return fraction_.fetch_add(double(more), std::memory_order_relaxed) + double(more);
            // Which may overflow.
            const uint64_t before = whole_.fetch_add(uint64_t(more), std::memory_order_relaxed);
            return double(int64_t(before + uint64_t(more)));
        });
    }
    void set(const void* value);

private:
    // To the value that `changed` gives. What threads count is told in the order of its times. It goes on to
    // count while nobody records, and in a pause, or it would be wrong after it.
    template <class Changed>
    void change(Changed&& changed) {
        if (!is_listening() || is_paused.load(std::memory_order_relaxed)) return void(changed());
        std::unique_lock lock(library_mutex);
        const double value = changed();
        const uint64_t now = latest_ = std::max(recorder->ticks(), latest_ + 1);
        lock.unlock();
        recorder->annotation_counter(name_.id(), now, value);
    }

    bool is_whole() const { return type_ != itt::Number::f32 && type_ != itt::Number::f64; }

    const RegisteredName name_;
    const itt::Number type_;
    std::atomic<uint64_t> whole_{0};
    std::atomic<double> fraction_{0};  // the value of one that is not whole
    uint64_t latest_ = 0;              // with the lock
};

namespace {

template <class T>
T read(const void* data, size_t index) {
    T value;
    std::memcpy(&value, static_cast<const char*>(data) + index * sizeof value, sizeof value);
    return value;
}

// What others mean is behind a pointer that may lead anywhere.
bool is_known(itt::Number type) {
    return type >= itt::Number::u64 && type <= itt::Number::f64;
}

// Calls `take` with the number, as the known type it has.
template <class Take>
void read_number(itt::Number type, const void* data, size_t index, Take take) {
    switch (type) {
        case itt::Number::s64:
            return take(read<int64_t>(data, index));
        case itt::Number::u32:
            return take(read<uint32_t>(data, index));
        case itt::Number::s32:
            return take(read<int32_t>(data, index));
        case itt::Number::u16:
            return take(read<uint16_t>(data, index));
        case itt::Number::s16:
            return take(read<int16_t>(data, index));
        case itt::Number::f32:
            return take(read<float>(data, index));
        case itt::Number::f64:
            return take(read<double>(data, index));
        default:
            return take(read<uint64_t>(data, index));
    }
}

// Made again with another type, a counter is another one: each handle is set by values of its own type.
struct Counters {
    std::map<std::tuple<const Domain*, std::string, itt::Number>, std::unique_ptr<IttCounter>> all;
};

IttCounter& counter_named(const Domain& domain, std::string_view name, itt::Number type) {
    static Counters& counters = *new Counters;
    std::lock_guard lock(library_mutex);
    auto& counter = counters.all[{&domain, std::string(name), type}];
    if (!counter) counter = std::make_unique<IttCounter>(domain, name, type);
    return *counter;
}

// Of whole numbers, by its name each time.
IttCounter& counter_used_lately(const Domain& domain, std::string_view name) {
    constexpr itt::Number type = itt::Number::u64;
    using Recent = RecentTexts<IttCounter*>;
    if (name.size() > Recent::longest) return counter_named(domain, name, type);
    auto& all = this_thread().itt_counters;
    if (!all) all = std::make_unique<Recent>();
    Recent::Entry& recent = all->entry(&domain, name);
    if (!recent.is(&domain, name)) recent.set(&domain, name, &counter_named(domain, name, type));
    return *recent.value;
}

}  // namespace

void IttCounter::set(const void* value) {
    static CountedNote unreadable{"annotations",
                                  "values of ITT counters were not recorded: their type is not known"};
    if (!is_known(type_)) return unreadable.count();
    read_number(type_, value, 0, [this](auto number) {
        change([&] {
            if (is_whole())
                whole_.store(uint64_t(number), std::memory_order_relaxed);
            else
                fraction_.store(double(number), std::memory_order_relaxed);
            return double(number);
        });
    });
}

IttCounter* itt_counter(const char* name, const char* domain, itt::Number type) {
    return &counter_named(domain_named(text_of(domain)), text_of(name), type);
}

void set_counter(IttCounter* counter, const void* value) {
    if (counter && value) counter->set(value);
}

void add_to_counter(IttCounter* counter, int64_t more) {
    if (counter) counter->add(more);
}

void add_to_counter(const itt::Domain* domain, const itt::String* name, int64_t more) {
    counter_used_lately(domain_of(domain), text_of(name)).add(more);
}

namespace {

// Programs tell of an address by it.
std::string unreadable_value(size_t count, const void* data) {
    static CountedNote unreadable{"partial", "arrays in metadata of ITT are null: their type is not known"};
    if (count == 1) return '"' + hex(reinterpret_cast<uintptr_t>(data)) + '"';
    unreadable.count();
    return "null";
}

}  // namespace

std::string itt_values(itt::Number type, size_t count, const void* data) {
    if (!is_known(type)) return unreadable_value(count, data);
    constexpr size_t most = 1024;
    static CountedNote cut{"partial",
                           "arrays in metadata of ITT are here with their first 1,024 elements only"};
    std::string values;
    if (data && count > most) cut.count();
    for (size_t i = 0; data && i < std::min(count, most); ++i) {
        if (i != 0) values += ',';
        read_number(type, data, i, [&](auto number) { base::append_json_number(values, number); });
    }
    return count == 1 ? values : '[' + values + ']';
}

}  // namespace kinetograph::inject
