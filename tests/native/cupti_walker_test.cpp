// From record to record, by the sizes that real libraries have. KINETOGRAPH_LIBCUPTI names some of them,
// separated by colons; without any the table is only held against what headers say.
#include "collect/cupti/walker.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

using namespace kinetograph::collect::cupti;

namespace {

constexpr uint32_t decoded_kinds[] = {CUPTI_ACTIVITY_KIND_MEMCPY,
                                      CUPTI_ACTIVITY_KIND_MEMCPY2,
                                      CUPTI_ACTIVITY_KIND_MEMSET,
                                      CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                      CUPTI_ACTIVITY_KIND_RUNTIME,
                                      CUPTI_ACTIVITY_KIND_DRIVER,
                                      CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                      CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                      CUPTI_ACTIVITY_KIND_OVERHEAD,
                                      CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                                      CUPTI_ACTIVITY_KIND_JIT,
                                      CUPTI_ACTIVITY_KIND_CONTEXT,
                                      CUPTI_ACTIVITY_KIND_STREAM,
                                      CUPTI_ACTIVITY_KIND_MEMORY2,
                                      CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                                      CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

// Each word is the begin of a record of that kind, so that there is one wherever the next may begin.
std::vector<uint64_t> filled_with(uint32_t kind) {
    return std::vector<uint64_t>(512, kind);
}

size_t size_in_library(decltype(&cuptiActivityGetNextRecord) next_record, uint32_t kind) {
    std::vector<uint64_t> buffer = filled_with(kind);
    auto* begin = reinterpret_cast<uint8_t*>(buffer.data());
    CUpti_Activity* record = nullptr;
    if (next_record(begin, buffer.size() * sizeof buffer[0], &record) != CUPTI_SUCCESS) return 0;
    if (next_record(begin, buffer.size() * sizeof buffer[0], &record) != CUPTI_SUCCESS) return 0;
    return size_t(reinterpret_cast<uint8_t*>(record) - begin);
}

void check_library(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    CHECK(library);
    const auto version = reinterpret_cast<decltype(&cuptiGetVersion)>(dlsym(library, "cuptiGetVersion"));
    const auto next =
        reinterpret_cast<decltype(&cuptiActivityGetNextRecord)>(dlsym(library, "cuptiActivityGetNextRecord"));
    CHECK(version && next);
    uint32_t number = 0;
    CHECK(version(&number) == CUPTI_SUCCESS);
    const RecordSizes sizes(number);
    for (const uint32_t kind : decoded_kinds) {
        const size_t ours = sizes.of(kind), theirs = size_in_library(next, kind);
        if (ours != 0 && ours != theirs)
            std::fprintf(stderr, "%s: kind %u has %zu bytes, and not %zu\n", path.c_str(), kind, theirs,
                         ours);
        CHECK(ours == 0 || ours == theirs);
    }
}

std::vector<std::string> named_libraries() {
    std::vector<std::string> paths;
    const char* named = std::getenv("KINETOGRAPH_LIBCUPTI");
    std::string text = named ? named : "";
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find(':', begin), text.size());
        if (end > begin) paths.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return paths;
}

std::vector<uint8_t> records(const RecordSizes& sizes, const std::vector<uint32_t>& kinds) {
    std::vector<uint8_t> buffer;
    for (const uint32_t kind : kinds) {
        const size_t at = buffer.size();
        buffer.resize(at + sizes.of(kind));
        std::memcpy(buffer.data() + at, &kind, sizeof kind);
    }
    return buffer;
}

CUptiResult no_next_record(uint8_t*, size_t, CUpti_Activity**) {
    return CUPTI_ERROR_INVALID_KIND;
}

CUptiResult next_is_64_bytes_on(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
    auto* next = reinterpret_cast<uint8_t*>(*record) + 64;
    if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(next);
    return CUPTI_SUCCESS;
}

struct Walked {
    bool is_whole;
    std::vector<uint32_t> kinds;
};

Walked walk_over(std::vector<uint8_t> buffer, uint32_t version,
                 decltype(&cuptiActivityGetNextRecord) next_record = no_next_record) {
    Cupti cupti;
    cupti.next_record = next_record;
    Walked walked{};
    walked.is_whole = walk(cupti, RecordSizes(version), buffer.data(), buffer.size(),
                           [&](const uint8_t* record, size_t) { walked.kinds.push_back(kind_of(record)); });
    return walked;
}

}  // namespace

TEST(the_table_agrees_with_the_headers_we_build_with) {
    const RecordSizes sizes(130001);
    CHECK(sizes.of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == sizeof(CUpti_ActivityKernel10));
    CHECK(sizes.of(CUPTI_ACTIVITY_KIND_MEMCPY) == sizeof(CUpti_ActivityMemcpy6));
    CHECK(sizes.of(CUPTI_ACTIVITY_KIND_MEMCPY2) == sizeof(CUpti_ActivityMemcpyPtoP4));
    CHECK(sizes.of(CUPTI_ACTIVITY_KIND_MEMSET) == sizeof(CUpti_ActivityMemset4));
    CHECK(sizes.of(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) == sizeof(CUpti_ActivitySynchronization2));
    CHECK(sizes.of(CUPTI_ACTIVITY_KIND_CUDA_EVENT) == sizeof(CUpti_ActivityCudaEvent2));
    CHECK(sizes.of(CUPTI_ACTIVITY_KIND_OVERHEAD) == sizeof(CUpti_ActivityOverhead3));
    CHECK(sizes.of(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) == sizeof(CUpti_ActivityGraphTrace2));
    CHECK(sizes.of(CUPTI_ACTIVITY_KIND_JIT) == sizeof(CUpti_ActivityJit2));
    CHECK(sizes.of(CUPTI_ACTIVITY_KIND_CONTEXT) == sizeof(CUpti_ActivityContext3));
    CHECK(sizes.of(CUPTI_ACTIVITY_KIND_MEMORY2) == sizeof(CUpti_ActivityMemory4));
}

TEST(the_table_agrees_with_real_libraries) {
    for (const std::string& path : named_libraries()) check_library(path);
}

TEST(each_version_has_its_own_sizes) {
    const uint32_t kernel = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    CHECK(RecordSizes(18).of(kernel) == 208);
    CHECK(RecordSizes(130001).of(kernel) == 216);
    CHECK(RecordSizes(130201).of(kernel) == 224);
    CHECK(RecordSizes(130300).of(kernel) == 232);
    CHECK(RecordSizes(130401).of(kernel) == 248);
    CHECK(RecordSizes(130500).of(kernel) == 0);  // one of which nothing is known is asked
    CHECK(RecordSizes(23).of(CUPTI_ACTIVITY_KIND_MEMORY2) == 120);
    CHECK(RecordSizes(24).of(CUPTI_ACTIVITY_KIND_MEMORY2) == 128);
}

TEST(records_of_mixed_kinds_are_all_found) {
    const std::vector<uint32_t> kinds = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_DRIVER};
    for (const uint32_t version : {18U, 24U, 28U, 130001U, 130401U}) {
        const Walked walked = walk_over(records(RecordSizes(version), kinds), version);
        CHECK(walked.is_whole);
        CHECK(walked.kinds == kinds);
    }
}

TEST(an_empty_rest_ends_the_walk) {
    std::vector<uint8_t> buffer = records(RecordSizes(130001), {CUPTI_ACTIVITY_KIND_RUNTIME});
    buffer.resize(buffer.size() + 100);
    const Walked walked = walk_over(buffer, 130001);
    CHECK(walked.is_whole && walked.kinds.size() == 1);
}

TEST(what_stands_behind_a_record_that_is_incomplete_is_not_taken_for_an_empty_rest) {
    std::vector<uint8_t> buffer = records(RecordSizes(130001), {CUPTI_ACTIVITY_KIND_RUNTIME});
    buffer.resize(buffer.size() + 100);
    const std::vector<uint8_t> behind = records(RecordSizes(130001), {CUPTI_ACTIVITY_KIND_RUNTIME});
    buffer.insert(buffer.end(), behind.begin(), behind.end());
    const Walked walked = walk_over(buffer, 130001);
    CHECK(!walked.is_whole && walked.kinds.size() == 1);
}

TEST(a_record_that_is_cut_off_is_not_read) {
    std::vector<uint8_t> buffer =
        records(RecordSizes(130001), {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
    buffer.resize(buffer.size() - 1);
    const Walked walked = walk_over(buffer, 130001);
    CHECK(!walked.is_whole && walked.kinds.size() == 1);
}

TEST(the_library_is_asked_about_kinds_that_the_table_does_not_have) {
    std::vector<uint8_t> buffer(64);
    buffer[0] = 57;
    const std::vector<uint8_t> call = records(RecordSizes(130401), {CUPTI_ACTIVITY_KIND_RUNTIME});
    buffer.insert(buffer.end(), call.begin(), call.end());
    const Walked walked = walk_over(buffer, 130401, next_is_64_bytes_on);
    CHECK(walked.is_whole);
    CHECK((walked.kinds == std::vector<uint32_t>{57, CUPTI_ACTIVITY_KIND_RUNTIME}));
    CHECK(walk_over({buffer.begin(), buffer.begin() + 64}, 130401, next_is_64_bytes_on).is_whole);
    CHECK(!walk_over(buffer, 130401, no_next_record).is_whole);
}

CHECK_MAIN
