// Faults planted on four H200 (scripts/measure/torch-stragglers.py) are named first.
#include <filesystem>

#include "model/catalogue/catalogue.h"
#include "programs/report/rank_report.h"
#include "programs/traces/trace.h"
#include "tests/catch.h"
#include "tests/support/text.h"

using namespace ridge;
using namespace ridge::programs;
using test::holds;

namespace {

RankReport planted(const std::string& fault) {
    static const model::Catalogue catalogue = model::catalogue();
    static const model::Machine h200 = model::make_machine(catalogue.at("h200-sxm"));
    std::vector<Trace> traces;
    for (int rank = 0; rank < 4; ++rank) {
        const std::string path = std::string(RIDGE_TRACES "/ranks/") + fault + "/rank" +
                                 std::to_string(rank) + ".json.gz";
        traces.push_back(read_trace(path));
    }
    return ranks_of(traces, &h200);
}

std::string first_finding(const std::string& fault) {
    return findings_of(planted(fault)).front();
}

}  // namespace

TEST_CASE("a rank whose kernels take longer is named first, with the reason") {
    const std::string first = first_finding("slow-gpu");
    CHECK(holds(first, "rank 2 came last to 12 of 12 collectives"));
    CHECK(holds(first, "its kernels take"));
}

TEST_CASE("a rank whose host is late is named first, with the reason") {
    const std::string first = first_finding("slow-host");
    CHECK(holds(first, "rank 1 came last to 12 of 12 collectives"));
    CHECK(holds(first, "its host launches"));
}

TEST_CASE("gradients in one bucket are named first as exposed") {
    const std::string first = first_finding("one-bucket");
    CHECK(holds(first, "AllReduce"));
    CHECK(holds(first, "201 MB of bf16 over 4 GPUs (2 times) moved data for"));
    CHECK(holds(first, "reduce smaller buckets"));
}

TEST_CASE("a busy link is named, with the time that it costs") {
    const std::vector<std::string> findings = findings_of(planted("busy-link"));
    const bool named = std::any_of(findings.begin(), findings.end(), [](const std::string& each) {
        return holds(each, "a slow or busy link");
    });
    CHECK(named);
}

TEST_CASE("ranks that began to record apart are no stragglers for that") {
    const RankReport report = planted("none");
    CHECK(report.apart.in(units::ms) > 5.0);
    CHECK(holds(report.notes.front(), "the ranks began to record up to"));
    const auto first = std::find_if(report.collectives.begin(), report.collectives.end(),
                                    [](const CollectiveRow& row) { return row.number == 1; });
    REQUIRE(first != report.collectives.end());
    CHECK(first->skew > report.apart * 0.9);
    CHECK(first->waiting < 0.2 * (3.0 * first->skew));
}
