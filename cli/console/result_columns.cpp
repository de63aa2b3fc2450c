#include "cli/console/result_columns.h"

namespace ridge::cli {

const std::vector<std::string>& result_columns() {
    static const std::vector<std::string> columns{"time_us",
                                                  "time_low_us",
                                                  "time_high_us",
                                                  "lower_bound_us",
                                                  "bound",
                                                  "limiter",
                                                  "flop",
                                                  "compulsory_bytes",
                                                  "dram_bytes",
                                                  "l2_bytes",
                                                  "algorithmic_intensity_flop_per_byte",
                                                  "dram_intensity_flop_per_byte",
                                                  "power_w",
                                                  "power_low_w",
                                                  "power_high_w",
                                                  "energy_j",
                                                  "energy_low_j",
                                                  "energy_high_j",
                                                  "flop_per_j",
                                                  "evidence",
                                                  "error"};
    return columns;
}

}  // namespace ridge::cli
