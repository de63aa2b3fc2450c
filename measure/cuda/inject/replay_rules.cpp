#include "measure/cuda/inject/replay_rules.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace ridge::measure::cuda {
namespace {

struct Rule {
    std::string_view start;
    CallKind kind;
};

// The first matching rule applies.
constexpr std::array rules{
    Rule{"cuMemAllocManaged", CallKind::untracked},
    Rule{"cuMemAllocHost", CallKind::untracked},
    Rule{"cuMemAllocAsync", CallKind::untracked},
    Rule{"cuMemAllocFromPool", CallKind::untracked},
    Rule{"cuMemAlloc", CallKind::allocates},
    Rule{"cuMemFreeHost", CallKind::harmless},
    Rule{"cuMemFree", CallKind::frees},
    Rule{"cuMemHostGet", CallKind::harmless},
    Rule{"cuMemHostUnregister", CallKind::harmless},
    Rule{"cuMemHost", CallKind::untracked},
    Rule{"cuMemCreate", CallKind::untracked},
    Rule{"cuMemMap", CallKind::untracked},
    Rule{"cuMemImport", CallKind::untracked},
    Rule{"cuMemPoolImport", CallKind::untracked},
    Rule{"cuMulticast", CallKind::untracked},
    Rule{"cuIpcOpenMem", CallKind::untracked},
    Rule{"cuImportExternal", CallKind::untracked},
    Rule{"cuGraphics", CallKind::untracked},
    Rule{"cuArrayCreate", CallKind::untracked},
    Rule{"cuArray3DCreate", CallKind::untracked},
    Rule{"cuMipmappedArrayCreate", CallKind::untracked},
    Rule{"cuCtxEnablePeerAccess", CallKind::untracked},
    Rule{"cuGetProcAddress", CallKind::harmless},
    Rule{"cuGetError", CallKind::harmless},
    Rule{"cuGetExportTable", CallKind::harmless},
    Rule{"cuDriverGet", CallKind::harmless},
    Rule{"cuDeviceGet", CallKind::harmless},
    Rule{"cuDevicePrimaryCtxGetState", CallKind::harmless},
    Rule{"cuCtxGet", CallKind::harmless},
    Rule{"cuCtxSetCurrent", CallKind::harmless},
    Rule{"cuCtxPushCurrent", CallKind::harmless},
    Rule{"cuCtxPopCurrent", CallKind::harmless},
    Rule{"cuFuncGet", CallKind::harmless},
    Rule{"cuFuncSet", CallKind::harmless},
    Rule{"cuFuncIsLoaded", CallKind::harmless},
    Rule{"cuFuncLoad", CallKind::harmless},
    Rule{"cuKernel", CallKind::harmless},
    Rule{"cuLibraryGet", CallKind::harmless},
    Rule{"cuModuleGet", CallKind::harmless},
    Rule{"cuOccupancy", CallKind::harmless},
    Rule{"cuPointerGet", CallKind::harmless},
    Rule{"cuMemGet", CallKind::harmless},
    Rule{"cuEventSynchronize", CallKind::ends_batch},
    Rule{"cuEvent", CallKind::harmless},
    Rule{"cuStreamCreate", CallKind::harmless},
    Rule{"cuStreamGet", CallKind::harmless},
    Rule{"cuStreamIsCapturing", CallKind::harmless},
    Rule{"cuStreamQuery", CallKind::harmless},
    Rule{"cuStreamWaitEvent", CallKind::harmless},
    Rule{"cuTensorMap", CallKind::harmless},
    Rule{"cuThreadExchangeStreamCaptureMode", CallKind::harmless},
};

/// The object at `offset`, if the file holds it.
template <class Object>
std::optional<Object> object_at(std::span<const char> file, std::uint64_t offset) {
    if (offset > file.size() || file.size() - offset < sizeof(Object)) return std::nullopt;
    Object object;
    std::memcpy(&object, file.data() + offset, sizeof object);
    return object;
}

/// The text at `offset`, if the file holds it.
std::optional<std::string_view> text_at(std::span<const char> file, std::uint64_t offset) {
    if (offset >= file.size()) return std::nullopt;
    const char* const start = file.data() + offset;
    return std::string_view(start, strnlen(start, file.size() - offset));
}

/// Whether it is a function of the device's run-time library that leaves state behind.
bool leaves_something(std::string_view symbol) {
    constexpr std::array names{std::string_view("vprintf"), std::string_view("malloc"),
                               std::string_view("free")};
    return symbol.starts_with("cudaGetParameterBuffer") || symbol.starts_with("cudaLaunchDevice") ||
           std::find(names.begin(), names.end(), symbol) != names.end();
}

bool names_such(std::span<const char> file, const Elf64_Shdr& symbols, const Elf64_Shdr& names) {
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = object_at<Elf64_Sym>(file, symbols.sh_offset + at);
        if (!symbol) return true;
        const auto name = text_at(file, names.sh_offset + symbol->st_name);
        if (!name || leaves_something(*name)) return true;
    }
    return false;
}

}  // namespace

CallKind call_kind(std::string_view name) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [name](const Rule& each) {
        return name.starts_with(each.start);
    });
    return rule == rules.end() ? CallKind::ends_batch : rule->kind;
}

bool keeps_state(std::span<const char> cubin) {
    const auto header = object_at<Elf64_Ehdr>(cubin, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return true;
    if (header->e_ident[EI_CLASS] != ELFCLASS64) return true;
    const auto section = [&](std::uint64_t number) {
        return object_at<Elf64_Shdr>(cubin, header->e_shoff + number * sizeof(Elf64_Shdr));
    };
    const auto names = section(header->e_shstrndx);
    if (!names) return true;
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
        const auto each = section(i);
        if (!each) return true;
        const auto name = text_at(cubin, names->sh_offset + each->sh_name);
        if (!name || (name->starts_with(".nv.global") && each->sh_size > 0)) return true;
        if (each->sh_type != SHT_SYMTAB) continue;
        const auto texts = section(each->sh_link);
        if (!texts || names_such(cubin, *each, *texts)) return true;
    }
    return false;
}

}  // namespace ridge::measure::cuda
