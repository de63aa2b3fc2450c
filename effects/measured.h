// Measured values by question: from records taken now, or from the compact tables that come with
// ridge.
//
//   const Measured known = Measured::of("h200-sxm");      // from effects/measured/h200-sxm.tsv
//   const Seen* seen =
//       known.find("copy dtype=fp32 elements=1024 impl=bundled l2=cold launch=kernel");
//
// A compact table has one line per question, with cells separated by tabs and left empty if a value
// was not observed: canonical text, median time, clock, DRAM and L2 bytes, names of the kernels
// that a library chose, bytes of memory at the peak. `scripts/records/effect-points.py` makes the table from
// the records in records.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hardware/embedded.h"
#include "measure/record/record.h"

namespace ridge::effects {

struct Seen {
    std::optional<Time> time = {};
    std::optional<Frequency> clock = {};
    std::optional<Bytes> dram = {};
    std::optional<Bytes> l2 = {};
    std::string kernels = {};  ///< of a library, in order: "NAME, 128 blocks; NAME, 64 blocks"
    std::optional<Bytes> memory = {};  ///< peak of the allocated memory
};

/// The names of a library's kernels, without namespaces and arguments; empty for other kernels.
[[nodiscard]] std::string kernels_text(const measure::Record& record);

class Measured {
  public:
    /// The table that comes with ridge for this GPU; empty if there is none.
    [[nodiscard]] static Measured of(std::string_view gpu);
    /// Throws InputError with the line and column of a cell that cannot be read.
    [[nodiscard]] static Measured parse(std::string_view table, const std::string& file);

    /// Adds a record that was measured; ignores any other record.
    void add(const measure::Record& record);

    [[nodiscard]] const Seen* find(std::string_view question) const;
    [[nodiscard]] bool empty() const { return seen_.empty(); }
    [[nodiscard]] std::size_t size() const { return seen_.size(); }

  private:
    std::map<std::string, Seen, std::less<>> seen_;
};

/// The tables in the binary; the build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_measured();

}  // namespace ridge::effects
