#include "cli/options/server_extras.h"

#include <algorithm>
#include <cmath>

#include "cli/input/model_input.h"
#include "cli/options/command_line.h"
#include "cli/options/lists.h"
#include "hardware/count.h"
#include "hardware/error.h"

namespace ridge::cli {
namespace {

programs::Draft draft_named(const std::string& word) {
    for (const programs::Draft each : {programs::Draft::ngram, programs::Draft::mtp}) {
        if (name_of(each) == word) return each;
    }
    return programs::Draft::none;
}

}  // namespace

ServerExtras::ServerExtras(CommandLine& line, const ExtraWords& words) : search_(words.search) {
    const std::string before(words.before);
    line.option("--adapters", adapters_, before + "adapters (LoRA) of which each request uses one")
        .group(words.load);
    line.option("--prefix", prefix_, before + "share of each prompt that its group has in common")
        .group(words.load);
    line.option("--groups", groups_, before + "groups of requests with a common prefix")
        .group(words.load);
    line.option("--offload", offload_,
                before + "memory of the host that keeps pages too, of each server")
        .value(search_ ? "SIZES" : "SIZE")
        .group(words.adapters);
    line.option("--rank", rank_, "of the adapters").group(words.adapters);
    line.option("--adapter-slots", adapter_slots_,
                before + "adapters on a GPU at a time (default: all" +
                    (search_ ? ", a quarter, a sixteenth)" : ")"))
        .value(search_ ? "LIST" : "COUNT")
        .group(words.adapters);
    add_drafts(line, words);
}

void ServerExtras::add_drafts(CommandLine& line, const ExtraWords& words) {
    const std::string before(words.before);
    line.option("--draft", draft_,
                before + "speculative decoding: none, ngram, mtp (a layer of the model)")
        .words({"none", "ngram", "mtp"})
        .group(words.drafts);
    line.option("--draft-model", draft_model_, before + "a smaller model that drafts, as MODEL")
        .value(search_ ? "MODELS" : "MODEL")
        .group(words.drafts);
    line.option("--draft-tokens", draft_tokens_, before + "drafted for each sequence and step")
        .value(search_ ? "LIST" : "COUNT")
        .group(words.drafts);
    line.option("--draft-tree", draft_tree_,
                before + "candidates after each at every level instead: 4x2x1")
        .value("WIDTHS")
        .group(words.drafts);
    line.option("--acceptance", acceptance_, before + "probability that a drafted token is right")
        .group(words.drafts);
}

bool ServerExtras::given() const {
    return draft_ != "none" || !draft_model_.empty() || !draft_tree_.empty() || adapters_ != 0 ||
           !adapter_slots_.empty() || !offload_.empty() || prefix_ != 0.0;
}

std::vector<std::vector<std::int64_t>> ServerExtras::widths() const {
    if (!draft_tree_.empty()) {
        std::string levels = draft_tree_;
        std::replace(levels.begin(), levels.end(), 'x', ',');
        return {counts_in(levels, "draft-tree")};
    }
    std::vector<std::vector<std::int64_t>> all;
    for (const std::int64_t tokens : counts_in(draft_tokens_, "draft-tokens")) {
        if (tokens < 0 || tokens > 64) throw InputError("draft-tokens: must be 0 to 64");
        all.push_back(programs::chain_of(tokens));
    }
    return all;
}

std::vector<ServerExtras::Drafts> ServerExtras::drafts() const {
    const bool none = draft_ == "none" && draft_model_.empty();
    if (none && !draft_tree_.empty()) {
        throw InputError("draft-tree: only with a draft", {}, "--draft mtp");
    }
    std::vector<Drafts> all;
    if (none || search_) all.emplace_back();
    if (none) return all;
    if (!search_ && draft_ != "none" && !draft_model_.empty()) {
        throw InputError("draft-model: drafts come from one source");
    }
    const auto add = [&](programs::Draft draft, const std::string& model) {
        for (const std::vector<std::int64_t>& each : widths()) {
            all.push_back(
                {.speculation = {.draft = draft, .acceptance = acceptance_, .widths = each}});
            if (model.empty()) continue;
            all.back().drafter = std::make_shared<const programs::Architecture>(model_named(model));
        }
    };
    for (const std::string& word : words_in(draft_, "draft")) {
        if (word != "none") add(draft_named(word), {});
    }
    if (draft_model_.empty()) return all;
    for (const std::string& model : words_in(draft_model_, "draft-model")) {
        add(programs::Draft::model, model);
    }
    return all;
}

/// Counts of slots for adapters; {0}: no adapters.
std::vector<std::int64_t> ServerExtras::slots(std::int64_t sequences) const {
    if (adapters_ < 0) throw InputError("adapters: must be 0 or more");
    if (adapters_ == 0) {
        if (!adapter_slots_.empty()) throw InputError("adapter-slots: only with --adapters");
        return {0};
    }
    if (!adapter_slots_.empty()) return counts_in(adapter_slots_, "adapter-slots");
    if (!search_) return {std::min(adapters_, sequences)};
    std::vector<std::int64_t> all;
    for (const std::int64_t part : {1, 4, 16}) {
        const std::int64_t count = (adapters_ + part - 1) / part;
        if (all.empty() || all.back() != count) all.push_back(count);
    }
    return all;
}

std::vector<std::int64_t> ServerExtras::offloads() const {
    std::vector<std::int64_t> all;
    if (offload_.empty() || search_) all.push_back(0);
    if (offload_.empty()) return all;
    for (const std::string& word : words_in(offload_, "offload")) {
        all.push_back(parse_count(word, "offload", CountUnit::bytes));
        if (all.back() < 1) throw InputError("offload: must be more than 0");
    }
    return all;
}

std::vector<programs::Deployment> ServerExtras::variants(
    const programs::Deployment& deployment) const {
    std::vector<programs::Deployment> all;
    for (const Drafts& drafted : drafts()) {
        for (const std::int64_t places : slots(deployment.sequences)) {
            for (const std::int64_t offload : offloads()) {
                programs::Deployment d = deployment;
                d.speculation = drafted.speculation;
                d.drafter = drafted.drafter;
                if (places > 0) d.adapters = {.slots = places, .rank = rank_};
                d.offload = offload;
                all.push_back(std::move(d));
            }
        }
    }
    return all;
}

programs::Deployment ServerExtras::only(const programs::Deployment& deployment) const {
    std::vector<programs::Deployment> all = variants(deployment);
    if (all.size() == 1) return std::move(all.front());
    throw InputError("draft, draft-tokens, adapter-slots, offload: one value was expected");
}

programs::Sharing ServerExtras::sharing(std::int64_t prompt) const {
    if (!(prefix_ >= 0.0 && prefix_ < 1.0)) throw InputError("prefix: must be 0 to below 1");
    if (groups_ < 1) throw InputError("groups: must be 1 or more");
    return {.prefix = std::llround(prefix_ * static_cast<double>(prompt)),
            .groups = groups_,
            .adapters = adapters_};
}

}  // namespace ridge::cli
