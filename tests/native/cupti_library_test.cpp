// Which libcupti is opened, and what is said where none can be.
#include "collect/cupti/library.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

using namespace kinetograph::collect::cupti;

namespace {

std::string why_not(const std::vector<std::string>& candidates) {
    try {
        open_cupti(candidates);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return {};
}

bool holds(const std::string& text, const char* wanted) {
    return text.find(wanted) != std::string::npos;
}

}  // namespace

// In this order: one that was opened stays.
TEST(all_that_were_tried_are_named_and_what_to_do) {
    const std::string reason = why_not({"/no/such/first.so", FAKE_CUDA});
    CHECK(holds(reason, "/no/such/first.so: cannot open"));
    CHECK(holds(reason, "lacks functions that every libcupti since 11.8 has"));
    CHECK(holds(reason, "pip install 'kinetograph[cuda]'"));
}

TEST(of_one_that_was_asked_for_only_that_is_said) {
    CHECK(why_not({"/no/such/first.so"}).starts_with("/no/such/first.so: cannot open"));
}

TEST(the_first_that_can_be_used_is_opened) {
    const Cupti& cupti = open_cupti({"/no/such/first.so", FAKE_CUPTI});
    CHECK(cupti.path == FAKE_CUPTI && cupti.version == 130001);
    CHECK(&open_cupti({"/no/such/first.so"}) == &cupti);
}

CHECK_MAIN
