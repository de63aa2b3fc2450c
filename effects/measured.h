// What was measured, by question: records taken now, or the compact tables that come with ridge.
//
//   const Measured known = Measured::of("h200-sxm");      // from effects/measured/h200-sxm.tsv
//   const Seen* seen = known.find("copy dtype=fp32 elements=1024 impl=bundled l2=cold launch=kernel");
//
// A compact table has one line per question: canonical text, median time, clock, DRAM and L2 bytes,
// names of the kernels where a library chose them, bytes of memory at the peak, apart by tabs, empty
// where not observed. `scripts/effect-points` makes it from the records in
// measure/records.
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
    std::optional<Bytes> memory = {};  ///< most that was allocated at a time
};

/// The names of a library's kernels, without namespaces and arguments; empty for other kernels.
[[nodiscard]] std::string kernels_text(const measure::Record& record);

class Measured {
  public:
    /// What comes with ridge for this GPU; empty where nothing does.
    [[nodiscard]] static Measured of(std::string_view gpu);
    /// InputError names line and column of what cannot be read.
    [[nodiscard]] static Measured parse(std::string_view table, const std::string& file);

    /// A record that was measured; others are left out.
    void add(const measure::Record& record);

    [[nodiscard]] const Seen* find(std::string_view question) const;
    [[nodiscard]] bool empty() const { return seen_.empty(); }
    [[nodiscard]] std::size_t size() const { return seen_.size(); }

  private:
    std::map<std::string, Seen, std::less<>> seen_;
};

/// The tables in the binary; the build writes the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_measured();

}  // namespace ridge::effects
