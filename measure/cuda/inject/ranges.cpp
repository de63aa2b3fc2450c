#include "measure/cuda/inject/ranges.h"

#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cwchar>
#include <string>

#include "measure/cuda/inject/session.h"

namespace ridge::measure::cuda {
namespace {

std::uint32_t this_thread() {
    thread_local const auto id = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    return id;
}

thread_local int depth = 0;
std::atomic<std::uint64_t> last_range = 0;

/// A wide text as UTF-8.
std::string narrow(const wchar_t* text) {
    std::string out;
    for (; text != nullptr && *text != L'\0'; ++text) {
        const auto code = static_cast<std::uint32_t>(*text);
        const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
        if (code < 0x80U) {
            put(code);
        } else if (code < 0x800U) {
            put(0xC0U | code >> 6U);
            put(0x80U | (code & 0x3FU));
        } else if (code < 0x10000U) {
            put(0xE0U | code >> 12U);
            put(0x80U | (code >> 6U & 0x3FU));
            put(0x80U | (code & 0x3FU));
        } else {
            put(0xF0U | (code >> 18U & 7U));
            put(0x80U | (code >> 12U & 0x3FU));
            put(0x80U | (code >> 6U & 0x3FU));
            put(0x80U | (code & 0x3FU));
        }
    }
    return out;
}

std::string name_of(const nvtxEventAttributes_t* attributes) {
    if (attributes == nullptr) return {};
    switch (attributes->messageType) {
        case NVTX_MESSAGE_TYPE_ASCII:
            return attributes->message.ascii == nullptr ? "" : attributes->message.ascii;
        case NVTX_MESSAGE_TYPE_UNICODE:
            return narrow(attributes->message.unicode);
        case NVTX_MESSAGE_TYPE_REGISTERED: {
            const auto* const text =
                reinterpret_cast<const std::string*>(attributes->message.registered);
            return text == nullptr ? std::string() : *text;
        }
        default:
            return {};
    }
}

int open_range(const std::string& name) {
    Session& session = Session::instance();
    if (session.recording()) {
        session.writer().write(programs::PushActivity{.time_ns = session.now(),
                                                      .name = session.writer().text(name),
                                                      .thread = this_thread()});
    }
    return depth++;
}

int close_range() {
    Session& session = Session::instance();
    if (depth == 0) return -1;  // NVTX_NO_PUSH_POP_TRACKING is -2; this is a pop too many
    if (session.recording()) {
        session.writer().write(
            programs::PopActivity{.time_ns = session.now(), .thread = this_thread()});
    }
    return --depth;
}

nvtxRangeId_t start_range(const std::string& name) {
    Session& session = Session::instance();
    const std::uint64_t id = ++last_range;
    if (session.recording()) {
        session.writer().write(programs::StartActivity{.time_ns = session.now(),
                                                       .id = id,
                                                       .name = session.writer().text(name),
                                                       .thread = this_thread()});
    }
    return id;
}

void end_range(nvtxRangeId_t id) {
    Session& session = Session::instance();
    if (session.recording()) {
        session.writer().write(programs::StopActivity{.time_ns = session.now(), .id = id});
    }
}

int push_a(const char* text) {
    return open_range(text == nullptr ? "" : text);
}
int push_w(const wchar_t* text) {
    return open_range(narrow(text));
}
int push_ex(const nvtxEventAttributes_t* attributes) {
    return open_range(name_of(attributes));
}
int pop() {
    return close_range();
}
nvtxRangeId_t start_a(const char* text) {
    return start_range(text == nullptr ? "" : text);
}
nvtxRangeId_t start_w(const wchar_t* text) {
    return start_range(narrow(text));
}
nvtxRangeId_t start_ex(const nvtxEventAttributes_t* attributes) {
    return start_range(name_of(attributes));
}
void end(nvtxRangeId_t id) {
    end_range(id);
}
int domain_push(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* attributes) {
    return open_range(name_of(attributes));
}
int domain_pop(nvtxDomainHandle_t /*domain*/) {
    return close_range();
}
nvtxRangeId_t domain_start(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* attributes) {
    return start_range(name_of(attributes));
}
void domain_end(nvtxDomainHandle_t /*domain*/, nvtxRangeId_t id) {
    end_range(id);
}
// Handles of registered strings live as long as the process, as NVTX requires.
nvtxStringHandle_t register_a(nvtxDomainHandle_t /*domain*/, const char* text) {
    return reinterpret_cast<nvtxStringHandle_t>(new std::string(text == nullptr ? "" : text));
}
nvtxStringHandle_t register_w(nvtxDomainHandle_t /*domain*/, const wchar_t* text) {
    return reinterpret_cast<nvtxStringHandle_t>(new std::string(narrow(text)));
}
nvtxDomainHandle_t create_domain_a(const char* text) {
    return reinterpret_cast<nvtxDomainHandle_t>(new std::string(text == nullptr ? "" : text));
}
nvtxDomainHandle_t create_domain_w(const wchar_t* text) {
    return reinterpret_cast<nvtxDomainHandle_t>(new std::string(narrow(text)));
}

struct Replacement {
    unsigned int id;
    NvtxFunctionPointer function;
};

template <class Function>
Replacement replace(unsigned int id, Function* function) {
    return {.id = id, .function = reinterpret_cast<NvtxFunctionPointer>(function)};
}

bool fill(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module,
          std::initializer_list<Replacement> replacements) {
    NvtxFunctionTable table = nullptr;
    unsigned int size = 0;
    if (callbacks.GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr) {
        return false;
    }
    for (const Replacement& each : replacements) {
        if (each.id < size && table[each.id] != nullptr) *table[each.id] = each.function;
    }
    return true;
}

}  // namespace

int set_range_functions(const void* (*export_table)(std::uint32_t)) {
    if (export_table == nullptr) return 0;
    const auto* const callbacks =
        static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
    if (callbacks == nullptr || callbacks->GetModuleFunctionTable == nullptr) return 0;
    const bool core = fill(
        *callbacks, NVTX_CB_MODULE_CORE,
        {replace(NVTX_CBID_CORE_RangePushA, push_a), replace(NVTX_CBID_CORE_RangePushW, push_w),
         replace(NVTX_CBID_CORE_RangePushEx, push_ex), replace(NVTX_CBID_CORE_RangePop, pop),
         replace(NVTX_CBID_CORE_RangeStartA, start_a), replace(NVTX_CBID_CORE_RangeStartW, start_w),
         replace(NVTX_CBID_CORE_RangeStartEx, start_ex), replace(NVTX_CBID_CORE_RangeEnd, end)});
    const bool domains = fill(*callbacks, NVTX_CB_MODULE_CORE2,
                              {replace(NVTX_CBID_CORE2_DomainRangePushEx, domain_push),
                               replace(NVTX_CBID_CORE2_DomainRangePop, domain_pop),
                               replace(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start),
                               replace(NVTX_CBID_CORE2_DomainRangeEnd, domain_end),
                               replace(NVTX_CBID_CORE2_DomainRegisterStringA, register_a),
                               replace(NVTX_CBID_CORE2_DomainRegisterStringW, register_w),
                               replace(NVTX_CBID_CORE2_DomainCreateA, create_domain_a),
                               replace(NVTX_CBID_CORE2_DomainCreateW, create_domain_w)});
    return core || domains ? 1 : 0;
}

}  // namespace ridge::measure::cuda
