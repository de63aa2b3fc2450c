#include "kernel/causes/loads.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/error.h"

namespace ridge::kernel {
namespace {

constexpr double sector = 32.0;
constexpr double warp = 32.0;
constexpr double scatters = 0.25;     // share of unasked bytes from which an access is scattered
constexpr double some_atomics = 0.1;  // share of shared accesses that makes repeats theirs

double over(double amount, double rate) {
    return rate > 0.0 ? amount / rate : 0.0;
}

/// What the threads asked for, and what L1 and L2 moved for it.
struct Access {
    explicit Access(const Counted& c)
        : asked_to_load(c.first_of({"smsp__sass_data_bytes_mem_global_op_ld.sum"})),
          asked_to_store(c.first_of({"smsp__sass_data_bytes_mem_global_op_st.sum"})),
          copied(c.first_of({"smsp__sass_data_bytes_mem_global_op_ldgsts.sum"})),
          load_sectors(c.first_of({"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
                                   "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"})),
          store_sectors(c.first_of({"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum",
                                    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"})),
          local_sectors(c.first_of({"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_local_op_ld.sum",
                                    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"}) +
                        c.first_of({"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_local_op_st.sum",
                                    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"})),
          load_instructions(c.first_of({"smsp__sass_inst_executed_op_global_ld.sum",
                                        "smsp__inst_executed_op_global_ld.sum"})),
          store_instructions(c.first_of({"smsp__sass_inst_executed_op_global_st.sum",
                                         "smsp__inst_executed_op_global_st.sum"})),
          atomic_instructions(c.first_of({"smsp__sass_inst_executed_op_global_atom.sum",
                                          "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"}) +
                              c.first_of({"smsp__sass_inst_executed_op_global_red.sum",
                                          "smsp__inst_executed_op_global_red.sum"}) +
                              c.first_of({"smsp__sass_inst_executed_op_shared_atom.sum",
                                          "smsp__inst_executed_op_shared_atom.sum"})),
          l2_bytes(sector * c.first_of({"lts__t_sectors_srcunit_tex.sum"})),
          arguments(c.first_of({"ridge__argument_bytes"})) {
        // A report of Nsight Compute has the bytes of a sector that were asked for.
        if (asked() <= 0.0) {
            asked_to_load =
                load_sectors *
                c.first_of({"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"});
            asked_to_store =
                store_sectors *
                c.first_of({"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"});
        }
    }

    double asked_to_load, asked_to_store, copied;
    double load_sectors, store_sectors, local_sectors;
    double load_instructions, store_instructions, atomic_instructions;
    double l2_bytes;
    double arguments;

    [[nodiscard]] double asked() const { return asked_to_load + asked_to_store; }
    [[nodiscard]] double global_bytes() const { return sector * (load_sectors + store_sectors); }
    /// Bytes of sectors that no thread asked for. (eq. KC3)
    [[nodiscard]] double scattered() const {
        if (asked() <= 0.0) return 0.0;
        return std::max(0.0, sector * load_sectors - asked_to_load) +
               std::max(0.0, sector * store_sectors - asked_to_store);
    }
    /// Bytes of loads and stores that reached L2.
    [[nodiscard]] double beyond_l1() const {
        return std::min(std::max(0.0, l2_bytes - sector * local_sectors), global_bytes());
    }
    /// What reached L2 without the load and store units: the copy engine, asynchronous copies.
    [[nodiscard]] double by_engine() const {
        return std::max(0.0, l2_bytes - global_bytes() - sector * local_sectors);
    }
};

/// Bytes at one level: beyond what was asked for is waste of the access pattern. (eq. KC4)
void add_level_waste(Load& load, double bytes, const Access& access) {
    if (bytes <= 0.0) return;
    const double rate = load.seconds / bytes;
    const double sectors = access.load_sectors + access.store_sectors + access.local_sectors;
    const double local = sectors > 0.0 ? access.local_sectors / sectors : 0.0;
    const double spilled = std::min(bytes, sector * access.local_sectors) *
                           (load.resource == Resource::dram ? local : 1.0);
    load.waste(Cause::spills, spilled * rate);
    if (access.asked() <= 0.0) return;
    const double wanted = access.asked() + access.by_engine() + spilled;
    // DRAM delivers more than one sector at a time.
    const bool whole =
        load.resource == Resource::dram && access.scattered() > scatters * access.global_bytes();
    const double most = whole ? bytes : access.scattered();
    const double unasked = std::min(most, std::max(0.0, bytes - wanted));
    load.waste(Cause::uncoalesced, unasked * rate);
}

class LoadReader {
  public:
    LoadReader(const Counted& counted, const Roofs& roofs)
        : c_(counted), roofs_(roofs), access_(counted) {
        const double elapsed = c_.first_of({"sm__cycles_elapsed.max", "sm__cycles_elapsed.avg"});
        const double duration = c_.first_of({"gpu__time_duration.sum"}) * 1e-9;
        loads_.clock = elapsed > 0.0 && duration > 0.0 ? elapsed / duration : roofs.clock;
        loads_.clock = std::min(loads_.clock, 1.1 * roofs.clock);
        const double executed =
            c_.first_of({"smsp__sass_inst_executed.sum", "smsp__inst_executed.sum"});
        const double lanes = c_.first_of({"smsp__sass_thread_inst_executed_pred_on.sum",
                                          "smsp__thread_inst_executed_pred_on.sum"});
        if (executed > 0.0 && lanes > 0.0) {
            loads_.lanes_on = std::min(1.0, lanes / (warp * executed));
        }
        const double active =
            c_.first_of({"smsp__sass_thread_inst_executed.sum", "smsp__thread_inst_executed.sum"});
        if (executed > 0.0 && active > 0.0) {
            loads_.lanes_active = std::min(1.0, active / (warp * executed));
        }
        if (const auto on =
                c_.value("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio")) {
            loads_.lanes_on = std::min(1.0, *on / warp);
        }
        if (const auto on = c_.value("smsp__thread_inst_executed_per_inst_executed.ratio")) {
            loads_.lanes_active = std::min(1.0, *on / warp);
        }
    }

    Loads read() {
        add_shares();
        add_dram();
        add_l2();
        add_l1();
        add_pipes();
        add_tensor();
        add_atomics();
        for (const Load& load : loads_.all) {
            if (load.is_roof && load.needed > loads_.ideal) {
                loads_.ideal = load.needed;
                loads_.roof = load.resource;
            }
        }
        return loads_;
    }

  private:
    [[nodiscard]] double cycles_rate() const { return roofs_.multiprocessors * loads_.clock; }

    void add_shares() {
        const double sectors = access_.load_sectors + access_.store_sectors + access_.local_sectors;
        if (sectors > 0.0) loads_.local_share = access_.local_sectors / sectors;
        if (access_.global_bytes() > 0.0) {
            loads_.scattered = std::min(1.0, access_.scattered() / access_.global_bytes());
        }
        const double far = access_.beyond_l1();
        if (far > 0.0 && access_.asked() > 0.0) {
            loads_.scattered_far =
                std::min(loads_.scattered, std::max(0.0, 1.0 - access_.asked() / far));
        }
        const double fetched = std::min(access_.asked(), far);
        if (access_.arguments > 0.0 && fetched > access_.arguments) {
            loads_.repeated = 1.0 - access_.arguments / fetched;
        }
        const double memory =
            access_.load_instructions + access_.store_instructions + access_.atomic_instructions;
        if (memory > 0.0) loads_.atomic_share = access_.atomic_instructions / memory;
        const double instructions = access_.load_instructions + access_.store_instructions;
        if (instructions > 0.0 && access_.asked() > 0.0) {
            loads_.bytes_per_access =
                access_.asked() / (instructions * warp * std::max(loads_.lanes_on, 1.0 / warp));
        }
        loads_.skipped = skipped();
        loads_.skips = skip_cause();
        const double atomics = c_.first_of({"smsp__sass_inst_executed_op_shared_atom.sum",
                                            "smsp__inst_executed_op_shared_atom.sum"});
        const double on_shared = atomics + c_.sum_of({"smsp__sass_inst_executed_op_shared_ld.sum",
                                                      "smsp__sass_inst_executed_op_shared_st.sum"});
        if (on_shared > 0.0) loads_.shared_atomics = atomics / on_shared;
        const double conflicts =
            c_.first_of({"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"});
        const double shared = c_.first_of({"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"});
        if (shared > 0.0) loads_.conflicts = std::clamp(conflicts / shared, 0.0, 1.0);
    }

    void add_dram() {
        const double read = c_.first_of({"dram__bytes_read.sum", "dram__bytes_op_read.sum"});
        const double counted = c_.first_of({"dram__bytes_write.sum", "dram__bytes_op_write.sum"});
        const double written = with_late_writes(counted);
        Load load = roof(Resource::dram, roofs_.dram_seconds(read, written));
        const double bytes = read + written;
        if (bytes > 0.0) {
            add_level_waste(load, bytes, access_);
            // Reads beyond all memory that the arguments reach come again. (eq. KC5)
            if (access_.arguments > 0.0 && read > access_.arguments &&
                loads_.scattered < scatters) {
                load.waste(Cause::cache_thrash, (read - access_.arguments) * load.seconds / bytes);
            }
        }
        add(std::move(load));
    }

    /// The L2 writes the last stores of a kernel when another one needs their place. A kernel that
    /// stores more than the L2 holds pays for its predecessor's. (eq. KC2)
    [[nodiscard]] double with_late_writes(double counted) const {
        const double held = roofs_.memory.l2.size.base();
        const double stored = std::min(access_.asked_to_store, counted + held);
        return access_.asked_to_store > held ? std::max(counted, stored) : counted;
    }

    void add_l2() {
        Load load = roof(Resource::l2, over(access_.l2_bytes, roofs_.l2_bytes_per_s));
        load.pressure = Cause::l2_pressure;
        add_level_waste(load, access_.l2_bytes, access_);
        // What passes again though it could stay in the multiprocessor. (eq. KC6)
        if (access_.arguments > 0.0 && access_.l2_bytes > access_.arguments) {
            load.waste(Cause::l2_pressure,
                       (access_.l2_bytes - access_.arguments) * load.seconds / access_.l2_bytes);
        }
        add(std::move(load));
    }

    /// Tags and wavefronts of L1 and shared memory, one of each a clock. (eq. KC7)
    void add_l1() {
        const double waves = count_of("l1tex__data_pipe_lsu_wavefronts", 1.0);
        const double conflicts =
            c_.first_of({"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"});
        const double tags = c_.first_of({"smsp__sass_l1tex_tags_mem_global.sum"});
        Load load = pressure(Resource::l1, over(std::max(waves, tags), cycles_rate()));
        if (loads_.shared_atomics > some_atomics) load.pressure = Cause::atomics;
        load.waste(
            loads_.skips,
            over(loads_.skipped * c_.first_of({"sm__inst_executed_pipe_lsu.sum"}), cycles_rate()));
        const double shared = c_.first_of({"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"});
        const double wanted = std::max(access_.asked() / roofs_.line_bytes,
                                       access_.load_instructions + access_.store_instructions);
        if (tags > waves) {
            load.waste(Cause::uncoalesced,
                       over(std::max(0.0, tags - std::max(wanted, waves)), cycles_rate()));
        } else {
            load.waste(
                loads_.shared_atomics > some_atomics ? Cause::atomics : Cause::bank_conflicts,
                over(std::min(conflicts, waves), cycles_rate()));
            const double local = access_.local_sectors / 4.0;
            load.waste(Cause::uncoalesced,
                       over(std::max(0.0, waves - shared - local - wanted), cycles_rate()));
            load.waste(Cause::spills, over(access_.local_sectors / 4.0, cycles_rate()));
        }
        add(std::move(load));
    }

    void add_pipe(Resource resource, double instructions, double lanes) {
        Load load = pressure(resource, over(instructions * warp, cycles_rate() * lanes));
        const bool goes_along = resource == Resource::issue || resource == Resource::xu;
        if (goes_along && instructions > 0.0) {
            const double slipped =
                resource == Resource::issue ? promoted_ + converted_ : converted_;
            load.waste(Cause::wrong_pipe, load.seconds * std::min(1.0, slipped / instructions));
        }
        if (resource == Resource::lsu) {
            load.waste(loads_.skips, load.seconds * loads_.skipped);
        }
        const bool any = resource == Resource::alu || resource == Resource::issue;
        // Threads that repeat an atomic of shared memory until it succeeds diverge for that reason.
        load.waste(loads_.shared_atomics > some_atomics ? Cause::atomics : Cause::divergence,
                   load.seconds * (1.0 - (any ? loads_.lanes_on : loads_.lanes_active)));
        const double all = c_.first_of({"smsp__sass_inst_executed.sum"});
        if (all > 0.0 && (resource == Resource::issue || resource == Resource::lsu)) {
            const double of = resource == Resource::issue
                                  ? all
                                  : std::max(1.0, c_.first_of({"sm__inst_executed_pipe_lsu.sum"}));
            const double local = c_.first_of({"smsp__sass_inst_executed_op_local.sum"});
            load.waste(Cause::spills, load.seconds * std::min(1.0, local / of));
        }
        add(std::move(load));
    }

    /// Instructions of the load and store units of which no lane was on: they take their slot all
    /// the same. (eq. KC8)
    [[nodiscard]] double skipped() const {
        const double executed = c_.first_of({"smsp__sass_inst_executed.sum"});
        const double on = c_.first_of({"smsp__sass_thread_inst_executed_pred_on.sum"}) / warp;
        const double accesses = access_.load_instructions + access_.store_instructions +
                                access_.atomic_instructions +
                                c_.sum_of({"smsp__sass_inst_executed_op_shared_ld.sum",
                                           "smsp__sass_inst_executed_op_shared_st.sum",
                                           "smsp__sass_inst_executed_op_local.sum"});
        const double lsu = c_.first_of({"sm__inst_executed_pipe_lsu.sum"});
        if (lsu <= 0.0 || on <= 0.0 || accesses <= 0.0) return 0.0;
        return std::clamp(std::min(lsu - accesses, executed - on) / lsu, 0.0, 1.0);
    }
    /// A warp that skips its step between barriers comes only to wait at the next one.
    [[nodiscard]] Cause skip_cause() const {
        const double barrier = c_.first_of({"smsp__warps_issue_stalled_barrier.sum"});
        const bool most =
            barrier > 0.0 &&
            barrier >= c_.first_of({"smsp__warps_issue_stalled_long_scoreboard.sum"}) &&
            barrier >= c_.first_of({"smsp__warps_issue_stalled_short_scoreboard.sum"});
        return most ? Cause::barriers : Cause::divergence;
    }

    /// A count, or a share of the peak over the multiprocessors' active time times that peak.
    [[nodiscard]] double count_of(const std::string& name, double peak) const {
        if (const auto counted = c_.value(name + ".sum")) return *counted;
        const double active = c_.first_of({"sm__cycles_active.avg", "sm__cycles_elapsed.max"});
        const double share = c_.first_of({name + ".avg.pct_of_peak_sustained_active",
                                          name + ".avg.pct_of_peak_sustained_elapsed"}) /
                             100.0;
        return share * peak * active * roofs_.multiprocessors;
    }

    void add_pipes() {
        const auto count = [this](std::string_view pipe, double lanes) {
            return count_of("sm__inst_executed_pipe_" + std::string(pipe), lanes / warp);
        };
        add_arithmetic();
        add_pipe(Resource::alu, count("alu", roofs_.lanes.alu), roofs_.lanes.alu);
        add_pipe(Resource::xu, count("xu", roofs_.lanes.xu), roofs_.lanes.xu);
        add_pipe(Resource::lsu, count("lsu", roofs_.lanes.lsu), roofs_.lanes.lsu);
        add_pipe(Resource::issue,
                 c_.first_of({"smsp__inst_executed.sum", "smsp__sass_inst_executed.sum"}),
                 warp * roofs_.schedulers);
    }

    /// FLOP of the vector pipes (an operation on two halves takes as long as one on a float) are a roof; other instructions of these pipes are not. (eq. KC8)
    void add_arithmetic() {
        const double cycles = c_.first_of({"sm__cycles_elapsed.max", "sm__cycles_elapsed.avg"});
        const auto flop = [this, cycles](std::string_view op) {
            const std::string name =
                "smsp__sass_thread_inst_executed_op_" + std::string(op) + "_pred_on.sum";
            if (const auto counted = c_.value(name)) return *counted;
            return cycles * c_.first_of({name + ".per_cycle_elapsed"});
        };
        const double single = flop("fadd") + flop("fmul") + flop("ffma");
        const double two = flop("dadd") + flop("dmul") + flop("dfma");
        const double half = flop("hadd") + flop("hmul") + flop("hfma");
        const double converted = flop("conversion");
        for (const char* const name :
             {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
              "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2"}) {
            loads_.knows_flop = loads_.knows_flop || c_.value(name).has_value();
        }
        const double fma_seconds =
            over(count_of("sm__inst_executed_pipe_fma", roofs_.lanes.fma / warp) * warp,
                 cycles_rate() * roofs_.lanes.fma);
        const double needed = over(single + half, cycles_rate() * roofs_.lanes.fma);
        Load fma = roof(Resource::fma, std::max(fma_seconds, needed));
        fma.waste(Cause::divergence, fma.seconds * (1.0 - loads_.lanes_on));
        fma.waste(Cause::pipe_pressure, std::max(0.0, fma.needed - needed));
        add(std::move(fma));
        // Work in fp64 on values that are converted on the way in or out is a slip of the type.
        constexpr double converts = 0.01;
        const bool promoted = two > 0.0 && converted > converts * two;
        const double on_pipe = warp * c_.first_of({"sm__inst_executed_pipe_fp64.sum"});
        Load fp64 =
            roof(Resource::fp64, over(std::max(two, on_pipe), cycles_rate() * roofs_.lanes.fp64));
        fp64.waste(Cause::divergence, fp64.seconds * (1.0 - loads_.lanes_active));
        if (promoted) {
            promoted_ = on_pipe / warp;
            converted_ = converted / warp;
            const double executed = c_.first_of({"smsp__sass_inst_executed.sum"});
            loads_.slipped = std::min(1.0, over(promoted_ + converted_, executed));
            const double as_single = over(two, cycles_rate() * roofs_.lanes.fma);
            fp64.waste(Cause::wrong_pipe, std::max(0.0, fp64.needed - as_single));
        }
        add(std::move(fp64));
    }

    void add_tensor() {
        const double active = c_.first_of(
            {"sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.avg.pct_of_"
             "peak_sustained_elapsed",
             "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
             "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"});
        const double duration = c_.first_of({"gpu__time_duration.sum"}) * 1e-9;
        constexpr double percent = 0.01;
        loads_.knows_flop = loads_.knows_flop || active > 0.0;
        add(roof(Resource::tensor, active * percent * duration));
    }

    void add_atomics() {
        const double active = c_.first_of({"lts__d_atomic_input_cycles_active.max"});
        const double elapsed = c_.first_of({"lts__cycles_elapsed.max"});
        const double share =
            active > 0.0
                ? over(active, elapsed)
                : c_.first_of({"lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_"
                               "elapsed"}) /
                      100.0;
        const double duration = c_.first_of({"gpu__time_duration.sum"}) * 1e-9;
        Load load = pressure(Resource::atomic, share * duration);
        load.waste(Cause::atomics, load.seconds);
        add(std::move(load));
    }

    static Load roof(Resource resource, double seconds) {
        return {.resource = resource, .seconds = seconds, .needed = seconds, .is_roof = true};
    }
    static Load pressure(Resource resource, double seconds) {
        return {.resource = resource, .seconds = seconds, .needed = seconds};
    }
    void add(Load load) { loads_.all.push_back(std::move(load)); }

    const Counted& c_;
    const Roofs& roofs_;
    Access access_;
    Loads loads_;
    double promoted_ = 0.0;   // instructions in fp64 by a slip of the type
    double converted_ = 0.0;  // conversions that come with them
};

}  // namespace

std::string_view name_of(Resource resource) {
    constexpr std::array names{"DRAM",
                               "L2",
                               "L1 and shared memory",
                               "FMA pipe",
                               "ALU pipe",
                               "FP64 pipe",
                               "special functions",
                               "load and store units",
                               "instruction issue",
                               "tensor cores",
                               "atomics of L2"};
    return names.at(static_cast<std::size_t>(resource));
}

void Load::waste(Cause cause, double amount) {
    const double taken = std::clamp(amount, 0.0, needed);
    if (taken <= 0.0) return;
    needed -= taken;
    wastes.push_back({cause, taken});
}

const Load& Loads::of(Resource resource) const {
    const auto found = std::find_if(
        all.begin(), all.end(), [resource](const Load& load) { return load.resource == resource; });
    RIDGE_CONTRACT(found != all.end());
    return *found;
}

Loads loads_of(const Counted& counted, const Roofs& roofs) {
    return LoadReader(counted, roofs).read();
}

}  // namespace ridge::kernel
