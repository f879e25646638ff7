#include "inject/domain.h"

#include <map>
#include <memory>
#include <mutex>

#include "inject/library_lock.h"
#include "kinetograph/record_abi.h"

namespace kinetograph::inject {

namespace {

constexpr std::string_view domain_of_torch = "PyTorch";
constexpr uint8_t cpu_op = 0, function_scope = 0, user_scope = 7;

// The recorder keeps 32 KiB of domain and name together, so that a longer domain would leave none for names.
constexpr size_t longest_name = 16 * 1024;

// Cuts at a character, not inside one.
std::string_view shortened(std::string_view name) {
    if (name.size() <= longest_name) return name;
    size_t end = longest_name;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
    return name.substr(0, end);
}

}  // namespace

Domain::Domain(std::string_view name)
    : name_(shortened(name)),
      is_shortened_(name_.size() < name.size()),
      category_(name == domain_of_torch ? cpu_op : KINETOGRAPH_ANNOTATION),
      scope_(name == domain_of_torch ? function_scope : user_scope) {}

void Domain::name_category(uint32_t category, std::string_view name) {
    std::lock_guard lock(library_mutex);
    const Category* known = &*categories_.insert({category, std::string(name)}).first;
    by_number_[category] = known;
    named_lately_[category % named_lately_.size()].store(known, std::memory_order_release);
}

std::string_view Domain::category_name(uint32_t category) const {
    const Category* latest = named_lately_[category % named_lately_.size()].load(std::memory_order_acquire);
    if (!latest) return {};
    if (latest->number == category) return latest->name;
    std::lock_guard lock(library_mutex);
    const auto known = by_number_.find(category);
    if (known == by_number_.end()) return {};
    return known->second->name;
}

namespace {

struct Domains {
    std::map<std::string, std::unique_ptr<Domain>, std::less<>> by_name;
};

// Never destroyed: libraries annotate while the process exits.
Domains& domains() {
    static Domains* all = new Domains;
    return *all;
}

}  // namespace

Domain& domain_named(std::string_view name) {
    Domains& all = domains();
    std::lock_guard lock(library_mutex);
    const auto known = all.by_name.find(name);
    if (known != all.by_name.end()) return *known->second;
    return *all.by_name.emplace(name, std::make_unique<Domain>(name)).first->second;
}

Domain& no_domain = domain_named("");
Domain& torch_domain = domain_named(domain_of_torch);

}  // namespace kinetograph::inject
