/* A library whose texts are not UTF-8. */
#include <nvtx3/nvToolsExt.h>

int main(void) {
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "caf\xe9";
    nvtxDomainMarkEx(nvtxDomainCreateA("entr\xe9" "e"), &event);
    return 0;
}
