#include "emit/name.h"

#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/fork.h"

namespace kinetograph::emit {

namespace {

constexpr size_t most_names = 32'768;

struct Names {
    std::mutex mutex;
    std::unordered_map<std::string_view, std::unique_ptr<Name>> by_text;
};

// Never destroyed: scopes end while the process exits.
Names& names() {
    static Names& all = []() -> Names& {
        base::on_fork([] { names().mutex.lock(); }, [] { names().mutex.unlock(); },
                      [] { names().mutex.unlock(); });
        return *new Names;
    }();
    return all;
}

Name* find_or_add(Names& all, std::string_view text) {
    const std::lock_guard lock(all.mutex);
    if (const auto known = all.by_text.find(text); known != all.by_text.end()) return known->second.get();
    if (all.by_text.size() >= most_names) return nullptr;
    auto made = std::make_unique<Name>(text);
    return all.by_text.emplace(made->text, std::move(made)).first->second.get();
}

}  // namespace

Name* name_of(std::string_view text) noexcept {
    try {
        return find_or_add(names(), text);
    } catch (...) {
        return nullptr;
    }
}

}  // namespace kinetograph::emit
