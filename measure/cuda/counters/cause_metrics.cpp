// The table of counters; see cause_metrics.h.
#include "measure/cuda/counters/cause_metrics.h"

#include <array>

namespace ridge::measure::cuda {
namespace {

constexpr Metric counted(std::string_view name) {
    return {.name = name, .group = CounterGroup::traffic, .meaning = Meaning::informative};
}

constexpr std::array software{
    counted("smsp__sass_data_bytes_mem_global_op_ld.sum"),
    counted("smsp__sass_data_bytes_mem_global_op_st.sum"),
    counted("smsp__sass_data_bytes_mem_global_op_ldgsts.sum"),
    counted("smsp__sass_data_bytes_mem_local.sum"),
    counted("smsp__sass_data_bytes_mem_shared_op_ld.sum"),
    counted("smsp__sass_data_bytes_mem_shared_op_st.sum"),
    counted("smsp__sass_inst_executed.sum"),
    counted("smsp__sass_inst_executed_op_global_ld.sum"),
    counted("smsp__sass_inst_executed_op_global_st.sum"),
    counted("smsp__sass_inst_executed_op_global_atom.sum"),
    counted("smsp__sass_inst_executed_op_global_red.sum"),
    counted("smsp__sass_inst_executed_op_local.sum"),
    counted("smsp__sass_inst_executed_op_shared_ld.sum"),
    counted("smsp__sass_inst_executed_op_shared_st.sum"),
    counted("smsp__sass_inst_executed_op_shared_atom.sum"),
    counted("smsp__sass_inst_executed_op_ldsm.sum"),
    counted("smsp__sass_inst_executed_op_ldgsts.sum"),
    counted("smsp__sass_inst_executed_op_branch.sum"),
    counted("smsp__sass_inst_executed_op_memory_8b.sum"),
    counted("smsp__sass_inst_executed_op_memory_16b.sum"),
    counted("smsp__sass_inst_executed_op_memory_32b.sum"),
    counted("smsp__sass_inst_executed_op_memory_64b.sum"),
    counted("smsp__sass_inst_executed_op_memory_128b.sum"),
    counted("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    counted("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum"),
    counted("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_local_op_ld.sum"),
    counted("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_local_op_st.sum"),
    counted("smsp__sass_l1tex_tags_mem_global.sum"),
    counted("smsp__sass_thread_inst_executed.sum"),
    counted("smsp__sass_thread_inst_executed_pred_on.sum"),
    counted("smsp__sass_thread_inst_executed_op_conversion_pred_on.sum"),
    counted("smsp__sass_thread_inst_executed_op_integer_pred_on.sum"),
    counted("smsp__sass_thread_inst_executed_op_fp64_pred_on.sum"),
    counted("smsp__sass_branch_targets_threads_divergent.sum"),
};

constexpr std::array beside_traffic{
    counted("sm__cycles_active.avg"),
    counted("sm__cycles_active.max"),
    counted("sm__cycles_elapsed.max"),
    counted("l1tex__t_sectors_pipe_lsu_lookup_hit.sum"),
    counted("l1tex__t_sectors_pipe_lsu.sum"),
    counted("lts__t_sectors_srcunit_tex_op_atom.sum"),
    counted("lts__t_sectors_srcunit_tex_op_red.sum"),
    counted("lts__d_atomic_input_cycles_active.max"),
    counted("lts__cycles_elapsed.max"),
};

constexpr std::array issue{
    counted("smsp__cycles_active.sum"),
    counted("smsp__warps_active.sum"),
    counted("smsp__inst_executed.sum"),
    counted("smsp__issue_active.sum"),
    counted("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
    counted("l1tex__data_pipe_lsu_wavefronts.sum"),
    counted("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
    counted("lts__t_sectors_srcunit_tex_lookup_hit.sum"),
};

constexpr std::array loads_and_barriers{
    counted("smsp__warps_issue_stalled_long_scoreboard.sum"),
    counted("smsp__warps_issue_stalled_barrier.sum"),
    counted("smsp__warps_issue_stalled_short_scoreboard.sum"),
    counted("lts__t_sectors_srcunit_tex_lookup_miss.sum"),
};

constexpr std::array dependences{
    counted("smsp__warps_issue_stalled_wait.sum"),
    counted("smsp__warps_issue_stalled_math_pipe_throttle.sum"),
    counted("smsp__warps_issue_stalled_lg_throttle.sum"),
};

constexpr std::array queues{
    counted("smsp__warps_issue_stalled_mio_throttle.sum"),
    counted("smsp__warps_issue_stalled_gmma.sum"),
    counted("smsp__warps_issue_stalled_membar.sum"),
};

constexpr std::array choice{
    counted("smsp__warps_issue_stalled_not_selected.sum"),
    counted("smsp__warps_issue_stalled_no_instruction.sum"),
    counted("smsp__warps_issue_stalled_branch_resolving.sum"),
};

constexpr std::array rest{
    counted("smsp__warps_issue_stalled_drain.sum"),
    counted("smsp__warps_issue_stalled_dispatch_stall.sum"),
    counted("smsp__warps_issue_stalled_imc_miss.sum"),
};

constexpr std::array pipes{
    counted("sm__inst_executed_pipe_alu.sum"),
    counted("sm__inst_executed_pipe_fma.sum"),
    counted("sm__inst_executed_pipe_fp64.sum"),
    counted("sm__inst_executed_pipe_lsu.sum"),
};

}  // namespace

std::span<const Metric> cause_metrics_of_software() {
    return software;
}

std::span<const Metric> cause_metrics_beside_traffic() {
    return beside_traffic;
}

std::vector<std::vector<Metric>> cause_sets() {
    const auto list = [](const auto& set) { return std::vector<Metric>(set.begin(), set.end()); };
    return {list(issue),       list(loads_and_barriers),
            list(dependences), list(queues),
            list(choice),      list(rest),
            list(pipes)};
}

}  // namespace ridge::measure::cuda
