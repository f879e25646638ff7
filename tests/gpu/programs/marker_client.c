/* The least client of CUPTI that takes NVTX ranges: libcupti is the tool, and gives them back as records. */
#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFER_BYTES (1 << 20)
#define API __attribute__((visibility("default")))
#define CALL(name) ((__typeof__(&name))dlsym(cupti, #name))

static void* cupti;
static FILE* output;

static void CUPTIAPI request(uint8_t** buffer, size_t* size, size_t* most) {
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *most = 0;
}

static void print_marker(const CUpti_ActivityMarker2* marker) {
    const char* what = marker->flags & CUPTI_ACTIVITY_FLAG_MARKER_START ? "begin"
                       : marker->flags & CUPTI_ACTIVITY_FLAG_MARKER_END ? "end"
                                                                        : "mark";
    fprintf(output, "%s|%s|%s|%u\n", what, marker->name ? marker->name : "",
            marker->domain ? marker->domain : "", marker->id);
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size,
                              size_t valid) {
    CUpti_Activity* record = NULL;
    (void)context, (void)stream, (void)size;
    while (CALL(cuptiActivityGetNextRecord)(buffer, valid, &record) == CUPTI_SUCCESS)
        if (record->kind == CUPTI_ACTIVITY_KIND_MARKER) print_marker((const CUpti_ActivityMarker2*)record);
    free(buffer);
}

/* 0, or the error of CUPTI. */
API int client_start(const char* library, const char* path) {
    cupti = dlopen(library, RTLD_LAZY);
    output = fopen(path, "w");
    if (!cupti || !output) return -1;
    const CUptiResult result = CALL(cuptiActivityRegisterCallbacks)(request, complete);
    return result != CUPTI_SUCCESS ? (int)result : (int)CALL(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_MARKER);
}

API int client_stop(void) {
    const CUptiResult result = CALL(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    fclose(output);
    return result;
}
