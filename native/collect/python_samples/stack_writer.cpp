#include "collect/python_samples/stack_writer.h"

namespace kinetograph::collect {

namespace {

constexpr size_t most_names_kept = 2'000'000;  // 8 MB of them

}  // namespace

size_t StackWriter::Hash::operator()(const std::vector<uint32_t>& names) const noexcept {
    uint64_t hash = names.size();
    for (const uint32_t name : names) hash = (hash ^ name) * 0x9e3779b97f4a7c15, hash ^= hash >> 29;
    return size_t(hash);
}

StackWriter::Known& StackWriter::known_stack(const std::vector<uint32_t>& names) {
    if (names_kept_ > most_names_kept) {
        stacks_.clear();
        names_kept_ = 0;
    }
    auto [known, is_new] = stacks_.try_emplace(names);
    if (is_new) {
        known->second = {++last_number_, UINT64_MAX};
        names_kept_ += names.size();
    }
    return known->second;
}

bool StackWriter::write(record::ThreadBuffer& buffer, record::OtherThread thread, uint64_t at,
                        const std::vector<uint32_t>& names) {
    record::Record record{at,
                          thread.packed(),
                          0,
                          record::RecordKind::stack_sample,
                          uint8_t(record::Category::python_function),
                          0,
                          0,
                          0,
                          0,
                          record::empty_stack};
    if (names.empty()) return record::append_with_payload(buffer, record, nullptr, nullptr, 0);
    Known& known = known_stack(names);
    record.correlation = known.number;
    if (has_room(buffer) && buffer.extent.header->order == known.extent) {
        record::append(buffer, record);
        return true;
    }
    // Without room it is not spelled, nor where all sessions are paused.
    const bool is_spelled = record::append_with_payload(
        buffer, record, nullptr, reinterpret_cast<const char*>(names.data()), names.size() * sizeof names[0]);
    if (is_spelled) known.extent = buffer.extent.header->order;
    return is_spelled;
}

}  // namespace kinetograph::collect
