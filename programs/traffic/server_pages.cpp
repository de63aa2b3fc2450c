// How sequences get their places on a server, and lose them (server.h).
#include <algorithm>
#include <cmath>

#include "hardware/error.h"
#include "programs/traffic/server.h"

namespace ridge::programs {

/// Its full pages stay in the cache until others need them.
void Server::preempt(Sequence& sequence) {
    if (deployment_.prefix_cache) {
        const std::int64_t own = sequence.computed / deployment_.block - sequence.shared;
        const std::int64_t key = key_of(sequence);
        cache_.hold(key);
        const std::int64_t kept = cache_.keep(key, std::max<std::int64_t>(0, own));
        cache_.release(key, now_);
        host_.store(key, own);
        sequence.pages -= kept;
        run_.sums.pages_kept += kept;
    }
    budget_ += sequence.chunk;
    adapters_.leave(requests_[sequence.index].adapter);
    run_.sums.lost_tokens += sequence.computed;
    preempted_ = true;
    ++run_.sums.preemptions;
    ++run_.requests[sequence.index].preemptions;
    Sequence again = sequence;
    again.kept_after = sequence.shared;
    release(sequence);
    again.pages = 0;
    again.shared = 0;
    again.group = -1;
    again.computed = 0;
    again.chunk = 0;
    again.ready_ns = 0;
    again.encoded = false;
    sequence.gone = true;
    sequence.chunk = 0;
    waiting_.push({.priority = requests_[again.index].priority,
                   .arrival_ns = run_.requests[again.index].arrival_ns,
                   .sequence = again});
}

/// Pages for a running sequence; others give up theirs. False: it gave up its own.
bool Server::make_room(const Sequence& sequence, std::int64_t pages) {
    while (!cache_.take(pages)) {
        cache_.trim(sequence.group, sequence.shared);
        if (cache_.take(pages)) return true;
        // The one admitted last, of those with the lowest priority.
        Sequence* last = nullptr;
        for (Sequence& each : running_) {
            if (each.gone) continue;
            const std::int64_t priority = requests_[each.index].priority;
            if (last == nullptr || priority >= requests_[last->index].priority) last = &each;
        }
        RIDGE_CONTRACT(last != nullptr);
        const bool itself = last->index == sequence.index;
        preempt(*last);
        if (itself) return false;
    }
    return true;
}

/// What the cache has of a waiting sequence: pages of its group's prefix, and its own.
Server::Found Server::find(const Sequence& sequence) {
    const TrafficRequest& request = requests_[sequence.index];
    const std::int64_t block = deployment_.block;
    const std::int64_t key = key_of(sequence);
    const std::int64_t limit = std::min(request.prefix, request.prompt - 1) / block;
    const std::int64_t last = (request.prompt + sequence.given - 1) / block;
    const std::int64_t prefix = cache_.find(request.group, limit * block) / block;
    const std::int64_t own = cache_.find(key, last * block) / block;
    Found found{.prefix = prefix};
    if (own > 0 && prefix >= sequence.kept_after) {
        found = {.prefix = sequence.kept_after, .own = std::min(own, last - sequence.kept_after)};
    }
    if (options_.host_tokens == 0) return found;
    std::int64_t reach = std::max(prefix, host_.find(request.group, limit));
    const std::int64_t kept = std::max(own, host_.find(key, last));
    if (kept > 0 && reach >= sequence.kept_after) {
        reach =
            std::max(reach, std::min({sequence.kept_after + kept, last, sequence.reached / block}));
    }
    found.fetched = std::max<std::int64_t>(0, reach - found.on_gpu());
    return found;
}

/// What a sequence that was admitted starts with.
void Server::begin(Sequence& sequence, const Found& found) {
    const TrafficRequest& request = requests_[sequence.index];
    RequestOutcome& outcome = run_.requests[sequence.index];
    const std::int64_t block = deployment_.block;
    run_.sums.cached_tokens += found.on_gpu() * block;
    run_.sums.fetched_tokens += found.fetched * block;
    if (adapters_.use(request.adapter)) {
        ++batch_.fetched_adapters;
        ++run_.sums.fetched_adapters;
    }
    if (found.fetched > 0) {
        // Pages come one request after the other.
        const double length = fetch_ns_ * static_cast<double>(found.fetched * block);
        link_ns_ = std::max(link_ns_, now_) + std::llround(length);
        sequence.ready_ns = link_ns_;
    }
    if (outcome.started_ns >= 0) return;
    outcome.started_ns = now_;
    outcome.cached = (found.on_gpu() + found.fetched) * block;
}

/// Admits the first waiting request. False: it must wait.
bool Server::admit_next() {
    Sequence sequence = waiting_.top().sequence;
    const TrafficRequest& request = requests_[sequence.index];
    const bool ready = options_.prompts_ready && run_.requests[sequence.index].preemptions == 0;
    const Found found = ready ? Found{} : find(sequence);
    sequence.computed =
        ready ? request.prompt : (found.on_gpu() + found.fetched) * deployment_.block;
    sequence.reached = std::max(sequence.reached, sequence.computed);
    if (!may_encode(sequence)) return false;
    const std::int64_t chunk = found.fetched > 0 ? 0 : std::min(wanted(sequence), budget_);
    const bool cut = found.fetched == 0 && chunk < wanted(sequence);
    const std::int64_t key = key_of(sequence);
    // An engine that does not cut prompts runs one that is too long for a step alone.
    const bool whole = cut && !deployment_.chunked && budget_ < budget();
    if (whole || (cut && decodes(sequence))) return false;
    if (deployment_.prefix_cache) {
        sequence.group = request.group;
        cache_.hold(sequence.group);
        if (found.own > 0) cache_.hold(key);
    }
    sequence.shared = found.prefix;
    const std::int64_t more = cache_.pages_for(sequence.computed + chunk) - found.on_gpu();
    const bool room = cache_.take(more);
    if (found.own > 0) cache_.release(key, now_);
    if (!room) {
        cache_.release(sequence.group, now_);
        return false;
    }
    take_back(sequence, found.own);
    waiting_.pop();
    sequence.pages += more;
    sequence.chunk = chunk;
    budget_ -= chunk;
    run_.sums.pages_taken += more;
    if (ready) run_.sums.sent_tokens += request.prompt;
    if (chunk > 0) encode(sequence);
    begin(sequence, found);
    running_.push_back(sequence);
    return true;
}

/// The pages that a preempted sequence left behind; what it cannot use is given up.
void Server::take_back(Sequence& sequence, std::int64_t wanted_pages) {
    const std::int64_t all = cache_.reclaim(key_of(sequence));
    run_.sums.pages_kept -= all;
    const std::int64_t unused = all - wanted_pages;
    cache_.give(unused);
    run_.sums.pages_given += unused;
    sequence.pages += wanted_pages;
}

void Server::admit() {
    if (preempted_) return;
    std::vector<Waiting> passed;  // whose adapters have no slot
    while (budget_ > 0 && !waiting_.empty() &&
           static_cast<std::int64_t>(running_.size()) < deployment_.sequences * deployment_.data) {
        if (!adapters_.may_use(requests_[waiting_.top().sequence.index].adapter)) {
            passed.push_back(waiting_.top());
            waiting_.pop();
            continue;
        }
        if (!admit_next()) break;
    }
    for (const Waiting& each : passed) waiting_.push(each);
}

}  // namespace ridge::programs
