// Finds the kernels of a trace that a segment can belong to: by number of blocks, then by time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "intra_kernel/attribution.h"

namespace kinetograph::intra_kernel {

// Kernels with one number of blocks, in the order of their start. A tree of the latest ends finds those
// around a time: a single long one among many short ones would otherwise make every search one over all of
// them.
class AlikeKernels {
public:
    explicit AlikeKernels(std::span<const KernelSpan> kernels) : kernels_(kernels) {}

    void add(uint32_t number) { numbers_.push_back(number); }
    // After the last one.
    void build_tree() {
        while (leaves_ < numbers_.size()) leaves_ *= 2;
        latest_ns_.assign(2 * leaves_, INT64_MIN);
        for (size_t i = 0; i < numbers_.size(); ++i) latest_ns_[leaves_ + i] = kernels_[numbers_[i]].end_ns;
        for (size_t i = leaves_; i-- > 1;) latest_ns_[i] = std::max(latest_ns_[2 * i], latest_ns_[2 * i + 1]);
    }

    const std::vector<uint32_t>& numbers() const { return numbers_; }

    // Those that begin at `start_ns` at the latest and end at `end_ns` at the earliest, the last one first.
    template <class Visit>
    void around(int64_t start_ns, int64_t end_ns, Visit&& visit) const {
        const auto behind =
            std::upper_bound(numbers_.begin(), numbers_.end(), start_ns,
                             [&](int64_t time, uint32_t number) { return time < kernels_[number].start_ns; });
        search(1, 0, leaves_, size_t(behind - numbers_.begin()), end_ns, visit);
    }

private:
    // Below a node, which stands for `count` kernels from `first` on; only those before `behind`.
    template <class Visit>
    void search(size_t node, size_t first, size_t count, size_t behind, int64_t end_ns, Visit& visit) const {
        if (first >= behind || latest_ns_[node] < end_ns) return;
        if (count == 1) return visit(numbers_[first]);
        search(2 * node + 1, first + count / 2, count / 2, behind, end_ns, visit);
        search(2 * node, first, count / 2, behind, end_ns, visit);
    }

    std::span<const KernelSpan> kernels_;
    std::vector<uint32_t> numbers_;
    size_t leaves_ = 1;
    std::vector<int64_t> latest_ns_;  // of a node and all below it; node i has 2i and 2i + 1
};

// Kernels by number of blocks.
class KernelIndex {
public:
    explicit KernelIndex(std::span<const KernelSpan> kernels) {
        for (uint32_t i = 0; i < kernels.size(); ++i)
            by_blocks_.try_emplace(kernels[i].blocks, kernels).first->second.add(i);
        for (auto& [blocks, alike] : by_blocks_) alike.build_tree();
    }

    // All that have as many blocks, or an unknown number.
    template <class Visit>
    void each(uint64_t blocks, Visit&& visit) const {
        each_alike(blocks, [&](const AlikeKernels& alike) {
            for (const uint32_t number : alike.numbers()) visit(number);
        });
    }

    // Of these, those that begin at `start_ns` at the latest and end at `end_ns` at the earliest.
    template <class Visit>
    void around(uint64_t blocks, int64_t start_ns, int64_t end_ns, Visit&& visit) const {
        each_alike(blocks, [&](const AlikeKernels& alike) { alike.around(start_ns, end_ns, visit); });
    }

    size_t count(uint64_t blocks) const {
        size_t found = 0;
        each_alike(blocks, [&](const AlikeKernels& alike) { found += alike.numbers().size(); });
        return found;
    }

private:
    template <class Visit>
    void each_alike(uint64_t blocks, Visit&& visit) const {
        for (const uint64_t key : {blocks, uint64_t(0)}) {
            const auto alike = by_blocks_.find(key);
            if (alike != by_blocks_.end()) visit(alike->second);
            if (blocks == 0) return;
        }
    }

    std::unordered_map<uint64_t, AlikeKernels> by_blocks_;
};

}  // namespace kinetograph::intra_kernel
