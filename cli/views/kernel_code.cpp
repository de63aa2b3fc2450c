#include "cli/views/kernel_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/console/format.h"
#include "cli/console/percent.h"
#include "cli/console/table.h"
#include "hardware/units.h"
#include "kernel/causes/kernel_name.h"

namespace ridge::cli {
namespace {

constexpr double warp = 32.0;

std::string count(double value) {
    return format_number(value, 5);
}

void write_reading_line(const Context& context, std::string_view name, const std::string& text) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << "  " << wrap(fmt::format("{:<13} {}", name, text), width, 16, 2) << '\n';
}

std::string loops_text(const KernelReading& reading) {
    std::string text;
    for (const kernel::Loop& loop : reading.loops) {
        if (loop.is_wait) continue;
        text += (text.empty() ? "" : ", ") +
                fmt::format("{} of {} instructions {}", loop.name, loop.last - loop.first + 1,
                            loop.trips ? "x " + count(*loop.trips) : "x ? (--trips)");
    }
    return text;
}

std::string bytes_text(const kernel::CodeCounts& counts) {
    std::string text = fmt::format("global {} B read, {} B written", count(counts.global_loads),
                                   count(counts.global_stores));
    if (counts.copied > 0.0)
        text += fmt::format(" ({} B copied asynchronously)", count(counts.copied));
    text += fmt::format("; shared {} B", count(counts.shared));
    if (counts.spilled > 0.0) text += fmt::format("; spilled {} B", count(counts.spilled));
    if (counts.bulk_copies > 0.0) {
        text += fmt::format("; {} bulk copies of a block, whose size is not in the code",
                            count(counts.bulk_copies));
    }
    return text;
}

std::string widths_text(const kernel::CodeCounts& counts) {
    std::string text;
    for (const auto& [bytes, times] : counts.widths) {
        text += (text.empty() ? "" : ", ") + fmt::format("{} of {} B", count(times), count(bytes));
    }
    return text;
}

void write_code_pipes(const Context& context, const KernelReading& reading) {
    const kernel::CodeCounts& counts = reading.counts;
    Table table{.columns = {{"  pipe"}, {"of a warp", Align::right}, {"share", Align::right}},
                .rows = {}};
    for (std::size_t i = 0; i < kernel::code_pipe_count; ++i) {
        if (counts.issues.at(i) <= 0.0) continue;
        table.rows.push_back({"  " + std::string(name_of(static_cast<kernel::CodePipe>(i))),
                              count(counts.issues.at(i)),
                              percent(counts.issues.at(i) / counts.instructions)});
    }
    context.out << '\n';
    write_text(context.out, table);
}

void write_code_time(const Context& context, const KernelReading& reading) {
    const kernel::CodeTime& time = *reading.time;
    const std::string band = fmt::format("{} to {}", format(Time::from_base(time.low)),
                                         format(Time::from_base(time.high)));
    context.out << '\n';
    write_reading_line(context, "time",
                       fmt::format("{}{} ({})", time.is_lower_bound ? "at least " : "",
                                   format(Time::from_base(time.seconds)), band));
    write_reading_line(
        context, "evidence",
        fmt::format("{}: laws and the pipes of this GPU; this kernel was not measured",
                    name_of(time.evidence.grade())));
    if (!time.terms.empty()) write_reading_line(context, "limited by", time.terms.front().name);
    write_reading_line(
        context, "warps",
        fmt::format("{} of a multiprocessor are resident; hiding the chain takes {} of each "
                    "scheduler",
                    count(time.resident_warps), format_number(time.needed_warps, 3)));
    for (const kernel::CodeTerm& term : time.terms) {
        write_reading_line(
            context, "",
            fmt::format("{:<22} {}", term.name, format(Time::from_base(term.seconds))));
    }
    if (!reading.launch->dram_bytes) {
        write_reading_line(context, "note",
                           "the bytes of DRAM are not in the code: give --dram-bytes");
    }
}

}  // namespace

void write_reading(const Context& context, const KernelReading& reading,
                   const kernel::Roofs& roofs) {
    const kernel::CodeCounts& counts = reading.counts;
    context.out << printable(kernel::short_kernel_name(reading.name)) << " in "
                << printable(reading.file) << " on " << reading.machine << '\n';
    write_reading_line(
        context, "code",
        fmt::format("{} instructions, {} registers; a warp executes {}", reading.instructions,
                    reading.registers, count(counts.instructions)));
    if (const std::string loops = loops_text(reading); !loops.empty()) {
        write_reading_line(context, "loops", loops);
    }
    const double flop = counts.flop + counts.flop64;
    write_reading_line(context, "work",
                       fmt::format("of a thread: {} FLOP; of a warp on the tensor cores: {} FLOP",
                                   count(flop), count(counts.tensor_flop)));
    write_reading_line(context, "bytes", "of a thread: " + bytes_text(counts));
    const double global = counts.global_loads + counts.global_stores;
    if (global > 0.0) {
        write_reading_line(context, "intensity",
                           format_number((warp * flop + counts.tensor_flop) / (warp * global), 3) +
                               " FLOP per byte asked for");
        write_reading_line(context, "accesses", widths_text(counts));
    }
    write_reading_line(context, "chain",
                       fmt::format("{} cycles of a warp alone ({})", count(counts.chain),
                                   format(Time::from_base(counts.chain / roofs.clock))));
    if (counts.barriers > 0.0) write_reading_line(context, "barriers", count(counts.barriers));
    if (counts.atomics > 0.0) write_reading_line(context, "atomics", count(counts.atomics));
    write_code_pipes(context, reading);
    if (reading.time) write_code_time(context, reading);
    if (!reading.has_control) {
        write_reading_line(context, "note",
                           "no encodings: every stall counts as one cycle (nvdisasm -hex)");
    }
    for (const std::string& loop : counts.symbolic) {
        write_reading_line(context, "note", "loop " + loop + " is counted once: give its trips");
    }
    for (const std::string& opcode : counts.unknown) {
        write_reading_line(context, "not modelled", "the opcode " + printable(opcode));
    }
    if (counts.has_predicates) {
        write_reading_line(context, "note", "predicated instructions count as executed");
    }
}

Rows rows_of(const KernelReading& reading) {
    Rows rows{.columns = {{"kernel"}, {"figure"}, {"value"}, {"evidence"}}, .rows = {}};
    const auto add = [&](std::string name, double value, std::string_view evidence = "") {
        rows.rows.push_back(
            {{reading.name}, {std::move(name)}, {count(value), value}, {std::string(evidence)}});
    };
    const kernel::CodeCounts& counts = reading.counts;
    add("instructions_of_warp", counts.instructions);
    for (std::size_t i = 0; i < kernel::code_pipe_count; ++i) {
        if (counts.issues.at(i) <= 0.0) continue;
        add("pipe " + std::string(name_of(static_cast<kernel::CodePipe>(i))), counts.issues.at(i));
    }
    add("flop_of_thread", counts.flop + counts.flop64);
    add("tensor_flop_of_warp", counts.tensor_flop);
    add("global_read_bytes_of_thread", counts.global_loads);
    add("global_written_bytes_of_thread", counts.global_stores);
    add("shared_bytes_of_thread", counts.shared);
    add("spilled_bytes_of_thread", counts.spilled);
    add("chain_cycles", counts.chain);
    if (reading.time) {
        const std::string_view grade = name_of(reading.time->evidence.grade());
        add("time_us", reading.time->seconds * 1e6, grade);
        add("low_us", reading.time->low * 1e6, grade);
        add("high_us", reading.time->high * 1e6, grade);
    }
    return rows;
}

Json to_json(const KernelReading& reading) {
    const kernel::CodeCounts& counts = reading.counts;
    Json pipes = Json::object();
    for (std::size_t i = 0; i < kernel::code_pipe_count; ++i) {
        pipes[name_of(static_cast<kernel::CodePipe>(i))] = counts.issues.at(i);
    }
    Json loops = Json::array();
    for (const kernel::Loop& loop : reading.loops) {
        if (loop.is_wait) continue;
        Json item{{"name", loop.name}, {"instructions", loop.last - loop.first + 1}};
        if (loop.trips) item["trips"] = *loop.trips;
        loops.push_back(std::move(item));
    }
    Json json{
        {"kernel", reading.name},
        {"gpu", reading.machine},
        {"instructions_of_warp", counts.instructions},
        {"pipes_of_warp", std::move(pipes)},
        {"loops", std::move(loops)},
        {"registers", reading.registers},
        {"flop_of_thread", counts.flop + counts.flop64},
        {"tensor_flop_of_warp", counts.tensor_flop},
        {"global_read_bytes_of_thread", counts.global_loads},
        {"global_written_bytes_of_thread", counts.global_stores},
        {"shared_bytes_of_thread", counts.shared},
        {"spilled_bytes_of_thread", counts.spilled},
        {"chain_cycles", counts.chain},
        {"exact", counts.symbolic.empty() && counts.unknown.empty() && !counts.has_predicates},
        {"not_modelled", counts.unknown}};
    if (reading.time) {
        const double warps = static_cast<double>(reading.launch->blocks) *
                             static_cast<double>((reading.launch->threads + 31) / 32);
        json["flop"] = warps * (warp * (counts.flop + counts.flop64) + counts.tensor_flop);
        json["global_bytes"] = warps * warp * (counts.global_loads + counts.global_stores);
        json["time_us"] = reading.time->seconds * 1e6;
        json["low_us"] = reading.time->low * 1e6;
        json["high_us"] = reading.time->high * 1e6;
        json["lower_bound"] = reading.time->is_lower_bound;
        json["evidence"] = name_of(reading.time->evidence.grade());
        json["limiter"] = reading.time->terms.empty() ? "" : reading.time->terms.front().name;
    }
    return json;
}

}  // namespace ridge::cli
