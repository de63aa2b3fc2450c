#include "answers/plan_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/units.h"

namespace ridge::answers {
namespace {

std::string of(std::int64_t count, const char* one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

/// "1, 8 and 64"
template <class Values, class Text>
std::string listed(const Values& values, Text&& text_of_value) {
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0) text += i + 1 == values.size() ? " and " : ", ";
        text += text_of_value(values[i]);
    }
    return text;
}

std::string capacity(std::int64_t bytes) {
    return format_capacity(Bytes::from_base(static_cast<double>(bytes)));
}

std::string rate_text(double tokens_per_s) {
    return format_number(tokens_per_s, 3) + " tokens/s";
}

/// "23.4 ms per token (80 % band 21.9 ms to 25.1 ms)"
std::string pace_text(const PlanRow& row, Purpose purpose) {
    return fmt::format("{} per {} (80 % band {} to {})", format(row.pace->time),
                       purpose == Purpose::serve ? "token" : "step", format(row.pace->low),
                       format(row.pace->high));
}

std::string speed_text(const PlanRow& row, Purpose purpose) {
    if (!row.pace) return "its time is not modelled: " + row.reason;
    std::string text = rate_text(row.tokens_per_s);
    if (row.gpus > 1) {
        text += fmt::format(" in all ({} per GPU)", format_number(row.per_gpu(), 3));
    }
    text += ", " + pace_text(row, purpose);
    if (row.first_token) text += fmt::format(", {} to the first", format(row.first_token->time));
    return text;
}

/// " At $7.98 an hour, a million tokens cost $6.30."; empty without a price.
std::string cost_text(const PlanRow& row) {
    const auto million = row.per_million();
    if (!million) return {};
    const char* const unit = row.price_source.empty() ? "" : "$";
    return fmt::format(" At {}{} an hour, a million tokens cost {}{}.", unit,
                       format_number(*row.price_per_hour, 3), unit, format_number(*million, 3));
}

const char* object_of(Purpose purpose) {
    switch (purpose) {
        case Purpose::serve:
            return "served";
        case Purpose::train:
            return "trained with AdamW";
        case Purpose::lora:
            return "fine-tuned with LoRA";
        case Purpose::qlora:
            break;
    }
    return "fine-tuned with QLoRA (4-bit weights)";
}

Json to_json(const Spread& spread, const char* prefix) {
    const std::string name(prefix);
    Json json = Json::object();
    json[name + "_us"] = spread.time.in(units::us);
    json[name + "_low_us"] = spread.low.in(units::us);
    json[name + "_high_us"] = spread.high.in(units::us);
    return json;
}

void add(Json& json, const Json& members) {
    for (const JsonMember& member : members.members()) json[member.name] = member.value;
}

Json to_json(const Layout& layout, Purpose purpose) {
    Json json{{"tp", layout.tensor_parallel},
              {"ep", layout.expert_parallel},
              {"pp", layout.pipeline},
              {"dp", layout.copies}};
    if (purpose == Purpose::serve) {
        json["batch_of_copy"] = layout.micro_batch;
        return json;
    }
    json["cp"] = layout.context_parallel;
    json["zero"] = layout.zero;
    json["checkpoint"] = name_of(layout.checkpoint);
    json["micro_batch"] = layout.micro_batch;
    json["accumulation"] = layout.accumulation;
    return json;
}

Json to_json(const MemoryNeed& memory) {
    return {{"weights_bytes", memory.weights},
            {"cache_bytes", memory.cache},
            {"gradients_bytes", memory.gradients},
            {"optimizer_bytes", memory.optimizer},
            {"activations_bytes", memory.activations},
            {"reserve_bytes", memory.reserve},
            {"total_bytes", memory.total()}};
}

Json question_json(const PlanQuestion& question) {
    Json json{{"purpose", name_of(question.purpose)},
              {"seq", question.seq},
              {"dtype", model::name_of(question.type)},
              {"software", programs::name_of(question.software)},
              {"reserve_bytes", question.reserve}};
    json["batch"] = question.batch ? Json(*question.batch) : Json();
    if (!question.batches.empty()) {
        json["batches"] = Json::array();
        for (const std::int64_t each : question.batches) json["batches"].push_back(each);
    }
    if (question.purpose == Purpose::serve) {
        json["answer"] = question.answer;
        json["kv_dtype"] = model::name_of(question.cache_type);
        json["quantise"] = programs::name_of(question.quantisation);
        if (!question.quantisations.empty()) {
            json["quantise"] = Json();
            json["quantisations"] = Json::array();
            for (const programs::Quantisation each : question.quantisations) {
                json["quantisations"].push_back(programs::name_of(each));
            }
        }
        const auto target = [](const std::optional<Time>& time) {
            return time ? Json(time->in(units::us)) : Json();
        };
        json["ttft_target_us"] = target(question.targets.ttft);
        json["tpot_target_us"] = target(question.targets.tpot);
        return json;
    }
    json["optimizer"] = name_of(question.optimizer);
    json["mixed"] = question.mixed;
    if (question.purpose != Purpose::train) json["lora_rank"] = question.lora_rank;
    return json;
}

/// {"measured": 0.98, "related": 0.02, ...}
Json shares_json(const PlanRow& row) {
    Json shares = Json::object();
    for (std::size_t i = 0; i < row.evidence_shares.size(); ++i) {
        shares[std::string(model::name_of(static_cast<model::Grade>(i)))] = row.evidence_shares[i];
    }
    return shares;
}

}  // namespace

std::string question_of(const Plan& plan) {
    const PlanQuestion& q = plan.question;
    std::string text = object_of(q.purpose);
    if (q.purpose == Purpose::train) {
        text += q.optimizer == Optimizer::adamw8bit ? " in 8 bits" : "";
        text += q.mixed ? ", fp32 weights and bf16 products" : ", bf16 weights";
    }
    if (q.purpose == Purpose::serve) {
        text += fmt::format(": prompts of {} tokens, answers of {}, {}", q.seq, q.answer,
                            model::name_of(q.type));
        if (!q.quantisations.empty()) {
            text += ", weights in " + listed(q.quantisations, [](programs::Quantisation each) {
                        return std::string(programs::name_of(each));
                    });
        } else if (q.quantisation != programs::Quantisation::none &&
                   q.quantisation != programs::Quantisation::stored) {
            text += fmt::format(", {} weights", programs::name_of(q.quantisation));
        }
        if (q.cache_type != q.type) {
            text += fmt::format(", {} cache", model::name_of(q.cache_type));
        }
    } else {
        text += fmt::format(": sequences of {} tokens", q.seq);
    }
    if (!q.batches.empty()) {
        text += ", " + listed(q.batches, [](std::int64_t each) { return std::to_string(each); }) +
                " sequences at a time";
    }
    if (q.batch) text += fmt::format(", {} at a time", of(*q.batch, "sequence"));
    return text + fmt::format(", {}", programs::name_of(q.software));
}

std::string memory_text(const PlanRow& row) {
    return fmt::format("{} of {}", capacity(row.memory.total()), capacity(row.usable));
}

std::string text_of(const Change& change, Purpose asked) {
    const PlanRow& row = change.then;
    std::string text = fmt::format("{}: fits in {}", change.what, memory_text(row));
    if (row.gpus > 1) text += fmt::format(" of each GPU ({})", text_of(row.layout));
    return text + ", " + speed_text(row, asked);
}

std::string verdict_of(const Plan& plan) {
    const PlanRow* best = recommended(plan);
    if (best == nullptr) {
        const PlanRow* least = nullptr;
        for (const PlanRow& row : plan.rows) {
            if (row.memory.total() == 0) continue;
            if (least == nullptr ||
                row.memory.total() - row.usable < least->memory.total() - least->usable) {
                least = &row;
            }
        }
        if (least == nullptr) return "No layout was possible: " + plan.rows.front().reason + ".";
        return fmt::format(
            "Does not fit: the nearest, {} x {}{}, needs {} of each GPU, {} too much.", least->gpus,
            least->gpu, least->variant.empty() ? "" : " with " + least->variant,
            memory_text(*least), capacity(least->memory.total() - least->usable));
    }
    std::string text =
        fmt::format("Fits on {} x {} ({} of {} usable on each)", best->gpus, best->gpu,
                    capacity(best->memory.total()), capacity(best->usable));
    if (best->gpus > 1) text += ", " + text_of(best->layout);
    if (!best->variant.empty()) text += ", with " + best->variant;
    text += ": " + speed_text(*best, plan.question.purpose);
    if (best->pace && !best->meets_targets) text += "; misses the target";
    return text + "." + cost_text(*best);
}

std::string evidence_of(const Plan& plan) {
    const PlanRow* best = recommended(plan);
    if (best == nullptr || !best->pace) return {};
    std::string text;
    for (std::size_t i = best->evidence_shares.size(); i-- > 0;) {
        if (best->evidence_shares[i] <= 0.0) continue;
        text += fmt::format("{}{} {} %", text.empty() ? "" : ", ",
                            model::name_of(static_cast<model::Grade>(i)),
                            format_number(100.0 * best->evidence_shares[i], 3));
    }
    return fmt::format("Evidence on {} x {}, by time of the kernels: {}.", best->gpus, best->gpu,
                       text);
}

std::vector<std::string> remarks_on(const Plan& plan) {
    std::vector<std::string> remarks;
    const PlanQuestion& q = plan.question;
    if (q.reserve > 0) {
        remarks.push_back(fmt::format(
            "Reserve: {} of each GPU for CUDA graphs, NCCL and fragmentation (--reserve).",
            capacity(q.reserve)));
    }
    const bool unmeasured = std::any_of(plan.rows.begin(), plan.rows.end(), [](const PlanRow& row) {
        return row.pace && row.pace->evidence != model::Grade::measured;
    });
    if (unmeasured) {
        remarks.emplace_back(
            "Evidence: the weakest of the step's operations; related and distant rest on other "
            "GPUs or kernels, datasheet on the data sheet alone.");
    }
    for (const PlanRow& row : plan.rows) {
        if (!row.fits || row.pace || row.reason.empty()) continue;
        remarks.push_back(fmt::format("No time on {}: {}.", row.gpu, row.reason));
        break;
    }
    const bool several = std::any_of(plan.rows.begin(), plan.rows.end(),
                                     [](const PlanRow& row) { return row.gpus > 1; });
    if (several) {
        remarks.emplace_back("All GPUs share one NVLink domain.");
    }
    std::vector<std::string> sources;
    for (const PlanRow& row : plan.rows) {
        const std::string& source = row.price_source;
        if (source.empty() || !row.price_per_hour) continue;
        if (std::find(sources.begin(), sources.end(), source) == sources.end()) {
            sources.push_back(source);
        }
    }
    for (const std::string& source : sources) {
        remarks.push_back(fmt::format("Prices are US dollars: {}. --price takes yours.", source));
    }
    if (std::any_of(plan.rows.begin(), plan.rows.end(),
                    [](const PlanRow& row) { return row.host_bound; })) {
        remarks.emplace_back("The host is slower than the GPU in some rows; bands are of kernels.");
    }
    if (q.purpose == Purpose::lora || q.purpose == Purpose::qlora) {
        remarks.push_back(fmt::format(
            "Adapters of rank {} on the products of attention and mlp; not compared with "
            "measurements.",
            q.lora_rank));
    }
    if (q.optimizer == Optimizer::adamw8bit) {
        remarks.emplace_back("The step is timed with AdamW of full width.");
    }
    return remarks;
}

Json to_json(const PlanRow& row, Purpose purpose) {
    Json json{{"gpu", row.gpu},
              {"gpus", row.gpus},
              {"fits", row.fits},
              {"usable_bytes", row.usable},
              {"memory_evidence", model::name_of(row.usable_measured ? model::Grade::related
                                                                     : model::Grade::datasheet)},
              {"memory", to_json(row.memory)},
              {"layout", to_json(row.layout, purpose)},
              {"batch", row.batch}};
    if (purpose == Purpose::serve) json["quantise"] = programs::name_of(row.quantisation);
    json["tokens_per_s"] = row.pace ? Json(row.tokens_per_s) : Json();
    json["tokens_per_s_per_gpu"] = row.pace ? Json(row.per_gpu()) : Json();
    if (row.pace) {
        add(json, to_json(*row.pace, purpose == Purpose::serve ? "time_per_token" : "step"));
        json["evidence"] = model::name_of(row.pace->evidence);
        json["host_bound"] = row.host_bound;
    }
    if (row.first_token) add(json, to_json(*row.first_token, "first_token"));
    if (row.pace) json["evidence_shares"] = shares_json(row);
    if (purpose == Purpose::serve) json["meets_targets"] = row.pace && row.meets_targets;
    if (row.price_per_hour) json["price_per_hour"] = *row.price_per_hour;
    if (!row.price_source.empty()) json["price_source"] = row.price_source;
    if (const auto million = row.per_million()) json["price_per_million_tokens"] = *million;
    if (!row.reason.empty()) json["reason"] = row.reason;
    return json;
}

Json to_json(const Plan& plan) {
    Json json{{"schema", plan_schema},
              {"model", plan.model},
              {"parameters", plan.parameters},
              {"active_parameters", plan.active_parameters},
              {"verdict", verdict_of(plan)},
              {"question", question_json(plan.question)},
              {"rows", Json::array()},
              {"changes", Json::array()},
              {"remarks", Json(remarks_on(plan))},
              {"layouts_searched", plan.layouts}};
    for (const PlanRow& row : plan.rows) {
        json["rows"].push_back(to_json(row, plan.question.purpose));
    }
    const PlanRow* best = recommended(plan);
    json["recommended"] = best == nullptr ? Json() : Json(best - plan.rows.data());
    json["changed_row"] = plan.changed ? Json(*plan.changed) : Json();
    for (const Change& change : plan.changes) {
        json["changes"].push_back({{"what", change.what},
                                   {"gives_up", name_of(change.gives_up)},
                                   {"then", to_json(change.then, plan.question.purpose)}});
    }
    return json;
}

}  // namespace ridge::answers
