#include "record/given_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace kinetograph::record {

namespace {

// When the kernel made this thread, in its own unit: two that had one number differ in that. 0: there is
// none. Takes no memory, so that a name is not lost for want of it.
uint64_t birth_of(int32_t tid) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    char text[1024];
    const ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    text[std::max<ssize_t>(0, bytes)] = 0;
    // The second field is a name in parentheses, which may hold anything; the birth is the 22nd.
    const char* field = std::strrchr(text, ')');
    for (int number = 2; field && number < 22; ++number) field = std::strchr(field + 1, ' ');
    return field ? std::strtoull(field, nullptr, 10) : 0;
}

}  // namespace

void GivenNames::give(int32_t tid, std::string_view name) {
    const uint64_t born = birth_of(tid);
    if (name.empty() || born == 0) {
        names_.erase(tid);
        return;
    }
    names_.insert_or_assign(tid, Given{std::string(name), born});
    if (names_.size() <= most_) return;
    forget_ended();
    most_ = std::max(most_, 2 * names_.size());
}

std::string GivenNames::take(int32_t tid) {
    const auto given = names_.extract(tid);
    return given && given.mapped().born == birth_of(tid) ? std::move(given.mapped().name) : std::string();
}

void GivenNames::forget_ended() {
    std::erase_if(names_, [](const auto& given) { return birth_of(given.first) != given.second.born; });
}

std::unordered_map<int32_t, std::string> GivenNames::all() const {
    std::unordered_map<int32_t, std::string> names;
    for (const auto& [tid, given] : names_) names.emplace(tid, given.name);
    return names;
}

}  // namespace kinetograph::record
