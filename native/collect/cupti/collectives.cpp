#include "collect/cupti/collectives.h"

#include <algorithm>
#include <iterator>

#include "base/json_members.h"

namespace kinetograph::collect::cupti {

namespace {

struct Word {
    std::string_view nccls, ours;
};

// As PyTorch names them in its own records of collectives.
constexpr Word collectives[] = {
    {"AllReduce", "allreduce"},          {"AllGather", "allgather"}, {"AllGatherV", "allgather"},
    {"ReduceScatter", "reduce_scatter"}, {"Broadcast", "broadcast"}, {"Reduce", "reduce"},
    {"SendRecv", "send_recv"},
};

// Integers are not among them: NCCL runs signed ones in the kernel of unsigned ones.
constexpr Word types[] = {
    {"f16", "Half"},
    {"half", "Half"},
    {"f32", "Float"},
    {"float", "Float"},
    {"f64", "Double"},
    {"double", "Double"},
    {"bf16", "BFloat16"},
    {"__nv_bfloat16", "BFloat16"},
    {"f8e4m3", "Float8_e4m3fn"},
    {"f8e5m2", "Float8_e5m2"},
};

template <size_t count>
std::string_view find(const Word (&words)[count], std::string_view wanted) {
    const Word* found = std::find_if(std::begin(words), std::end(words),
                                     [&](const Word& word) { return word.nccls == wanted; });
    return found == std::end(words) ? std::string_view() : found->ours;
}

// What stands behind so many words, each of which ends with "_".
std::string_view rest_behind(std::string_view text, int skipped) {
    for (; skipped > 0; --skipped) {
        const size_t end = text.find('_');
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + 1);
    }
    return text;
}

std::string_view first_word(std::string_view text) {
    return text.substr(0, text.find('_'));
}

bool has_type(std::string_view collective) {
    return collective == "AllReduce" || collective == "Reduce" || collective == "ReduceScatter";
}

}  // namespace

// AllReduce_Sum_f32_RING_LL, and before NCCL 2.19 AllReduce_RING_LL_Sum_float. Algorithm, protocol and
// reduction are not to be trusted: NCCL runs all of them in the few kernels that it has been built with.
std::string collective_members(std::string_view kernel) {
    constexpr std::string_view now = "ncclDevKernel_", before = "ncclKernel_";
    const bool is_new = kernel.starts_with(now);
    if (!is_new && !kernel.starts_with(before)) return {};
    kernel.remove_prefix(is_new ? now.size() : before.size());
    kernel = kernel.substr(0, kernel.find('('));
    const std::string_view nccls = first_word(kernel), collective = find(collectives, nccls);
    if (collective.empty()) return {};
    base::JsonMembers members;
    members.add("Collective name", collective);
    const std::string_view type =
        find(types, is_new ? first_word(rest_behind(kernel, 2)) : rest_behind(kernel, 4));
    if (has_type(nccls) && !type.empty()) members.add("dtype", type);
    return members.text();
}

}  // namespace kinetograph::collect::cupti
