// `ridge kernel FILE`: what the machine code of a kernel says, before it runs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/kernel_measure.h"
#include "cli/console/json_document.h"
#include "cli/console/rows.h"
#include "cli/input/kernel_launch.h"
#include "cli/input/machine_code.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/kernel_code.h"
#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/nearest.h"
#include "hardware/units.h"
#include "kernel/causes/kernel_name.h"
#include "kernel/code/code_model.h"

namespace ridge::cli {
namespace {

struct KernelOptions {
    explicit KernelOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::string file;
    std::string function;
    std::string grid;
    std::string block;
    std::string trips;
    std::string args;
    std::string registers;
    std::string shared;
    std::string dram;
    std::string format;
    std::string page;
    std::int64_t launches = 0;
    bool measure = false;
};

const kernel::Function& chosen(const std::vector<kernel::Function>& all, const std::string& name) {
    if (name.empty() && all.size() == 1) return all.front();
    std::vector<std::string> names;
    for (const kernel::Function& each : all) {
        if (each.name == name) return each;
        names.push_back(each.name);
    }
    std::string list;
    constexpr std::size_t most = 8;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
        list += (i > 0 ? ", " : "") + names[i];
    }
    if (names.size() > most) list += ", ...";
    throw InputError(name.empty() ? "function: the file has " + std::to_string(all.size()) +
                                        " kernels; name one with --function"
                                  : "function: no kernel '" + name + "'",
                     {}, "there are " + list);
}

/// Highest register that the code names, plus one.
std::int64_t registers_of(const kernel::Function& function) {
    std::int64_t most = 0;
    for (const kernel::Instruction& each : function.code) {
        const std::string& text = each.operands;
        for (std::size_t i = 0; i + 1 < text.size(); ++i) {
            const bool starts =
                text[i] == 'R' &&
                (i == 0 || (text[i - 1] != 'U' && text[i - 1] != 'Z' && text[i - 1] != '_'));
            if (!starts) continue;
            std::int64_t number = -1;
            for (std::size_t at = i + 1; at < text.size() && at < i + 4; ++at) {
                if (text[at] < '0' || text[at] > '9') break;
                number = std::max<std::int64_t>(0, number) * 10 + (text[at] - '0');
            }
            most = std::max(most, number + 1);
        }
    }
    return std::min<std::int64_t>(most, 255);
}

/// What the options leave open, from the binary and from Triton.
struct KnownLaunch {
    std::array<std::int64_t, 3> grid{};
    std::array<std::int64_t, 3> block{};
    std::int64_t registers = 0;
    std::int64_t shared_bytes = 0;
};

KnownLaunch known_launch(const KernelOptions& options, const kernel::Function& function,
                         const kernel::CubinKernel* binary) {
    const std::optional<TritonMetadata> triton = triton_metadata(options.file);
    KnownLaunch known;
    if (!options.grid.empty()) known.grid = sizes_of(options.grid, "grid");
    if (!options.block.empty()) {
        known.block = sizes_of(options.block, "block");
    } else if (triton && triton->threads > 0) {
        known.block = {triton->threads, 1, 1};
    } else if (binary != nullptr && binary->threads > 0) {
        known.block = {binary->threads, 1, 1};
    }
    known.registers = registers_of(function);
    if (binary != nullptr && binary->registers > 0) known.registers = binary->registers;
    if (!options.registers.empty()) known.registers = parse_count(options.registers, "registers");
    if (binary != nullptr) known.shared_bytes = binary->shared_bytes;
    if (triton) known.shared_bytes = std::max(known.shared_bytes, triton->shared_bytes);
    if (!options.shared.empty()) {
        known.shared_bytes = parse_count(options.shared, "shared", CountUnit::bytes);
    }
    return known;
}

std::optional<kernel::CodeLaunch> launch_of(const KernelOptions& options,
                                            const KnownLaunch& known) {
    if (options.grid.empty()) {
        if (!options.block.empty()) {
            throw InputError("grid is missing", {}, "--grid 512 --block 256");
        }
        return std::nullopt;
    }
    if (known.block[0] < 1) throw InputError("block is missing", {}, "--grid 512 --block 256");
    kernel::CodeLaunch launch{.blocks = known.grid[0] * known.grid[1] * known.grid[2],
                              .threads = known.block[0] * known.block[1] * known.block[2],
                              .registers = known.registers,
                              .shared_bytes = known.shared_bytes};
    constexpr std::int64_t most_threads = 1024;
    if (launch.threads > most_threads) throw InputError("block: at most 1024 threads");
    if (!options.dram.empty()) {
        launch.dram_bytes =
            static_cast<double>(parse_count(options.dram, "dram-bytes", CountUnit::bytes));
    }
    return launch;
}

const kernel::CubinKernel* binary_of(const MachineCode& code, const std::string& name) {
    for (const kernel::CubinKernel& each : code.kernels) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

/// Follows the code if the launch is known; sets the trips of the loops.
std::optional<kernel::Walk> walk_of(const KernelOptions& options, const kernel::Function& function,
                                    const KnownLaunch& known, const kernel::CubinKernel* binary,
                                    std::vector<kernel::Loop>& loops) {
    if (options.args.empty()) return std::nullopt;
    if (options.grid.empty() || known.block[0] < 1) {
        throw InputError("args: they need the launch", {}, "--grid 512 --block 256");
    }
    if (binary == nullptr || binary->parameters.empty()) {
        throw InputError("args: where the arguments lie is not known", {},
                         "it is for a .cubin and for PTX; give --trips for other files");
    }
    const kernel::WalkInput input{
        .constants = constants_of(*binary, options.args, known.grid, known.block),
        .grid = known.grid,
        .block = known.block};
    kernel::Walk walk = kernel::walk_code(function, input, loops);
    if (!walk.is_complete) return std::nullopt;
    kernel::set_trips(loops, walk);
    return walk;
}

KernelRun run_of(const KernelOptions& options) {
    KernelRun run{.file = options.file,
                  .function = options.function,
                  .args = options.args,
                  .grid = options.grid,
                  .block = options.block,
                  .shared = options.shared,
                  .page = options.page};
    if (options.gpu.given()) run.passed_on = {"--gpu", options.gpu.name()};
    if (!options.format.empty())
        run.passed_on.insert(run.passed_on.end(), {"--format", options.format});
    return run;
}

int read_kernel(const Context& context, const KernelOptions& options) {
    if (options.file.empty()) throw InputError("FILE is missing", {}, "ridge kernel matmul.cubin");
    if (options.launches > 0) return launch_kernel(run_of(options), options.launches);
    if (options.measure) return measure_kernel(context, run_of(options));
    if (!options.page.empty()) throw InputError("page: it is for --measure");
    Machines machines = options.gpu.machines(context);
    const model::Machine& machine = machines.at(options.gpu.name());
    const auto roofs = kernel::roofs_of(machine);
    if (!roofs) {
        throw InputError(
            machine.name + ": the pipes of this GPU are not described", {},
            "machine code is read for NVIDIA GPUs of compute capability 8.0 and later");
    }
    const MachineCode code =
        read_machine_code(options.file, "sm_" + std::to_string(machine.compute_capability));
    const std::vector<kernel::Function> all = kernel::parse_sass(code.text, options.file);
    const kernel::Function& function = chosen(all, options.function);
    KernelReading reading{.name = function.name,
                          .file = options.file,
                          .machine = machine.title,
                          .instructions = function.code.size(),
                          .has_control = function.has_control,
                          .loops = kernel::loops_of(function)};
    kernel::set_trips(reading.loops, options.trips);
    const kernel::CubinKernel* const binary = binary_of(code, function.name);
    const KnownLaunch known = known_launch(options, function, binary);
    reading.registers = known.registers;
    const auto walk = walk_of(options, function, known, binary, reading.loops);
    reading.counts = kernel::count_code(function, reading.loops, *roofs, walk ? &*walk : nullptr);
    reading.launch = launch_of(options, known);
    if (reading.launch) {
        reading.time = kernel::time_of_code(reading.counts, *reading.launch, *roofs, machine);
    }
    const Format format = parse_format(options.format);
    if (format == Format::json) {
        write_document(context.out, "kernel", to_json(reading));
    } else if (format == Format::table) {
        write_reading(context, reading, *roofs);
    } else {
        write_rows(context, rows_of(reading), format);
    }
    return success;
}

void add_measure_options(CommandLine& line, KernelOptions& options) {
    line.flag("--measure", options.measure,
              "launch it on the GPU here, count, and say why it takes as long as it does; FILE is "
              "a .cubin, and a pointer of --args is a buffer of 256 MiB (_) or of a size (64MB)")
        .group("On a GPU");
    line.option("--page", options.page, "with --measure: the report as a page (.html)")
        .value("FILE")
        .group("On a GPU");
    line.option("--launch", options.launches, "launch it so often, and nothing else")
        .value("COUNT")
        .group("On a GPU");
}

}  // namespace

Action build_kernel(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<KernelOptions>(line);
    line.positional("file", options->file,
                    "a .cubin, an executable, PTX, or the text of nvdisasm -hex or cuobjdump -sass")
        .value("FILE");
    line.option("--function", options->function, "the kernel, if the file has several")
        .value("NAME");
    line.option("--trips", options->trips,
                "how often the loops run, in their order or by name: 64,8 or L2=8")
        .value("COUNTS");
    line.option("--args", options->args,
                "the kernel's arguments, _ for pointers: _,_,_,4096,4096,64; the loops run as "
                "they say")
        .value("LIST");
    line.option("--grid", options->grid, "blocks, for a time: 512 or 16x32").value("BLOCKS");
    line.option("--block", options->block,
                "threads of a block: 256 or 32x8 (default: those that Triton or the code names)")
        .value("THREADS");
    line.option("--registers,--regs", options->registers,
                "of a thread (default: those that the code names)")
        .value("COUNT");
    line.option("--shared,--smem", options->shared,
                "shared memory of a block (default: that of Triton, or what the code declares)")
        .value("SIZE");
    line.option("--dram-bytes", options->dram, "bytes that the launch must move from and to DRAM")
        .value("SIZE");
    add_format_option(line, options->format, "table|json|csv|md");
    add_measure_options(line, *options);
    line.footer(
        "Examples:\n"
        "  ridge kernel matmul.cubin --gpu h100-sxm --trips 64\n"
        "  ridge kernel cache/matmul.cubin --grid 1024 \\\n"
        "      --args _,_,_,4096,4096,4096,4096,4096,4096 --dram-bytes 101MB\n"
        "  ridge kernel a.out --function _Z4copyPf --grid 1056 --block 256 \\\n"
        "      --dram-bytes 537MB\n"
        "  ridge kernel add.cubin --measure --grid 65536 --block 256 \\\n"
        "      --args 64MB,64MB,64MB,16777216\n"
        "Files other than text need nvdisasm or cuobjdump (CUDA Toolkit, or\n"
        "pip install nvidia-cuda-nvdisasm nvidia-cuda-cuobjdump). See docs/kernel.md.");
    return [options](const Context& context) { return read_kernel(context, *options); };
}

}  // namespace ridge::cli
