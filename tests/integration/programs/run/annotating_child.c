/* A program without Python that annotates itself by NVTX. */
#include <nvtx3/nvToolsExt.h>

int main(void) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("a library in C");
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "in C";
    for (int i = 0; i < 10; ++i) {
        nvtxDomainRangePushEx(domain, &event);
        nvtxRangePushA("within");
        nvtxRangePop();
        nvtxDomainRangePop(domain);
    }
    return 7;
}
