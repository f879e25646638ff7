#include "trace/column.h"

#include <signal.h>
#include <sys/resource.h>

#include <new>
#include <string>

#include "check.h"

using kinetograph::trace::Column;
using kinetograph::trace::Storage;

namespace {

const Storage in_memory{};
const Storage in_file{"/tmp"};

void fills_and_reads_back(const Storage& storage) {
    Column<uint64_t> column(storage);
    for (uint64_t i = 0; i < 100'000; ++i) column.push_back(i * i);
    CHECK(column.size() == 100'000);
    for (uint64_t i = 0; i < 100'000; ++i) CHECK(column[i] == i * i);
}

}  // namespace

TEST(a_column_keeps_its_values_while_it_grows_in_memory) {
    fills_and_reads_back(in_memory);
}

TEST(a_column_keeps_its_values_while_it_grows_in_a_file) {
    fills_and_reads_back(in_file);
}

TEST(a_short_column_of_a_file_storage_stays_on_the_heap) {
    Column<uint64_t> column(in_file);
    column.push_back(1);
    CHECK(!column.in_file());
    column.resize(1 << 20);
    CHECK(column.in_file());
    CHECK(column[0] == 1);
}

TEST(new_elements_are_zero) {
    for (const Storage& storage : {in_memory, in_file}) {
        Column<uint32_t> column(storage);
        for (const size_t size : {size_t(10), size_t(5000), size_t(1) << 20}) {
            column.resize(size);
            CHECK(column.back() == 0);
            column[0] = 7;
        }
        CHECK(column[0] == 7);
        CHECK(column[5000] == 0);
    }
}

TEST(dropped_pages_are_read_again_from_the_file) {
    Column<uint64_t> column(in_file);
    for (uint64_t i = 0; i < 1 << 17; ++i) column.push_back(i);
    column.drop_pages(0, column.size());
    for (uint64_t i = 0; i < 1 << 17; ++i) CHECK(column[i] == i);
}

TEST(a_moved_column_is_empty_and_its_values_live_on) {
    Column<int> column(in_memory);
    column.push_back(3);
    Column<int> taken = std::move(column);
    CHECK(column.empty());
    CHECK(taken.size() == 1 && taken[0] == 3);
    Column<int> assigned(in_memory);
    assigned = std::move(taken);
    CHECK(assigned.size() == 1 && assigned[0] == 3);
}

TEST(a_clone_shares_nothing) {
    Column<int> column(in_memory);
    column.push_back(3);
    const Column<int> copy = column.clone();
    column[0] = 4;
    CHECK(copy[0] == 3);
}

TEST(without_its_directory_a_column_lives_in_memory) {
    Column<uint64_t> column(Storage{"/nonexistent/directory"});
    column.resize(1 << 20);
    CHECK(!column.in_file());
    column[(1 << 20) - 1] = 7;
    CHECK(column.back() == 7);
}

TEST(a_column_whose_disk_is_full_goes_on_in_memory) {
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    Column<uint64_t> column(in_file);
    column.resize(1 << 14);
    column[1000] = 5;
    const struct rlimit small{1 << 20, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    column.resize(1 << 20);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(!column.in_file());
    CHECK(column.size() == 1 << 20 && column[1000] == 5 && column[1001] == 0);
}

TEST(without_disk_or_memory_it_is_bad_alloc_and_the_column_is_as_it_was) {
    Column<uint64_t> column(in_file);
    column.resize(1 << 14);
    column[1000] = 5;
    bool raised = false;
    try {
        column.reserve(size_t(1) << 56);
    } catch (const std::bad_alloc&) {
        raised = true;
    }
    CHECK(raised);
    CHECK(column.size() == 1 << 14 && column[1000] == 5);
}

CHECK_MAIN
