#include "collect/cupti/shapes.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/json_members.h"
#include "collect/cupti/collectives.h"
#include "record/recorder.h"

namespace kinetograph::collect::cupti {

namespace {

constexpr size_t most_kept = 200'000;  // of each kind; beyond it they are spelled again

uint32_t intern(std::string_view text) {
    return record::Recorder::instance().intern(text);
}

template <class Map>
void bound(Map& map) {
    if (map.size() > most_kept) map.clear();
}

KernelKey key_of(const CUpti_ActivityKernel10& kernel, std::optional<int32_t> priority, uint32_t collective) {
    return {kernel.deviceId,
            kernel.contextId,
            kernel.streamId,
            kernel.registersPerThread,
            {kernel.gridX, kernel.gridY, kernel.gridZ},
            {kernel.blockX, kernel.blockY, kernel.blockZ},
            kernel.staticSharedMemory,
            kernel.dynamicSharedMemory,
            kernel.graphId,
            kernel.channelID,
            kernel.graphNodeId,
            uint32_t(kernel.channelType),
            collective,
            {kernel.clusterX, kernel.clusterY, kernel.clusterZ},
            kernel.localMemoryPerThread,
            kernel.launchType,
            kernel.isDeviceLaunched,
            priority.value_or(0),
            priority.has_value()};
}

LaunchShape shape_of(const KernelKey& key) {
    return {int64_t(key.grid[0]) * key.grid[1] * key.grid[2], key.block[0] * key.block[1] * key.block[2],
            int(key.registers), key.static_shared, key.dynamic_shared};
}

void add_graph(base::JsonMembers& members, uint32_t graph, uint64_t node) {
    members.add("graph id", graph).add("graph node id", node);
}

// What only some kernels have, behind what Kineto tells of all.
void add_rare(base::JsonMembers& members, const KernelKey& key) {
    const uint32_t* cluster = key.cluster;
    if (cluster[0] * cluster[1] * cluster[2] > 1) members.add("cluster", cluster[0], cluster[1], cluster[2]);
    if (key.local_memory != 0) members.add("local memory per thread", key.local_memory);
    if (key.launch_type == CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE ||
        key.launch_type == CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE)
        members.add("launch type", std::string_view("cooperative"));
    if (key.is_device_launched) members.add("launched by", std::string_view("device"));
}

}  // namespace

std::string demangled(const char* name) {
    // The rest are plain names, as those of Triton, some of which the demangler would take for types: f is
    // float.
    if (!std::string_view(name).starts_with("_Z")) return name;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
    return status == 0 && text ? std::string(text.get()) : std::string(name);
}

std::string_view without_version(std::string_view name) {
    const size_t version = name.rfind("_v");
    if (version != std::string_view::npos && version + 2 < name.size() &&
        name.find_first_not_of("0123456789", version + 2) == std::string_view::npos)
        name = name.substr(0, version);
    for (const std::string_view suffix : {std::string_view("_ptsz"), std::string_view("_ptds")})
        if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
    return name;
}

void Shapes::forget_if_gone() {
    record::Recorder& recorder = record::Recorder::instance();
    if (oldest_name_ != 0 && recorder.strings().is_valid(oldest_name_)) return;
    kernel_names_.clear();
    call_names_.clear();
    kernels_.clear();
    places_.clear();
    calls_.clear();
    oldest_name_ = intern("kinetograph cupti");
}

// By its text and not by its pointer, which the next module may get.
Shapes::KernelName Shapes::kernel_name(const char* mangled) {
    if (!mangled) mangled = "unknown kernel";
    const auto known = kernel_names_.find(std::string_view(mangled));
    if (known != kernel_names_.end()) return known->second;
    bound(kernel_names_);
    const std::string name = demangled(mangled);
    return kernel_names_[mangled] = {intern(name), collective(name)};
}

uint32_t Shapes::collective(std::string_view kernel) {
    const std::string members = collective_members(kernel);
    const auto known = std::find(collectives_.begin(), collectives_.end(), members);
    const auto index = uint32_t(known - collectives_.begin());
    if (known == collectives_.end()) collectives_.push_back(members);
    return index;
}

uint32_t Shapes::call_name(CUpti_CallbackDomain domain, uint32_t callback) {
    const auto [known, is_new] = call_names_.try_emplace(uint64_t(domain) << 32 | callback, 0);
    if (!is_new) return known->second;
    const char* name = nullptr;
    if (cupti_.callback_name(domain, callback, &name) != CUPTI_SUCCESS || !name) name = "unknown call";
    return known->second = intern(without_version(name));
}

uint32_t Shapes::kernel(const CUpti_ActivityKernel10& kernel, std::optional<int32_t> priority,
                        uint32_t collective) {
    const KernelKey key = key_of(kernel, priority, collective);
    const auto known = kernels_.find(key);
    if (known != kernels_.end()) return known->second;
    bound(kernels_);
    return kernels_[key] = intern(spelled(key));
}

// The keys, and their order, are Kineto's.
std::string Shapes::spelled(const KernelKey& key) const {
    base::JsonMembers members;
    members.add("queued", 0).add("device", key.device).add("context", key.context).add("stream", key.stream);
    members.add("registers per thread", key.registers);
    members.add("shared memory", key.static_shared + key.dynamic_shared);
    const Occupancy occupancy =
        key.device < devices_.size() ? occupancy_of(devices_[key.device], shape_of(key)) : Occupancy{};
    members.add("blocks per SM", occupancy.blocks_per_multiprocessor);
    members.add("warps per SM", occupancy.warps_per_multiprocessor);
    members.add("grid", key.grid[0], key.grid[1], key.grid[2]);
    members.add("block", key.block[0], key.block[1], key.block[2]);
    members.add("est. achieved occupancy %", occupancy.percent);
    add_graph(members, key.graph, key.graph_node);
    if (key.has_priority) members.add("priority", key.priority);
    members.add("channel", key.channel).add("channel_type", key.channel_type);
    add_rare(members, key);
    const std::string& collective = collectives_[key.collective];
    return collective.empty() ? members.text() : members.text() + "," + collective;
}

uint32_t Shapes::place(const PlaceKey& key) {
    const auto known = places_.find(key);
    if (known != places_.end()) return known->second;
    bound(places_);
    base::JsonMembers members;
    members.add("device", key.device).add("context", key.context).add("stream", key.stream);
    add_graph(members, key.graph, key.graph_node);
    return places_[key] = intern(members.text());
}

uint32_t Shapes::call(uint32_t callback) {
    const auto known = calls_.find(callback);
    if (known != calls_.end()) return known->second;
    return calls_[callback] = intern(base::JsonMembers().add("cbid", callback).text());
}

uint32_t Shapes::text(const std::string& members) {
    return intern(members);
}

}  // namespace kinetograph::collect::cupti
