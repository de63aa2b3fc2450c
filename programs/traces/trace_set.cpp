#include "programs/traces/trace_set.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

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

/// The times when ranges of a name were open, on any thread, for each process.
class OpenTimes {
  public:
    OpenTimes(const Trace& trace, TextId name) {
        for (const Operator& op : trace.operators) {
            if (!op.range || op.name != name) continue;
            times_[process_of(op.thread)].emplace_back(op.start_ns, op.end_ns);
        }
        for (auto& [process, times] : times_) merge(times);
    }

    [[nodiscard]] bool hold(const Launch& launch) const {
        const auto times = times_.find(process_of(launch.thread));
        if (times == times_.end()) return false;
        const auto after = std::upper_bound(
            times->second.begin(), times->second.end(), launch.start_ns,
            [](std::int64_t time, const auto& range) { return time < range.first; });
        return after != times->second.begin() && launch.start_ns < std::prev(after)->second;
    }

  private:
    using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;

    /// Activity files store the process in the upper half of a thread's number.
    static std::int64_t process_of(std::int64_t thread) { return thread >> 32; }

    /// Merges overlapping entries into one and sorts them.
    static void merge(Times& times) {
        std::sort(times.begin(), times.end());
        std::size_t last = 0;
        for (std::size_t i = 1; i < times.size(); ++i) {
            if (times[i].first <= times[last].second) {
                times[last].second = std::max(times[last].second, times[i].second);
            } else {
                times[++last] = times[i];
            }
        }
        times.resize(std::min(times.size(), last + 1));
    }

    std::map<std::int64_t, Times> times_;
};

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
    const OpenTimes open(trace, wanted);
    std::erase_if(trace.kernels, [&](const Kernel& kernel) {
        if (is_within(trace, kernel.range, wanted)) return false;
        return kernel.launch == none ||
               !open.hold(trace.launches[static_cast<std::size_t>(kernel.launch)]);
    });
    if (trace.kernels.empty()) no_such_range(trace, name);
}

}  // namespace ridge::programs
