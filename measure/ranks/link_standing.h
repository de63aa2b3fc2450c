// Links of a fleet beside each other: which carry less than others of their kind.
//
//   const std::vector<LinkStanding> links = compare_links(surveys_in({"fleet/"}));
//   links.front().link, links.front().ratio     // the worst: "GPU 0 to GPU 3 on node7", 0.74
//
// Method: links of one kind join the same kinds of GPU in the same way (a copy one way, both ways, a load, to and
// from the host). A link's ratio is its rate over the median of its kind, of all surveys; of a load, the
// median latency over its own. A link is slow below 0.95: two surveys of one machine agree within 1 % between GPUs,
// and within a few per cent to the host (records/links).
//
// Limits: needs three links of a kind to say which one is slow.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/ranks/link_survey.h"

namespace ridge::measure {

struct LinkStanding {
    std::string link;      ///< "GPU 0 to GPU 3 on node7"
    std::string kind;      ///< "copy, one way"
    std::string measured;  ///< with its unit
    std::string usual;     ///< median of its kind
    double ratio = 1.0;    ///< below 1: slower than its kind
    bool slow = false;
};

/// All links, the slowest against their kind first.
[[nodiscard]] std::vector<LinkStanding> compare_links(std::span<const LinkSurvey> surveys);

}  // namespace ridge::measure
