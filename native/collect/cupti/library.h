// libcupti and libcuda as this process has them: functions by name, found at run time. Nothing links to
// either.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/visibility.h"

namespace kinetograph::collect::cupti {

// Prototypes come from the headers, so that the compiler checks our calls. Those that older libraries do not
// have may be null.
struct CuptiFunctions {
    decltype(&cuptiGetVersion) get_version = nullptr;
    decltype(&cuptiGetResultString) result_string = nullptr;
    decltype(&cuptiGetCallbackName) callback_name = nullptr;
    decltype(&cuptiSubscribe) subscribe = nullptr;
    decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
    decltype(&cuptiEnableCallback) enable_callback = nullptr;
    decltype(&cuptiEnableDomain) enable_domain = nullptr;
    decltype(&cuptiFinalize) finalize = nullptr;
    decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
    decltype(&cuptiActivityEnable) enable = nullptr;
    decltype(&cuptiActivityDisable) disable = nullptr;
    decltype(&cuptiActivityFlushAll) flush_all = nullptr;
    decltype(&cuptiActivitySetAttribute) set_attribute = nullptr;
    decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
    decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
    decltype(&cuptiSetThreadIdType) set_thread_id_type = nullptr;
    decltype(&cuptiActivityRegisterTimestampCallback) register_timestamp = nullptr;      // may be null
    decltype(&cuptiActivityEnableAndDump) enable_and_dump = nullptr;                     // may be null
    decltype(&cuptiActivityEnableDriverApi) enable_driver_call = nullptr;                // 12.5 and newer
    decltype(&cuptiActivityEnableCudaEventDeviceTimestamps) event_timestamps = nullptr;  // 12.8 and newer
};

struct Cupti : CuptiFunctions {
    uint32_t version = 0;  // of its API, as cuptiGetVersion tells
    std::string path;
};

// The driver, whose symbols have versions in their names that the headers hide behind macros.
struct Driver {
    CUresult (*driver_version)(int*) = nullptr;
    CUresult (*device_count)(int*) = nullptr;
    CUresult (*device)(CUdevice*, int) = nullptr;
    CUresult (*device_name)(char*, int, CUdevice) = nullptr;
    CUresult (*device_attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;
    CUresult (*device_memory)(size_t*, CUdevice) = nullptr;
    CUresult (*primary_context_state)(CUdevice, unsigned*, int*) = nullptr;
    CUresult (*retain_primary_context)(CUcontext*, CUdevice) = nullptr;
    CUresult (*release_primary_context)(CUdevice) = nullptr;
    CUresult (*current_context)(CUcontext*) = nullptr;
    CUresult (*push_context)(CUcontext) = nullptr;
    CUresult (*pop_context)(CUcontext*) = nullptr;
    CUresult (*synchronize)() = nullptr;
    CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus*) = nullptr;
};

// Null unless the program has loaded the driver and called cuInit with success. Never loads or initialises
// it: that takes memory on every device, and is the program's decision.
const Driver* initialised_driver();
// Whether libcuda is in this process, initialised or not.
KINETOGRAPH_API bool driver_is_mapped();

// Of the CUDA runtime that the program has loaded, as cudaRuntimeGetVersion tells it; 0 without one. Programs
// may use the driver alone, or a runtime that is linked into them.
int runtime_version();

// The library that is mapped already, else the first of `candidates` that opens. Throws std::runtime_error
// with the reason. Only call it with an initialised driver: some versions crash without one.
const Cupti& open_cupti(const std::vector<std::string>& candidates);

// In words, for notes.
std::string describe(const Cupti& cupti, CUptiResult result);

}  // namespace kinetograph::collect::cupti
