#include "collect/cupti/metric_devices.h"

namespace kinetograph::collect::cupti {

namespace {

std::unique_ptr<HeldContext> hold_context(const Driver& driver, int index) {
    CUdevice device = 0;
    unsigned flags = 0;
    int is_active = 0;
    CUcontext context = nullptr;
    if (driver.device(&device, index) != CUDA_SUCCESS ||
        driver.primary_context_state(device, &flags, &is_active) != CUDA_SUCCESS || !is_active ||
        driver.retain_primary_context(&context, device) != CUDA_SUCCESS)
        return nullptr;
    return std::make_unique<HeldContext>(driver, device, context);
}

}  // namespace

std::vector<MetricDevice> find_used_devices(const Driver& driver) {
    std::vector<MetricDevice> devices;
    int count = 0;
    if (driver.device_count(&count) != CUDA_SUCCESS) return devices;
    for (int index = 0; index < count; ++index)
        if (auto context = hold_context(driver, index)) devices.push_back({index, std::move(context)});
    return devices;
}

std::string chip_of(const MetricFunctions& functions, int32_t device) {
    auto params = KINETOGRAPH_PARAMS(CUpti_Device_GetChipName_Params);
    params.deviceIndex = size_t(device);
    check(functions, "cuptiDeviceGetChipName", functions.chip_name(&params));
    return params.pChipName ? params.pChipName : "";
}

}  // namespace kinetograph::collect::cupti
