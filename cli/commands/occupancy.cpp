// `ridge occupancy`: how many blocks of a kernel an SM holds, what limits it and what would help.
#include "model/machine/occupancy.h"
#include "cli/console/json_document.h"
#include "cli/console/percent.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "cli/charts/chart_output.h"
#include "cli/charts/occupancy_chart.h"
#include "cli/commands/commands.h"
#include "cli/console/rows.h"
#include "cli/console/table.h"
#include "cli/input/ptxas_output.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using model::BlockResources;
using model::Occupancy;
using model::OccupancyLimiter;
using model::SmLimits;

struct OccupancyOptions {
    explicit OccupancyOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::string threads;
    std::string registers = "32";
    std::string shared = "0 B";
    std::string ptxas;
    std::string function;
    std::string format;
    ChartOutput chart;
};

/// The kernel's block and the GPU it runs on.
struct Kernel {
    BlockResources block;
    const model::Machine* machine = nullptr;
    SmLimits limits;
};

/// "48KiB", or as ptxas and programs write it: 49152, "100KB", "48kb".
Bytes shared_of(const std::string& text) {
    const bool unit = text.find_first_of(" ") != std::string::npos;
    if (!unit) {
        if (const auto bytes = read_count(text, CountUnit::bytes)) {
            return static_cast<double>(bytes->value) * units::B;
        }
    }
    try {
        return parse_quantity<Bytes>(text);
    } catch (const InputError& error) {
        throw InputError(std::string("shared: ") + error.what());
    }
}

Kernel kernel_of(const OccupancyOptions& options, Machines& machines) {
    if (options.threads.empty()) {
        throw InputError("threads is missing", {}, "threads per block: --threads 256");
    }
    Kernel kernel;
    kernel.block.threads = parse_count(options.threads, "threads");
    kernel.block.registers = parse_count(options.registers, "registers");
    kernel.block.shared = shared_of(options.shared);
    if (!options.ptxas.empty()) {
        const CompiledKernel compiled = compiled_kernel(options.ptxas, options.function);
        kernel.block.registers = compiled.registers;
        kernel.block.shared += static_cast<double>(compiled.shared_bytes) * units::B;
    }
    kernel.machine = &machines.at(options.gpu.name());
    if (!kernel.machine->limits) {
        throw InputError(kernel.machine->name +
                         " has no limits for threads, registers and shared "
                         "memory in its description");
    }
    kernel.limits = *kernel.machine->limits;
    // Far above what any SM has, and far below where products of them overflow.
    constexpr std::int64_t most = std::int64_t{1} << 20;
    if (kernel.block.threads > most) throw InputError("threads: must be at most 1Mi");
    if (kernel.block.registers > most) throw InputError("registers: must be at most 1Mi");
    if (kernel.block.shared > 1024.0 * units::GiB) {
        throw InputError("shared: must be at most 1 TiB");
    }
    if (kernel.block.threads < 1) throw InputError("threads: must be at least 1");
    if (kernel.block.shared < Bytes{}) throw InputError("shared: must not be negative");
    return kernel;
}

void write_line(const Context& context, std::string_view label, const std::string& text) {
    constexpr std::size_t indent = 16;
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << fmt::format("  {:<12}  {}\n", label, wrap(text, width, indent, indent));
}

std::string resident_text(const Occupancy& found, const SmLimits& limits) {
    return fmt::format("{} block{} per SM: {} of {} warps, {}", found.blocks,
                       found.blocks == 1 ? "" : "s", found.warps, limits.warps,
                       percent(found.fraction));
}

/// Why a block does not run at all.
std::string refusal(const Kernel& kernel, const Occupancy& found) {
    const SmLimits& limits = kernel.limits;
    switch (found.limiter) {
        case OccupancyLimiter::registers:
            return fmt::format("a block may have at most {} registers, {} per thread",
                               limits.registers_per_block, limits.registers_per_thread);
        case OccupancyLimiter::shared:
            return "a block may have at most " + format_capacity(limits.shared_per_block) +
                   " of shared memory";
        default:
            return fmt::format("a block may have at most {} threads", limits.threads_per_block);
    }
}

/// What a block takes from an SM, by resource, and how many blocks that allows.
Table resources_table(const Kernel& kernel, const Occupancy& found) {
    const SmLimits& limits = kernel.limits;
    const BlockResources& block = kernel.block;
    const std::int64_t warps = (block.threads + limits.warp_size - 1) / limits.warp_size;
    Table table{.columns = {{"  resource"},
                            {"per block", Align::right},
                            {"per SM", Align::right},
                            {"blocks", Align::right},
                            {""}},
                .rows = {}};
    const auto add = [&](OccupancyLimiter resource, const std::string& one,
                         const std::string& all) {
        table.rows.push_back({"  " + std::string(name_of(resource)), one, all,
                              std::to_string(found.by[static_cast<std::size_t>(resource)]),
                              found.limiter == resource ? "limits" : ""});
    };
    add(OccupancyLimiter::threads, fmt::format("{} ({} warps)", block.threads, warps),
        fmt::format("{} ({} warps)", limits.threads, limits.warps));
    add(OccupancyLimiter::blocks, "1", std::to_string(limits.blocks));
    add(OccupancyLimiter::registers, std::to_string(warps * registers_of_warp(block, limits)),
        std::to_string(limits.registers));
    add(OccupancyLimiter::shared, format_capacity(shared_of_block(block, limits)),
        format_capacity(limits.shared));
    return table;
}

/// What one step down in registers or in shared memory gives.
std::vector<std::string> steps_text(const Kernel& kernel, const Occupancy& found) {
    std::vector<std::string> lines;
    BlockResources less = kernel.block;
    if (kernel.block.registers > 1) {
        --less.registers;
        const Occupancy then = occupancy(less, kernel.limits);
        const auto next = fewer_registers(kernel.block, kernel.limits);
        std::string text = fmt::format(
            "one register fewer ({}): {}", less.registers,
            then.blocks == found.blocks ? "no change" : resident_text(then, kernel.limits));
        if (next && *next != less.registers) {
            less.registers = *next;
            text += fmt::format("; {} or fewer: {}", *next,
                                resident_text(occupancy(less, kernel.limits), kernel.limits));
        } else if (!next && then.blocks == found.blocks) {
            text += "; fewer registers alone allow no further block";
        }
        lines.push_back(std::move(text));
    }
    less = kernel.block;
    if (const auto left = less_shared(kernel.block, kernel.limits)) {
        less.shared = *left;
        lines.push_back(fmt::format("shared memory of {} or less: {}", format_capacity(*left),
                                    resident_text(occupancy(less, kernel.limits), kernel.limits)));
    }
    return lines;
}

/// Block sizes from one warp to the largest, including the one that was asked about.
std::vector<std::int64_t> block_sizes(const Kernel& kernel) {
    std::vector<std::int64_t> sizes;
    const std::int64_t warp = kernel.limits.warp_size;
    for (const std::int64_t warps : {1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32}) {
        if (warps * warp <= kernel.limits.threads_per_block) sizes.push_back(warps * warp);
    }
    const auto at = std::lower_bound(sizes.begin(), sizes.end(), kernel.block.threads);
    if (kernel.block.threads <= kernel.limits.threads_per_block &&
        (at == sizes.end() || *at != kernel.block.threads)) {
        sizes.insert(at, kernel.block.threads);
    }
    return sizes;
}

/// A row for each block size; the text table marks the one that was asked about.
Rows size_rows(const Kernel& kernel) {
    Rows rows{.columns = {{"gpu", {}, Shown::never},
                          {"threads", "  threads"},
                          {"registers", {}, Shown::never},
                          {"shared_bytes", {}, Shown::never},
                          {"blocks_per_sm", "blocks"},
                          {"warps_per_sm", "warps"},
                          {"occupancy"},
                          {"limiter"}}};
    const auto count = [](std::int64_t value, const char* mark = "") {
        return Cell{mark + std::to_string(value), static_cast<double>(value)};
    };
    for (const std::int64_t threads : block_sizes(kernel)) {
        BlockResources block = kernel.block;
        block.threads = threads;
        const Occupancy found = occupancy(block, kernel.limits);
        rows.rows.push_back({{kernel.machine->name},
                             count(threads, threads == kernel.block.threads ? "> " : ""),
                             count(block.registers),
                             {{}, block.shared.base()},
                             count(found.blocks),
                             count(found.warps),
                             {percent(found.fraction), found.fraction},
                             {std::string(name_of(found.limiter))}});
    }
    return rows;
}

Json json_of(const Kernel& kernel) {
    const Occupancy found = occupancy(kernel.block, kernel.limits);
    Json json{{"gpu", kernel.machine->name},         {"threads", kernel.block.threads},
              {"registers", kernel.block.registers}, {"shared_bytes", kernel.block.shared.base()},
              {"blocks_per_sm", found.blocks},       {"warps_per_sm", found.warps},
              {"occupancy", found.fraction},         {"limiter", name_of(found.limiter)}};
    Json allowed = Json::object();
    for (std::size_t i = 0; i < found.by.size(); ++i) {
        allowed[name_of(static_cast<OccupancyLimiter>(i))] = found.by[i];
    }
    json["blocks_by_resource"] = std::move(allowed);
    if (const auto carveout = carveout_of(kernel.block, kernel.limits)) {
        json["shared_carveout_bytes"] = carveout->base();
    }
    if (const auto next = fewer_registers(kernel.block, kernel.limits)) {
        json["registers_for_more_blocks"] = *next;
    }
    if (const auto next = less_shared(kernel.block, kernel.limits)) {
        json["shared_bytes_for_more_blocks"] = next->base();
    }
    json["block_sizes"] = to_json(size_rows(kernel));
    return json;
}

void write_answer(const Context& context, const Kernel& kernel) {
    const SmLimits& limits = kernel.limits;
    const Occupancy found = occupancy(kernel.block, limits);
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << wrap(fmt::format("blocks of {} threads, {} registers per thread, {} of shared "
                                    "memory on {}",
                                    kernel.block.threads, kernel.block.registers,
                                    format_capacity(kernel.block.shared), kernel.machine->title),
                        width, 2)
                << '\n';
    if (found.blocks == 0) {
        write_line(context, "resident", "none: " + refusal(kernel, found));
    } else {
        write_line(context, "resident", resident_text(found, limits));
        write_line(context, "limiter", std::string(name_of(found.limiter)));
        write_line(context, "at a time",
                   fmt::format("{} blocks on {} SMs", found.blocks * kernel.machine->sm_count,
                               kernel.machine->sm_count));
        if (const auto carveout = carveout_of(kernel.block, limits)) {
            write_line(context, "carve-out",
                       format_capacity(*carveout) + " of the L1 used as shared memory");
        }
    }
    context.out << '\n';
    write_text(context.out, resources_table(kernel, found));
    const std::vector<std::string> steps = steps_text(kernel, found);
    if (!steps.empty()) context.out << '\n';
    for (const std::string& step : steps) {
        context.out << "  - " << wrap(step, width, 4, 4) << '\n';
    }
    context.out << '\n';
    write_rows(context, size_rows(kernel), Format::table);
}

int show(const Context& context, const OccupancyOptions& options) {
    Machines machines = options.gpu.machines(context);
    const Kernel kernel = kernel_of(options, machines);
    const Format format = parse_format(options.format);
    if (!options.chart.file.empty()) {
        write_chart_output(context, options.chart,
                           occupancy_charts(kernel.block, kernel.limits, kernel.machine->title));
    }
    if (format == Format::json) {
        write_document(context.out, "occupancy", json_of(kernel));
    } else if (format == Format::table) {
        write_answer(context, kernel);
    } else {
        write_rows(context, size_rows(kernel), format);
    }
    return success;
}

}  // namespace

Action build_occupancy(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<OccupancyOptions>(line);
    line.option("--threads", options->threads, "threads per block (required)").value("COUNT");
    line.option("--registers,--regs", options->registers, "registers per thread (default 32)")
        .value("COUNT");
    line.option("--shared,--smem", options->shared,
                "shared memory per block, static plus dynamic (default none)")
        .value("SIZE");
    line.option("--ptxas", options->ptxas,
                "a .cubin, executable or library, or the output of nvcc --ptxas-options=-v (- for "
                "standard input): its registers and static shared memory; --shared then adds the "
                "dynamic one")
        .value("FILE");
    line.option("--function", options->function, "with --ptxas: the kernel, if there are several")
        .value("NAME");
    line.option("-o,--output", options->chart.file,
                "draw warps over registers, shared memory and threads: .svg, .html, .png, .pdf")
        .value("FILE");
    add_format_option(line, options->format, "table|json|csv|md");
    line.footer(
        "`nvcc --ptxas-options=-v` prints a kernel's registers and static shared memory.\n"
        "The table of block sizes keeps registers and shared memory as they are.\n"
        "Example:\n"
        "  ridge occupancy --threads 256 --registers 64 --shared 48KiB --gpu a100");
    return [options](const Context& context) { return show(context, *options); };
}

}  // namespace ridge::cli
