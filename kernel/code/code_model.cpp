#include "kernel/code/code_model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "hardware/units.h"
#include "kernel/causes/counted.h"
#include "kernel/causes/latency.h"

namespace ridge::kernel {
namespace {

constexpr double warp = 32.0;
constexpr std::string_view dram_term = "DRAM";
constexpr std::string_view l2_term = "bytes from L2";

std::size_t place_of(CodePipe pipe) {
    return static_cast<std::size_t>(pipe);
}

class Counter {
  public:
    Counter(const Function& function, const std::vector<Loop>& loops, const Roofs& roofs,
            const Walk* walk)
        : function_(function), loops_(loops), roofs_(roofs), walk_(walk) {}

    CodeCounts count() {
        for (std::size_t i = 0; i < function_.code.size(); ++i) {
            const double times = walk_ != nullptr ? walk_->issued.at(i) : times_of(i);
            if (times <= 0.0) continue;
            add(function_.code[i], times, walk_ != nullptr ? walk_->active.at(i) : times);
        }
        if (walk_ != nullptr) counts_.has_predicates = walk_->has_unknown_guards;
        counts_.unknown.assign(unknown_.begin(), unknown_.end());
        for (const Loop& loop : loops_) {
            if (!loop.is_wait && !loop.trips) counts_.symbolic.push_back(loop.name);
        }
        counts_.chain = chain_of(0, function_.code.size(), 0);
        return counts_;
    }

  private:
    [[nodiscard]] double times_of(std::size_t place) const {
        double times = 1.0;
        for (const Loop& loop : loops_) times *= loop.holds(place) ? loop.times() : 1.0;
        return times;
    }

    /// (eq. KM1, KM2) `active` of the times its predicate was on.
    void add(const Instruction& instruction, double issued, double active) {
        const Meaning meaning = meaning_of(instruction);
        add_issue(instruction, meaning, issued);
        add_work(instruction, meaning, active);
    }

    void add_issue(const Instruction& instruction, const Meaning& meaning, double times) {
        counts_.instructions += times;
        counts_.issues.at(place_of(meaning.pipe)) += meaning.issues * times;
        if (meaning.pipe == CodePipe::unknown) unknown_.insert(std::string(instruction.base()));
    }

    void add_work(const Instruction& instruction, const Meaning& meaning, double times) {
        (meaning.has_flop_type_double ? counts_.flop64 : counts_.flop) += meaning.flop * times;
        counts_.tensor_flop += meaning.tensor_flop * times;
        if (!instruction.base().ends_with("GMMA")) {
            counts_.mma_flop += meaning.tensor_flop * times;
        }
        if (meaning.is_barrier) counts_.barriers += times;
        if (meaning.is_atomic) counts_.atomics += times;
        if (meaning.pipe == CodePipe::copy_engine) counts_.bulk_copies += times;
        const double bytes = meaning.bytes * times;
        if (meaning.is_copy) counts_.copied += bytes;
        if (meaning.space == Space::shared || meaning.is_copy) counts_.shared += bytes;
        if (meaning.space == Space::local) counts_.spilled += bytes;
        if (meaning.space == Space::global) {
            (meaning.is_store ? counts_.global_stores : counts_.global_loads) += bytes;
            counts_.widths[meaning.bytes] += times;
        }
        const bool works = meaning.flop > 0.0 || meaning.space != Space::none;
        if (works && !instruction.predicate.empty()) counts_.has_predicates = true;
    }

    [[nodiscard]] double delay_of(Delay delay) const {
        // Latencies on the chip: of L1 and shared memory as measured on GH100 (RRZE gpu-latency),
        // the others from ptxas's own fixed latencies of the same units.
        constexpr double on_chip = 33.0;
        constexpr double special = 24.0;
        constexpr double tensor = 33.0;
        switch (delay) {
            case Delay::global:
                return roofs_.idle_latency * roofs_.clock;
            case Delay::shared:
            case Delay::constant:
                return on_chip;
            case Delay::special:
                return special;
            case Delay::tensor:
                return tensor;
            case Delay::fixed:
                break;
        }
        return 0.0;
    }

    /// The widest loop within [begin, end) that begins at `place`, apart from that around it.
    [[nodiscard]] const Loop* loop_at(std::size_t place, std::size_t begin, std::size_t end) const {
        const Loop* widest = nullptr;
        for (const Loop& loop : loops_) {
            const bool whole = loop.first == begin && loop.last + 1 == end;
            if (loop.first != place || loop.last >= end || whole) continue;
            if (widest == nullptr || loop.last > widest->last) widest = &loop;
        }
        return widest;
    }

    /// Cycles from the first to the last instruction. (eq. KM4)
    double chain_of(std::size_t begin, std::size_t end, int depth) {
        constexpr int deepest = 6;  // every level walks its body twice
        double now = 0.0;
        for (std::size_t i = begin; i < end;) {
            const Loop* const loop = depth < deepest ? loop_at(i, begin, end) : nullptr;
            if (loop != nullptr) {
                // The second round finds the scoreboards as every later one does.
                const double first = chain_of(loop->first, loop->last + 1, depth + 1);
                const double later = chain_of(loop->first, loop->last + 1, depth + 1);
                const double times = loop->times();
                now += times < 1.0 ? 0.0 : first + (times - 1.0) * later;
                i = loop->last + 1;
                continue;
            }
            now = issue(function_.code[i], now);
            ++i;
        }
        for (double& time : ready_) time = std::max(0.0, time - now);
        return now;
    }

    double issue(const Instruction& instruction, double now) {
        for (unsigned board = 0; board < ready_.size(); ++board) {
            if ((instruction.waits >> board & 1U) != 0) now = std::max(now, ready_.at(board));
        }
        const double delay = delay_of(meaning_of(instruction).delay);
        if (instruction.sets && *instruction.sets < ready_.size()) {
            ready_.at(*instruction.sets) = now + std::max(delay, 1.0);
        }
        return now + static_cast<double>(instruction.stall);
    }

    const Function& function_;
    const std::vector<Loop>& loops_;
    const Roofs& roofs_;
    const Walk* walk_;
    CodeCounts counts_;
    std::set<std::string> unknown_;
    std::array<double, 6> ready_{};  ///< when each scoreboard is released
};

double lanes_of(CodePipe pipe, const Roofs& roofs) {
    switch (pipe) {
        case CodePipe::fma:
            return roofs.lanes.fma;
        case CodePipe::alu:
            return roofs.lanes.alu;
        case CodePipe::fp64:
            return roofs.lanes.fp64;
        case CodePipe::xu:
            return roofs.lanes.xu;
        case CodePipe::lsu:
            return roofs.lanes.lsu;
        default:
            return 0.0;
    }
}

double norm(const std::vector<double>& values, double sharpness) {
    double sum = 0.0;
    for (const double value : values) sum += std::pow(value, sharpness);
    return std::pow(sum, 1.0 / sharpness);
}

/// The work of the multiprocessors overlaps the better the more warps a scheduler has; memory
/// overlaps with it nearly fully. (eq. KM6)
void overlap(CodeTime& time, const Roofs& roofs) {
    constexpr double sharpest = 4.0;
    constexpr double bluntest = 1.5;
    const double warps = time.resident_warps / roofs.schedulers;
    std::vector<double> executed;
    std::vector<double> all;
    for (const CodeTerm& term : time.terms) {
        const bool memory = term.name == dram_term || term.name == l2_term;
        (memory ? all : executed).push_back(term.seconds);
    }
    all.push_back(norm(executed, std::clamp(1.0 + warps / 2.0, bluntest, sharpest)));
    const double longest = time.terms.empty() ? 0.0 : time.terms.front().seconds;
    const double second = time.terms.size() > 1 ? time.terms[1].seconds : 0.0;
    time.seconds = roofs.kernel_floor + norm(all, sharpest);
    // A band that held eight kernels of Triton on an H100.
    constexpr double below = 0.88;
    constexpr double above = 1.15;
    time.low = roofs.kernel_floor + below * longest;
    time.high = std::max(above * time.seconds, roofs.kernel_floor + longest + second);
}

}  // namespace

CodeCounts count_code(const Function& function, const std::vector<Loop>& loops, const Roofs& roofs,
                      const Walk* walk) {
    return Counter(function, loops, roofs, walk).count();
}

CodeTime time_of_code(const CodeCounts& counts, const CodeLaunch& launch, const Roofs& roofs,
                      const model::Machine& machine) {
    CodeTime time;
    const double warps_of_block = std::ceil(static_cast<double>(launch.threads) / warp);
    const double warps = static_cast<double>(launch.blocks) * warps_of_block;
    const double cycles = roofs.multiprocessors * roofs.clock;
    const auto add = [&time](std::string name, double seconds) {
        if (seconds > 0.0) time.terms.push_back({std::move(name), seconds});
    };
    for (std::size_t i = 0; i < code_pipe_count; ++i) {
        const auto pipe = static_cast<CodePipe>(i);
        const double lanes = lanes_of(pipe, roofs);
        if (lanes > 0.0) {
            add(std::string(name_of(pipe)), warps * counts.issues.at(i) * warp / (lanes * cycles));
        }
    }
    add("instruction issue", warps * counts.instructions / (roofs.schedulers * cycles));
    if (const auto peak = machine.tensor_peak(model::DataType::fp16); peak && *peak > FlopRate{}) {
        const double by_groups = counts.tensor_flop - counts.mma_flop;
        add("tensor", warps * (by_groups + counts.mma_flop / roofs.lanes.mma_share) / peak->base());
    }
    const double global = counts.global_loads + counts.global_stores;
    add(std::string(l2_term), warps * warp * global / roofs.l2_bytes_per_s);
    add("shared memory", warps * warp * counts.shared / (roofs.line_bytes * cycles));
    if (launch.dram_bytes) {
        const double share = global > 0.0 ? counts.global_stores / global : 0.0;
        add(std::string(dram_term),
            roofs.dram_seconds(*launch.dram_bytes * (1.0 - share), *launch.dram_bytes * share));
    }
    Counted resident;
    resident.grid = {launch.blocks, 1, 1};
    resident.block = {launch.threads, 1, 1};
    resident.registers = std::max<std::int64_t>(1, launch.registers);
    resident.shared_bytes = launch.shared_bytes;
    const Residency residency = residency_of(resident, roofs);
    time.resident_warps = residency.is_known ? residency.from_grid : roofs.warps;
    const double blocks = std::max(1.0, std::floor(residency.possible / warps_of_block));
    const double rounds =
        std::ceil(static_cast<double>(launch.blocks) / (roofs.multiprocessors * blocks));
    add("chain of a warp", rounds * counts.chain / roofs.clock);
    const double busy = std::max(1.0, counts.instructions);
    time.needed_warps = std::max(1.0, counts.chain / busy);
    std::stable_sort(time.terms.begin(), time.terms.end(),
                     [](const CodeTerm& a, const CodeTerm& b) { return a.seconds > b.seconds; });
    overlap(time, roofs);
    time.is_lower_bound = !launch.dram_bytes || !counts.symbolic.empty() || !counts.unknown.empty();
    time.evidence = {
        .chip = machine.memory ? machine.memory->streams : model::ChipEvidence::datasheet,
        .shape = model::ShapeEvidence::inside,
        .kernel = model::KernelEvidence::other};
    return time;
}

}  // namespace ridge::kernel
