#include "measure/record/record.h"

#include <string>
#include <string_view>

namespace ridge::measure {

RecordDevice describe(const DeviceInfo& info) {
    return {.name = info.name,
            .compute_capability = info.compute_capability,
            .sm_count = info.sm_count,
            .driver = info.driver,
            .cuda = info.cuda_runtime,
            .cupti = info.cupti,
            .mig = info.mig,
            .serial = info.serial,
            .host = info.host};
}

std::string key_of(const Record& record) {
    return key_of(record.question, record.device.name);
}

namespace {

/// "NCCL 2.28.9" as "nccl-2.28.9".
std::string lower_with_hyphen(std::string name) {
    for (char& letter : name) {
        if (letter == ' ') letter = '-';
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return name;
}

}  // namespace

std::string software_of(const Record& record) {
    constexpr std::string_view framework = ", PyTorch ";
    constexpr std::string_view own = "ridge ";
    const std::string& tool = record.tool;
    if (const std::size_t at = tool.find(framework); at != std::string::npos) {
        const std::string version = tool.substr(at + framework.size());
        return "pytorch-" + version.substr(0, version.find('+'));
    }
    if (!tool.starts_with(own)) return {};
    if (record.question.execution.implementation == model::Implementation::library) {
        if (std::holds_alternative<model::Matmul>(record.question.operation)) {
            return "cublaslt-" + record.device.cuda;
        }
        const bool known = record.geometry && record.geometry->collective;
        return known ? lower_with_hyphen(record.geometry->collective->library) : std::string();
    }
    return "bundled-" + tool.substr(own.size());
}

}  // namespace ridge::measure
