#include "programs/traces/trace_set.h"

#include <map>
#include <set>

#include "hardware/error.h"
#include "programs/traces/activity_trace.h"

namespace ridge::programs {
namespace {

bool is_within(const Trace& trace, std::int32_t range, TextId name) {
    while (range != none) {
        const Operator& op = trace.operators[static_cast<std::size_t>(range)];
        if (op.range && op.name == name) return true;
        range = op.parent;
    }
    return false;
}

[[noreturn]] void no_such_range(const Trace& trace, std::string_view name) {
    std::set<std::string> names;
    for (const Operator& op : trace.operators) {
        if (op.range) names.insert(trace.text(op.name));
    }
    std::string hint =
        names.empty() ? "the program has no NVTX ranges or annotations" : "there are ";
    constexpr std::size_t most = 8;
    std::size_t count = 0;
    for (const std::string& each : names) {
        if (count == most) hint += ", ...";
        if (++count > most) break;
        hint += (count > 1 ? ", '" : "'") + each + "'";
    }
    throw InputError("range: nothing ran within a range '" + std::string(name) + "'",
                     {.file = trace.file}, hint);
}

}  // namespace

std::vector<std::vector<std::string>> runs_of(const std::vector<std::string>& files) {
    std::vector<std::vector<std::string>> groups;
    std::map<std::uint64_t, std::size_t> places;
    for (const std::string& file : files) {
        const std::uint64_t run = is_activity_file(file) ? run_of(file) : 0;
        const auto [place, added] = places.try_emplace(run, groups.size());
        if (added || run == 0) {
            groups.push_back({file});
        } else {
            groups[place->second].push_back(file);
        }
    }
    return groups;
}

Trace read_run(const std::vector<std::string>& files) {
    return files.size() == 1 ? read_trace(files.front()) : read_activity_files(files);
}

void keep_range(Trace& trace, std::string_view name) {
    const TextId wanted = trace.texts.add(name);
    std::erase_if(trace.kernels, [&trace, wanted](const Kernel& kernel) {
        return !is_within(trace, kernel.range, wanted);
    });
    if (trace.kernels.empty()) no_such_range(trace, name);
}

}  // namespace ridge::programs
