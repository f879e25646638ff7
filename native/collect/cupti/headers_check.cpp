// Compiles only with headers that have the records this collector reads.
#include <cuda.h>
#include <cuda_occupancy.h>
#include <cupti.h>
#include <cupti_pmsampling.h>

int main() {
    CUpti_PmSampling_SetConfig_Params sampling{};
    sampling.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST;
    return sizeof(CUpti_ActivityKernel10) == 216 && sizeof(CUpti_ActivityMemcpy6) == 96 ? 0 : 1;
}
