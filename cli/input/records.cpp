#include "cli/input/records.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <set>
#include <utility>

#include "cli/console/table.h"
#include "cli/input/measured_table.h"
#include "hardware/error.h"

namespace ridge::cli {
namespace {

/// Records of files and folders, and the rows of CSV tables.
measure::RecordFile read_files(const std::vector<std::string>& paths, const std::string& usual_gpu,
                               const measure::OtherColumns& keep) {
    const bool kept = keep.all || !keep.names.empty();
    if (kept && std::none_of(paths.begin(), paths.end(), is_measured_table)) {
        throw InputError("keep: --keep goes with tables (.csv); records have no columns");
    }
    measure::RecordFile all;
    for (const std::string& path : paths) {
        measure::RecordFile part = is_measured_table(path)
                                       ? read_measured_table(path, usual_gpu, keep)
                                       : measure::read_all_records({path});
        std::move(part.records.begin(), part.records.end(), std::back_inserter(all.records));
        std::move(part.damaged.begin(), part.damaged.end(), std::back_inserter(all.damaged));
    }
    return all;
}

/// Prints the first damaged lines, and how many more there are.
void write_damage(const Context& context, const std::vector<measure::Damage>& damaged) {
    constexpr std::size_t most_named = 20;
    for (std::size_t i = 0; i < std::min(damaged.size(), most_named); ++i) {
        context.err << "ridge: " << printable(to_string(damaged[i].location))
                    << ": damaged record: " << printable(damaged[i].message) << '\n';
    }
    if (damaged.size() > most_named) {
        context.err << "ridge: and " << damaged.size() - most_named << " more damaged records\n";
    }
}

}  // namespace

LoadedRecords load_records(const Context& context, const std::vector<std::string>& paths,
                           const WantedGpu& gpu, const model::Catalogue& catalogue,
                           const measure::OtherColumns& keep) {
    measure::RecordFile file = read_files(paths, gpu.usual, keep);
    write_damage(context, file.damaged);
    std::set<std::string> recorded;
    for (const measure::Record& record : file.records) {
        recorded.insert(catalogue.canonical_name(record.device.name));
    }
    if (!gpu.only.empty()) {
        const std::string wanted = catalogue.at(gpu.only).name;
        std::erase_if(file.records, [&](const measure::Record& record) {
            return catalogue.canonical_name(record.device.name) != wanted;
        });
    }
    if (file.records.empty()) {
        throw InputError(
            gpu.only.empty() ? "there is no record" : "there is no record of " + gpu.only,
            {.file = paths.front()},
            recorded.empty() ? "in a folder, only its own .jsonl and .jsonl.gz files are read"
                             : fmt::format("there are records of {}", fmt::join(recorded, ", ")));
    }
    return {.records = std::move(file.records), .damaged = file.damaged.size()};
}

}  // namespace ridge::cli
