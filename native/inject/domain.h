// A domain of annotations: the part of a program or library that makes them.
#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kinetograph::inject {

class Domain {
public:
    explicit Domain(std::string_view name);

    // The category of its events; "" for what belongs to none.
    const std::string& name() const { return name_; }
    // It was longer than names leave room for.
    bool is_shortened() const { return is_shortened_; }

    // Of the recorder: what PyTorch annotates are its operators.
    uint8_t category() const { return category_; }
    uint8_t scope() const { return scope_; }

    // Categories within the domain, which it numbers itself. "" where one has no name. What was a name stays
    // in memory, for it is read without a lock.
    void name_category(uint32_t category, std::string_view name);
    std::string_view category_name(uint32_t category) const;

private:
    struct Category {
        uint32_t number;
        std::string name;

        auto operator<=>(const Category&) const = default;
    };
    // For each end of a number the last that was named. Programs use few.
    using NamedLately = std::array<std::atomic<const Category*>, 64>;

    const std::string name_;
    const bool is_shortened_;
    const uint8_t category_;
    const uint8_t scope_;
    std::set<Category> categories_;  // all that ever were; with the lock, as what follows
    std::unordered_map<uint32_t, const Category*> by_number_;
    NamedLately named_lately_{};  // which is read without it
};

// The same for the same name, and for ever: handles to it are in foreign hands.
Domain& domain_named(std::string_view name);

// Made when we are loaded: what is made at its first use is looked at with each use, in an order with what
// the recorder has written, and that takes as long as to record.
extern Domain& no_domain;
extern Domain& torch_domain;

inline Domain& default_domain() {
    return no_domain;
}

}  // namespace kinetograph::inject
