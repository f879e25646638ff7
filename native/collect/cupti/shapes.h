// What the arguments of CUPTI's records say, each text once: work of one shape comes again and again.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collect/cupti/devices.h"
#include "collect/cupti/library.h"

namespace kinetograph::collect::cupti {

// Records as their newest struct, whatever the running version: what it did not write is 0.
template <class Struct>
Struct view(const uint8_t* record, size_t bytes) {
    Struct whole{};
    std::memcpy(&whole, record, bytes < sizeof whole ? bytes : sizeof whole);
    return whole;
}

// All that makes one launch look like another, without padding.
struct KernelKey {
    uint32_t device, context, stream, registers;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t graph, channel;
    uint64_t graph_node;
    uint32_t channel_type;
    uint32_t collective;  // index of its members, 0: none
    uint32_t cluster[3];
    uint32_t local_memory;  // bytes per thread
    uint32_t launch_type;
    uint32_t is_device_launched;
    int32_t priority;
    uint32_t has_priority;
    bool operator==(const KernelKey&) const = default;
};

struct PlaceKey {
    uint32_t device, context, stream, graph;
    uint64_t graph_node;
    bool operator==(const PlaceKey&) const = default;
};

struct BytesHash {
    template <class Key>
    size_t operator()(const Key& key) const noexcept {
        uint64_t hash = sizeof key;
        const auto* bytes = reinterpret_cast<const unsigned char*>(&key);
        for (size_t at = 0; at < sizeof key; at += sizeof(uint64_t)) {
            uint64_t word = 0;
            std::memcpy(&word, bytes + at, sizeof word);
            hash = (hash ^ word) * 0x9e3779b97f4a7c15;
            hash ^= hash >> 29;
        }
        return size_t(hash);
    }
};

// Gives name ids of the recorder. Used by the decoder's thread only.
class Shapes {
public:
    explicit Shapes(const Cupti& cupti, std::vector<Device> devices)
        : cupti_(cupti), devices_(std::move(devices)) {}

    struct KernelName {
        uint32_t name;
        uint32_t collective;  // for `kernel`
    };
    KernelName kernel_name(const char* mangled);
    // Without the version that CUPTI adds: cudaLaunchKernel.
    uint32_t call_name(CUpti_CallbackDomain domain, uint32_t callback);

    // `priority` of the launch, where the version tells it.
    uint32_t kernel(const CUpti_ActivityKernel10& kernel, std::optional<int32_t> priority,
                    uint32_t collective);
    uint32_t place(const PlaceKey& key);
    uint32_t call(uint32_t callback);
    uint32_t text(const std::string& members);

    // Between two sessions the recorder may drop all names.
    void forget_if_gone();

private:
    struct TextHash {
        using is_transparent = void;
        size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>{}(text);
        }
    };
    std::string spelled(const KernelKey& key) const;
    uint32_t collective(std::string_view kernel);

    const Cupti& cupti_;
    const std::vector<Device> devices_;
    std::unordered_map<std::string, KernelName, TextHash, std::equal_to<>> kernel_names_;
    std::vector<std::string> collectives_{""};  // members
    std::unordered_map<uint64_t, uint32_t> call_names_;
    std::unordered_map<KernelKey, uint32_t, BytesHash> kernels_;
    std::unordered_map<PlaceKey, uint32_t, BytesHash> places_;
    std::unordered_map<uint32_t, uint32_t> calls_;
    uint32_t oldest_name_ = 0;
};

std::string demangled(const char* name);
// cudaLaunchKernel for cudaLaunchKernel_ptsz_v7000.
std::string_view without_version(std::string_view name);

}  // namespace kinetograph::collect::cupti
