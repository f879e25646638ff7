// Compiles only with headers that have the records this collector reads.
#include <cuda.h>
#include <cuda_occupancy.h>
#include <cupti.h>

int main() {
    return sizeof(CUpti_ActivityKernel10) == 216 && sizeof(CUpti_ActivityMemcpy6) == 96 ? 0 : 1;
}
