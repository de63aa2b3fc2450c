#include "kernel/code/loops.h"

#include <algorithm>
#include <map>

#include "hardware/count.h"
#include "hardware/error.h"

namespace ridge::kernel {
namespace {

/// Whether the instructions only poll: a try of a barrier, branches, few others.
bool polls(const Function& function, const Loop& loop) {
    constexpr std::size_t longest = 12;
    if (loop.last - loop.first > longest) return false;
    for (std::size_t i = loop.first; i <= loop.last; ++i) {
        const std::string_view base = function.code[i].base();
        if (base == "SYNCS" || base == "NANOSLEEP") return true;
    }
    return false;
}

Loop* named(std::vector<Loop>& loops, std::string_view name) {
    const auto found = std::find_if(loops.begin(), loops.end(),
                                    [name](const Loop& each) { return each.name == name; });
    return found == loops.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Loop> loops_of(const Function& function) {
    std::map<std::size_t, std::size_t> ends;  // several branches back to one place close one loop
    for (std::size_t i = 0; i < function.code.size(); ++i) {
        const auto& target = function.code[i].target;
        if (target && *target < i) ends[*target] = std::max(ends[*target], i);
    }
    std::vector<Loop> loops;
    constexpr std::size_t most_loops = 1000;
    for (const auto& [first, last] : ends) {
        if (loops.size() == most_loops) break;
        Loop loop{.name = {}, .first = first, .last = last};
        loop.is_wait = polls(function, loop);
        loops.push_back(std::move(loop));
    }
    int number = 0;
    for (Loop& loop : loops) {
        if (!loop.is_wait) loop.name = "L" + std::to_string(++number);
    }
    return loops;
}

void set_trips(std::vector<Loop>& loops, std::string_view text) {
    std::size_t place = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        std::string_view each = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        std::string name = "L" + std::to_string(++place);
        if (const std::size_t equals = each.find('='); equals != each.npos) {
            name = each.substr(0, equals);
            each.remove_prefix(equals + 1);
        }
        const std::int64_t trips = parse_count(each, "trips");
        if (trips < 0) throw InputError("trips: a loop runs 0 times or more");
        Loop* const loop = named(loops, name);
        if (loop == nullptr) {
            throw InputError("trips: the kernel has no loop " + name, {},
                             loops.empty() ? "it has no loops" : "loops are named L1, L2, ...");
        }
        loop->trips = static_cast<double>(trips);
    }
}

}  // namespace ridge::kernel
