// A program with NVTX ranges of every kind, for test_inject.cpp. "nvtx_program SIGNAL" ends by that
// signal.
#include <nvtx3/nvToolsExt.h>

#include <csignal>
#include <cstdlib>

int main(int argc, char** argv) {
    nvtxRangePushA("outer");
    nvtxRangePushW(L"inn\u00e9r");
    nvtxRangePop();
    nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
    const nvtxRangeId_t started = nvtxRangeStartA("started");
    nvtxRangeEnd(started);
    if (argc > 1) return std::raise(std::atoi(argv[1]));
    nvtxRangePop();
    return 3;
}
