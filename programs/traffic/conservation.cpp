// What a simulated run must not lose: tokens, pages of the cache, time.
#include <string>

#include "programs/traffic/simulation.h"

namespace ridge::programs {

std::string violation(const TrafficRun& run, const std::vector<TrafficRequest>& requests) {
    std::int64_t answers = 0;
    std::int64_t processed = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const RequestOutcome& outcome = run.requests[i];
        if (outcome.refused()) continue;
        answers += outcome.answer;
        processed += requests[i].prompt + requests[i].answer - 1;
        if (outcome.answer != requests[i].answer) return "tokens of an answer";
        if (outcome.started_ns < outcome.arrival_ns) return "a start before the arrival";
        if (outcome.first_token_ns < outcome.started_ns) return "a token before the start";
        if (outcome.finished_ns < outcome.first_token_ns) return "an end before the first token";
    }
    const TrafficSums& sums = run.sums;
    if (answers != sums.answer_tokens) return "tokens given out";
    const std::int64_t reached = sums.prompt_tokens + sums.cached_tokens + sums.fetched_tokens +
                                 sums.sent_tokens + sums.decoded_tokens;
    if (reached != processed + sums.lost_tokens) return "tokens computed, found and lost";
    if (sums.host_stored != sums.host_dropped + sums.host_left) return "pages on the host";
    if (sums.pages_taken != sums.pages_given + sums.pages_kept) return "pages of the cache";
    if (sums.most_pages > run.pages) return "more pages than there are";
    if (sums.busy_ns + sums.idle_ns != sums.end_ns) return "time";
    return {};
}

}  // namespace ridge::programs
