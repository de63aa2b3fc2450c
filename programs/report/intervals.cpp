#include "programs/report/intervals.h"

#include <algorithm>

namespace ridge::programs {

Intervals merged(Intervals intervals) {
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.from < b.from; });
    Intervals joined;
    for (const Interval& each : intervals) {
        if (each.to <= each.from) continue;
        if (!joined.empty() && each.from <= joined.back().to) {
            joined.back().to = std::max(joined.back().to, each.to);
        } else {
            joined.push_back(each);
        }
    }
    return joined;
}

Intervals without(const Intervals& these, const Intervals& others) {
    Intervals left;
    std::size_t next = 0;
    for (const Interval& each : these) {
        std::int64_t from = each.from;
        while (next < others.size() && others[next].to <= from) ++next;
        for (std::size_t i = next; i < others.size() && others[i].from < each.to; ++i) {
            if (others[i].from > from) left.push_back({from, others[i].from});
            from = std::max(from, others[i].to);
        }
        if (from < each.to) left.push_back({from, each.to});
    }
    return left;
}

Intervals common(const Intervals& these, const Intervals& others) {
    return without(these, without(these, others));
}

std::int64_t length_of(const Intervals& intervals) {
    std::int64_t sum = 0;
    for (const Interval& each : intervals) sum += each.to - each.from;
    return sum;
}

}  // namespace ridge::programs
