// Ranges of a sweep: "1024:8192:128", "128:65536:*2", "512,1024,2048", "@m".
//
//   const SweepRange range = parse_range("m", "1024:8192:128");   // 57 values
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

struct SweepRange {
    std::vector<std::int64_t> values;  ///< empty if the field follows another
    std::string follows;               ///< "m" for "@m"
};

/// Whether the text is a range rather than a plain value.
[[nodiscard]] bool is_range(std::string_view text);

/// Reads first:last:step (step 1 if left out), first:last:*factor, a list a,b,c, or @field.
/// InputError names `field`: not numbers, a step that is not positive, last below first, or more
/// than ten million values.
[[nodiscard]] SweepRange parse_range(std::string_view field, std::string_view text);

}  // namespace ridge::cli
