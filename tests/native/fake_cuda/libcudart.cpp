// The fake runtime: no more than the version that it tells.

extern "C" __attribute__((visibility("default"))) int cudaRuntimeGetVersion(int* version) {
    *version = 12080;
    return 0;
}
