// `ridge doctor`: what can be measured on this machine, and what is missing for the rest.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/device_option.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "hardware/json.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using measure::DeviceInfo;
using measure::Environment;
using measure::Feature;

struct DoctorOptions {
    explicit DoctorOptions(CommandLine& line) : device(line), gpu(line) {}

    DeviceOption device;
    GpuOptions gpu;
    std::string format;
};

/// One line of the report: what was checked, what was found, and whether it is well.
struct Finding {
    std::string subject;
    std::string found;
    bool well = true;
    std::string remedy{};
};

std::string enables(const std::string& feature) {
    if (feature == "counters") return "hardware counters";
    if (feature == "activity") return "times of short kernels and of several kernels";
    if (feature == "nvml") return "clocks, power, temperature";
    if (feature == "cublaslt") return "library matrix products";
    if (feature == "nvrtc") return "elementwise expressions";
    if (feature == "graph") return "replayed graphs";
    if (feature == "nccl") return "collectives between GPUs";
    return feature;
}

void add_device(const DeviceInfo& info, std::vector<Finding>& findings) {
    findings.push_back(
        {"GPU",
         fmt::format("{}, compute capability {}.{}, {} SMs, {} memory, {} L2", info.name,
                     info.compute_capability / 10, info.compute_capability % 10, info.sm_count,
                     format_capacity(info.memory), format_capacity(info.l2))});
    findings.push_back({"driver", fmt::format("{}, up to CUDA {}", info.driver, info.cuda_driver)});
    findings.push_back({"CUDA runtime", info.cuda_runtime});
    if (info.mig) {
        findings.push_back({"MIG", "on: this is a slice of a GPU, and no description fits it",
                            false, "measure a whole GPU to compare with predictions"});
    }
    for (const Feature& feature : info.features) {
        if (feature.works()) {
            findings.push_back(
                {feature.name, enables(feature.name) + ": " +
                                   (feature.detail.empty() ? "works" : feature.detail)});
        } else {
            findings.push_back({feature.name,
                                "no " + enables(feature.name) + ": " + feature.missing->reason,
                                false, feature.missing->remedy});
        }
    }
}

std::string words(const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& word : list) text += (text.empty() ? "" : ", ") + word;
    return text.empty() ? "none" : text;
}

void add_environment(const DeviceInfo& info, const Environment& now,
                     std::vector<Finding>& findings) {
    if (now.sm_clock) {
        findings.push_back(
            {"clock", format(*now.sm_clock) +
                          (info.max_sm_clock ? " now, at most " + format(*info.max_sm_clock) : "") +
                          "; limited by: " + words(now.clock_reasons)});
    }
    if (now.power) {
        findings.push_back(
            {"power",
             format(*now.power) + (now.power_limit ? " of " + format(*now.power_limit) : "")});
    }
    if (now.temperature_celsius) {
        findings.push_back({"temperature", fmt::format("{:.0f} C", *now.temperature_celsius)});
    }
    if (now.other_processes) {
        const bool alone = *now.other_processes == 0;
        findings.push_back(
            {"other processes",
             alone ? "none on this GPU"
                   : fmt::format("{} on this GPU: times will vary", *now.other_processes),
             alone, alone ? "" : "end them, or measure another GPU with --device"});
    }
}

void add_description(const DeviceInfo& info, const Machines& machines,
                     std::vector<Finding>& findings) {
    const std::string name = machines.catalogue().canonical_name(info.name);
    if (name.empty()) {
        findings.push_back({"description", "none is called '" + info.name + "'", false,
                            "write one (docs/gpu-files.md) and give it with --gpu-file; measuring "
                            "works without one"});
    } else {
        findings.push_back({"description", name});
    }
}

/// How the GPUs are linked, if there are several.
void add_topology(const Context& context, std::vector<Finding>& findings) {
    const std::vector<measure::GpuPlace> gpus = context.topology();
    if (gpus.size() < 2) return;
    for (const measure::GpuPlace& gpu : gpus) {
        const bool linked = gpu.reaches.size() + 1 == gpus.size();
        findings.push_back(
            {fmt::format("GPU {}", gpu.ordinal),
             fmt::format("{} at {}: {}", gpu.name, gpu.pci_bus, measure::links_text(gpu)), linked,
             linked ? "" : "collectives pass through the host's memory"});
    }
}

std::vector<Finding> examine(const Context& context, const DoctorOptions& options) {
    std::vector<Finding> findings;
    auto opened = options.device.try_open(context);
    if (const auto* missing = std::get_if<measure::Unavailable>(&opened)) {
        findings.push_back({"device", missing->reason, false, missing->remedy});
        findings.push_back({"predictions", "work: they need no GPU"});
        return findings;
    }
    measure::Device& device = *std::get<std::unique_ptr<measure::Device>>(opened);
    add_device(device.info(), findings);
    add_environment(device.info(), device.environment(), findings);
    add_description(device.info(), options.gpu.machines(context), findings);
    add_topology(context, findings);
    return findings;
}

void write_json(const Context& context, const std::vector<Finding>& findings) {
    Json list = Json::array();
    for (const Finding& finding : findings) {
        list.push_back({{"subject", finding.subject},
                        {"ok", finding.well},
                        {"found", finding.found},
                        {"remedy", finding.remedy}});
    }
    context.out << list.text(2) << '\n';
}

Table findings_table(const std::vector<Finding>& findings) {
    Table table{.columns = {{"subject"}, {"ok"}, {"found"}, {"remedy"}}, .rows = {}};
    for (const Finding& finding : findings) {
        table.rows.push_back(
            {finding.subject, finding.well ? "1" : "0", finding.found, finding.remedy});
    }
    return table;
}

void write_findings(const Context& context, const std::vector<Finding>& findings) {
    constexpr std::size_t indent = 22;
    const auto width = static_cast<std::size_t>(std::max(60, context.width));
    for (const Finding& finding : findings) {
        context.out << wrap(fmt::format("{} {:<16} {}", finding.well ? "ok  " : "MISS",
                                        finding.subject, finding.found),
                            width, indent)
                    << '\n';
        if (finding.remedy.empty()) continue;
        context.out << std::string(indent, ' ')
                    << wrap("remedy: " + finding.remedy, width, indent, indent) << '\n';
    }
}

int diagnose(const Context& context, const DoctorOptions& options) {
    const std::vector<Finding> findings = examine(context, options);
    switch (parse_format(options.format)) {
        case Format::json:
            write_json(context, findings);
            break;
        case Format::csv:
            write_csv(context.out, findings_table(findings));
            break;
        case Format::markdown:
            write_markdown(context.out, findings_table(findings));
            break;
        case Format::table:
            write_findings(context, findings);
            break;
    }
    return findings.front().subject == "device" ? device_failure : success;
}

}  // namespace

Action build_doctor(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<DoctorOptions>(line);
    add_format_option(line, options->format, "table|json|csv|md");
    line.footer(
        "Example:\n"
        "  ridge doctor\n"
        "Exit code 3 when there is no device to measure on.");
    return [options](const Context& context) { return diagnose(context, *options); };
}

}  // namespace ridge::cli
