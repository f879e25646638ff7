#include "inject/names.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "inject/counted_note.h"
#include "inject/library_lock.h"
#include "inject/record_table.h"
#include "inject/thread_state.h"

namespace kinetograph::inject {

namespace {

CountedNote cut{"names", "names are in a domain of NVTX or ITT that was longer than 16 KiB and was cut"};

uint32_t intern(const Domain& domain, std::string_view text) {
    if (domain.category() != KINETOGRAPH_ANNOTATION) return recorder->intern_text(text.data(), text.size());
    if (domain.is_shortened()) cut.count();
    return recorder->intern_annotation(domain.name().data(), domain.name().size(), text.data(), text.size());
}

bool is_valid(uint32_t id) {
    return id >= __atomic_load_n(recorder->oldest_name, __ATOMIC_RELAXED);
}

}  // namespace

uint32_t name_id(const Domain& domain, std::string_view text) {
    if (text.size() > RecentTexts<uint32_t>::longest) return intern(domain, text);
    auto& recent = this_thread().names.entry(&domain, text);
    if (!recent.is(&domain, text) || !is_valid(recent.value)) recent.set(&domain, text, intern(domain, text));
    return recent.value;
}

namespace {

struct RegisteredNames {
    std::map<std::pair<const Domain*, std::string>, std::unique_ptr<RegisteredName>> all;
};

}  // namespace

const RegisteredName& registered_name(const Domain& domain, std::string_view text) {
    static RegisteredNames& names = *new RegisteredNames;
    std::lock_guard lock(library_mutex);
    auto& name = names.all[{&domain, std::string(text)}];
    if (!name) name = std::make_unique<RegisteredName>(domain, text);
    return *name;
}

uint32_t RegisteredName::id() const {
    uint32_t id = id_.load(std::memory_order_relaxed);
    if (is_valid(id) && id != 0) return id;
    id = intern(domain_, text_);
    id_.store(id, std::memory_order_relaxed);
    return id;
}

}  // namespace kinetograph::inject
