// Measured times for `ridge diagnose`, from whatever holds them: tables, records, reports of
// profilers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "answers/times_table.h"
#include "cli/console/context.h"
#include "cli/input/machines.h"

namespace ridge::cli {

struct Times {
    std::vector<answers::TimedOperation> rows;
    bool damaged = false;  ///< some rows could not be read
};

/// What holds the times of a path, by its ending and its first lines.
enum class TimesKind : std::uint8_t { table, records, trace };
[[nodiscard]] TimesKind kind_of_times(const std::string& path);

/// Reads all files; what cannot be read, and columns that are not used, are reported on `err`.
/// InputError if nothing is left.
[[nodiscard]] Times read_all_times(const Context& context, const std::vector<std::string>& files,
                                   Machines& machines, const answers::TimesOptions& options);

/// The unit that a word names; zero for an empty word.
[[nodiscard]] Time time_unit(const std::string& word);

/// A command line as a reader may repeat it: words that a shell would split are quoted.
[[nodiscard]] std::string command_text(std::string command, std::span<const std::string> words);

}  // namespace ridge::cli
