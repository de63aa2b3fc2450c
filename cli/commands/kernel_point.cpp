// `ridge predict kernel`: a kernel known by its FLOP, bytes and launch, without machine code.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/console/format.h"
#include "cli/console/json_document.h"
#include "cli/console/percent.h"
#include "cli/console/rows.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "kernel/causes/point.h"

namespace ridge::cli {
namespace {

using kernel::KernelPoint;
using kernel::PointAnswer;
using kernel::PointTerm;

struct PointOptions {
    explicit PointOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::string operation;
    std::string flop, dtype = "fp32", pipe = "vector", bytes, l2_bytes, grid, block = "256",
                      registers, shared, time, format;
};

double size_of(const std::string& text, std::string_view field) {
    return text.empty() ? 0.0 : static_cast<double>(parse_count(text, field, CountUnit::bytes));
}

KernelPoint point_of(const PointOptions& options) {
    KernelPoint point;
    if (!options.flop.empty()) {
        point.flop = static_cast<double>(parse_count(options.flop, "flop"));
    }
    point.type = model::parse_data_type(options.dtype, "dtype");
    if (options.pipe != "tensor" && options.pipe != "vector") {
        throw InputError("pipe: tensor or vector");
    }
    point.pipe = options.pipe == "tensor" ? kernel::PointPipe::tensor : kernel::PointPipe::vector;
    point.dram_bytes = size_of(options.bytes, "bytes");
    point.l2_bytes = size_of(options.l2_bytes, "l2-bytes");
    if (!options.grid.empty()) point.blocks = parse_count(options.grid, "grid");
    point.threads = parse_count(options.block, "block");
    constexpr std::int64_t most_threads = 1024;
    constexpr std::int64_t most_registers = 255;
    if (point.threads < 1 || point.threads > most_threads) throw InputError("block: 1 to 1024");
    if (!options.registers.empty()) {
        point.registers = parse_count(options.registers, "registers");
        if (point.registers > most_registers) throw InputError("registers: at most 255");
    }
    if (!options.shared.empty()) {
        point.shared_bytes = parse_count(options.shared, "shared", CountUnit::bytes);
    }
    if (!options.time.empty()) {
        point.measured = parse_quantity<Time>(options.time).base();
        if (*point.measured <= 0.0) throw InputError("time: more than 0");
    }
    return point;
}

std::string time_text(double seconds) {
    return format(Time::from_base(seconds));
}

Json json_of(const PointAnswer& answer, const model::Machine& machine) {
    const auto list = [](const std::vector<PointTerm>& terms) {
        Json items = Json::array();
        for (const PointTerm& term : terms) {
            items.push_back({{"name", term.name}, {"time_us", term.seconds * 1e6}});
        }
        return items;
    };
    Json json{{"op", "kernel"},
              {"gpu", machine.name},
              {"time_us", answer.seconds * 1e6},
              {"low_us", answer.low * 1e6},
              {"high_us", answer.high * 1e6},
              {"lower_bound_us", answer.roofline * 1e6},
              {"bound", answer.bound},
              {"limiter", answer.limiter},
              {"evidence", "roofline"},
              {"terms", list(answer.terms)}};
    if (answer.waves > 0.0) {
        json["waves"] = answer.waves;
        json["wave_fill"] = answer.wave_fill;
        json["warps_per_sm"] = answer.residency.from_grid;
    }
    if (!answer.gap.empty()) json["gap"] = list(answer.gap);
    return json;
}

Rows rows_of(const PointAnswer& answer, const model::Machine& machine) {
    Rows rows{
        .columns = {{"op"}, {"gpu"}, {"time_us"}, {"low_us"}, {"high_us"}, {"bound"}, {"limiter"}},
        .rows = {}};
    const auto number = [](double seconds) {
        return Cell{format_number(seconds * 1e6, 4), seconds * 1e6};
    };
    rows.rows.push_back({{"kernel"},
                         {machine.name},
                         number(answer.seconds),
                         number(answer.low),
                         number(answer.high),
                         {answer.bound},
                         {answer.limiter}});
    return rows;
}

void write_point(const Context& context, const KernelPoint& point, const PointAnswer& answer,
                 const model::Machine& machine) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    const auto line = [&](std::string_view name, const std::string& text) {
        context.out << "  " << wrap(fmt::format("{:<13} {}", name, text), width, 16, 2) << '\n';
    };
    context.out << "kernel on " << machine.title << '\n';
    line("time", fmt::format("{}   (from its roofline: {} to {})", time_text(answer.seconds),
                             time_text(answer.low), time_text(answer.high)));
    line("bound", answer.bound + "; limited by " + answer.limiter);
    line("lower bound", time_text(answer.roofline) + " (roofline at datasheet rates)");
    if (point.flop > 0.0 && point.dram_bytes > 0.0) {
        line("intensity", format_number(point.flop / point.dram_bytes, 4) + " FLOP/B of DRAM");
    }
    if (answer.waves > 0.0) {
        line("occupancy", fmt::format("{} warps a multiprocessor, limited by {}",
                                      format_number(answer.residency.from_grid, 3),
                                      name_of(answer.residency.limiter)));
        line("waves", fmt::format("{} ({} full)", format_number(answer.waves, 3),
                                  percent(answer.wave_fill)));
    }
    for (const PointTerm& term : answer.terms) {
        line("", fmt::format("{:<14} {}", term.name, time_text(term.seconds)));
    }
    if (answer.gap.empty()) return;
    context.out << "\n  measured " << time_text(*point.measured) << ", of which\n";
    for (const PointTerm& part : answer.gap) {
        line("", fmt::format("{:<38} {} ({})", part.name, time_text(part.seconds),
                             percent(part.seconds / *point.measured)));
    }
}

int predict_kernel(const Context& context, const PointOptions& options) {
    Machines machines = options.gpu.machines(context);
    const model::Machine& machine = machines.at(options.gpu.name());
    const auto roofs = kernel::roofs_of(machine);
    if (!roofs) {
        throw InputError(
            machine.name + ": the pipes of this GPU are not described", {},
            "kernels are predicted for NVIDIA GPUs of compute capability 8.0 and later");
    }
    const KernelPoint point = point_of(options);
    const PointAnswer answer = answer_for(point, machine, *roofs);
    const Format format = parse_format(options.format);
    if (format == Format::json) {
        write_document(context.out, "kernel-point", json_of(answer, machine));
    } else if (format == Format::table) {
        write_point(context, point, answer, machine);
    } else {
        write_rows(context, rows_of(answer, machine), format);
    }
    return success;
}

}  // namespace

Action build_kernel_point(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<PointOptions>(line);
    line.positional("op", options->operation, "kernel").value("OP");
    line.option("--flop", options->flop, "FLOP of the launch").value("COUNT");
    line.option("--dtype", options->dtype, "their type (default fp32)").value("TYPE");
    line.option("--pipe", options->pipe, "tensor or vector (default vector)").value("PIPE");
    line.option("--bytes", options->bytes, "bytes from and to DRAM").value("SIZE");
    line.option("--l2-bytes", options->l2_bytes, "bytes between L2 and multiprocessors")
        .value("SIZE");
    line.option("--grid", options->grid, "blocks").value("COUNT");
    line.option("--block", options->block, "threads of a block (default 256)").value("COUNT");
    line.option("--registers,--regs", options->registers, "of a thread").value("COUNT");
    line.option("--shared,--smem", options->shared, "shared memory of a block").value("SIZE");
    line.option("--time", options->time, "a measured time: where the difference may come from")
        .value("TIME");
    add_format_option(line, options->format, "table|json|csv|md");
    line.footer(
        "Example:\n"
        "  ridge predict kernel --flop 137e9 --dtype bf16 --pipe tensor --bytes 101MB \\\n"
        "      --l2-bytes 1.6GB --grid 512 --block 256 --registers 168 --shared 200KiB \\\n"
        "      --time 240us --gpu h100-sxm");
    return [options](const Context& context) { return predict_kernel(context, *options); };
}

}  // namespace ridge::cli
