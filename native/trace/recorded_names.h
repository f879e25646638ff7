// From the ids a recorder gave to names, to ids of a trace.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/annotation_name.h"
#include "record/object_name.h"
#include "record/recording.h"
#include "trace/trace.h"

namespace kinetograph::trace {

// What was found for an id before. Neighbouring events mostly share their names.
template <class Found>
class IdCache {
public:
    template <class Find>
    const Found& get(uint32_t id, Find&& find) {
        Entry& recent = recent_[id % recent_.size()];
        if (recent.id == id) return recent.found;
        auto [known, is_new] = all_.try_emplace(id);
        if (is_new) known->second = find();
        recent = {id, known->second};
        return recent.found;
    }

private:
    struct Entry {
        uint32_t id = 0;
        Found found{};
    };
    std::array<Entry, 256> recent_{};
    std::unordered_map<uint32_t, Found> all_;
};

class NameMap {
public:
    NameMap(const record::Recording& recording, Strings& strings)
        : recording_(recording), strings_(strings) {}

    uint32_t operator()(uint32_t recorded) {
        return cache_.get(recorded, [&] { return strings_.intern(recording_.names(recorded)); });
    }

private:
    const record::Recording& recording_;
    Strings& strings_;
    IdCache<uint32_t> cache_;
};

// Python calls are recorded under `path.py(line): name`, and where the qualified name says more it follows
// behind a separator. That becomes an argument, kept once for all calls of the function. Those that are named
// by object keep what they were recorded under until number_objects.
class CallNames {
public:
    using CleanMembers = bool (*)(std::string_view text, std::span<const std::string_view> left_out,
                                  std::string& clean);
    struct Entry {
        uint32_t name = 0;
        TextRange args;
    };

    CallNames(const record::Recording& recording, CleanMembers clean_members, Trace& trace)
        : recording_(recording), clean_members_(clean_members), trace_(trace) {}

    const Entry& operator()(uint32_t recorded) {
        return cache_.get(recorded, [&] { return read(recording_.names(recorded)); });
    }

    const std::vector<uint32_t>& of_objects() const { return of_objects_; }

private:
    Entry read(std::string_view text) {
        if (record::is_name_of_object(text))
            return {of_objects_.emplace_back(trace_.strings.intern(text)), {}};
        const size_t split = std::min(text.find(record::qualified_name_separator), text.size());
        Entry entry{trace_.strings.intern(text.substr(0, split)), {}};
        if (split == text.size()) return entry;
        std::string args = "\"Qualified name\":\"" + std::string(text.substr(split + 1)) + "\"";
        if (clean_members_ && !clean_members_(args, {}, args)) return entry;
        entry.args = {trace_.args_text.size(), args.size()};
        trace_.args_text.append(args.data(), args.size());
        return entry;
    }

    const record::Recording& recording_;
    CleanMembers clean_members_;
    Trace& trace_;
    IdCache<Entry> cache_;
    std::vector<uint32_t> of_objects_;
};

// Annotations are recorded under their domain, a separator and their name. Without a domain they are like
// scopes of the program's own.
class AnnotationNames {
public:
    struct Entry {
        uint32_t name = 0;
        uint8_t category = 0;
    };

    AnnotationNames(const record::Recording& recording, Trace& trace)
        : recording_(recording), trace_(trace) {}

    const Entry& operator()(uint32_t recorded) {
        return cache_.get(recorded, [&] { return read(recording_.names(recorded)); });
    }

private:
    Entry read(std::string_view text) {
        const size_t split = std::min(text.find(record::domain_separator), text.size());
        if (split == text.size()) return {trace_.strings.intern(text), uint8_t(Category::user_annotation)};
        return {trace_.strings.intern(text.substr(split + 1)),
                category_of(record::domain_in(text.substr(0, split)))};
    }

    // A domain that is called like one of Kineto's words is told from it.
    uint8_t category_of(std::string_view domain) {
        if (domain.empty()) return uint8_t(Category::user_annotation);
        const uint8_t category = trace_.category_id(domain);
        if (category >= record::category_count) return in_room(category, domain);
        const std::string told_apart = "domain " + std::string(domain);
        return in_room(trace_.category_id(told_apart), told_apart);
    }

    // Notes once that there is none left.
    uint8_t in_room(uint8_t category, std::string_view wanted) {
        if (trace_.categories[category] != wanted && !std::exchange(is_noted_, true))
            trace_.notes.push_back({"partial",
                                    "there are more domains of NVTX and ITT than a trace has room for as "
                                    "categories; annotations of the others are in \"other\""});
        return category;
    }

    const record::Recording& recording_;
    Trace& trace_;
    IdCache<Entry> cache_;
    bool is_noted_ = false;
};

// Python stacks of scopes, as the argument they become; each stack once.
class StackArgs {
public:
    StackArgs(const record::Recording& recording, CallNames::CleanMembers clean_members, Trace& trace)
        : recording_(recording), clean_members_(clean_members), trace_(trace) {}

    const TextRange& operator()(uint32_t recorded) {
        return cache_.get(recorded, [&] { return read(recording_.names(recorded)); });
    }

private:
    // Frames hold paths, which may hold what JSON must not.
    TextRange read(std::string_view stack) {
        std::string escaped;
        for (const char c : stack) {
            if (c == '"' || c == '\\') escaped += '\\';
            escaped += c;
        }
        std::string args = "\"Call stack\":\"" + escaped + "\"";
        if (clean_members_ && !clean_members_(args, {}, args)) return {};
        const TextRange range{trace_.args_text.size(), args.size()};
        trace_.args_text.append(args.data(), args.size());
        return range;
    }

    const record::Recording& recording_;
    CallNames::CleanMembers clean_members_;
    Trace& trace_;
    IdCache<TextRange> cache_;
};

// Arguments that are a name themselves, since many events share them; each text once.
class SharedArgs {
public:
    SharedArgs(const record::Recording& recording, CallNames::CleanMembers clean_members, Trace& trace)
        : recording_(recording), clean_members_(clean_members), trace_(trace) {}

    const TextRange& operator()(uint32_t recorded) {
        return cache_.get(recorded, [&] { return read(recording_.names(recorded)); });
    }

private:
    TextRange read(std::string_view members) {
        std::string clean(members);
        if (clean_members_ && !clean_members_(members, {}, clean)) return {};
        const TextRange range{trace_.args_text.size(), clean.size()};
        trace_.args_text.append(clean.data(), clean.size());
        return range;
    }

    const record::Recording& recording_;
    CallNames::CleanMembers clean_members_;
    Trace& trace_;
    IdCache<TextRange> cache_;
};

}  // namespace kinetograph::trace
