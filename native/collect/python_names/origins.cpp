#include "collect/python_names/origins.h"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace kinetograph::collect {

namespace {

struct Origins {
    std::mutex mutex;
    std::unordered_map<uint32_t, Origin> by_name;
};

// Never destroyed: a sampler may outlive the interpreter.
Origins& origins() {
    static Origins* all = new Origins;
    return *all;
}

}  // namespace

void remember_origin(uint32_t name, const Origin& origin) {
    std::lock_guard lock(origins().mutex);
    origins().by_name.emplace(name, origin);
}

std::function<bool(uint32_t)> name_filter(CallFilter filter) {
    std::lock_guard lock(origins().mutex);
    return [filter = std::move(filter), known = origins().by_name](uint32_t name) {
        const auto origin = known.find(name);
        return origin == known.end() || filter.wants(origin->second);
    };
}

}  // namespace kinetograph::collect
