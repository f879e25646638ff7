// From the texts of annotations to ids of the recorder.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "inject/domain.h"

namespace kinetograph::inject {

// Texts that this thread used lately are found without a lock.
uint32_t name_id(const Domain& domain, std::string_view text);

// A text that was registered, and so is looked up but once per recording.
class RegisteredName {
public:
    RegisteredName(const Domain& domain, std::string_view text) : domain_(domain), text_(text) {}

    uint32_t id() const;
    const std::string& text() const { return text_; }
    const Domain& domain() const { return domain_; }

private:
    const Domain& domain_;
    const std::string text_;
    mutable std::atomic<uint32_t> id_{0};
};

// The same for the same text, for ever.
const RegisteredName& registered_name(const Domain& domain, std::string_view text);

}  // namespace kinetograph::inject
