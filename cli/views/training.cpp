#include "cli/views/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/console/json_document.h"
#include "cli/console/rows.h"
#include "cli/views/memory.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "model/predict.h"
#include "plot/sweep.h"
#include "plot/timeline.h"
#include "programs/utilisation.h"

namespace ridge::cli {
namespace {

using programs::BlockKind;

std::string decimal_of(std::int64_t bytes) {
    return decimal_bytes(bytes_of(bytes));
}

/// Model FLOP utilisation: each copy's FLOP over the time of all its GPUs; of one GPU, and of the whole.
std::optional<double> mfu_of(const TrainingAnswer& answer) {
    if (!answer.step.wall) return std::nullopt;
    if (answer.shape.pipeline > 1) {
        const auto micro_batches = static_cast<double>(answer.shape.micro_batches);
        const auto ranks = static_cast<double>(answer.shape.pipeline);
        return micro_batches * (answer.step.at_peak / answer.step.wall->time) / ranks;
    }
    programs::StepTime time = answer.step.time;
    time.wall = answer.step.wall->time / static_cast<double>(answer.shape.micro_batches);
    return utilisation_of(answer.step.step, time, *answer.place.machine).flop;
}

std::string layout_text(const TrainingAnswer& answer) {
    const programs::Request& r = answer.request;
    std::string text;
    const auto add = [&text](const char* name, std::int64_t degree) {
        if (degree > 1) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, degree);
    };
    add("dp", r.data_parallel);
    add("tp", r.tensor_parallel);
    add("ep", r.expert_parallel);
    add("cp", answer.shape.context);
    add("pp", answer.shape.pipeline);
    if (r.zero > 0) text += fmt::format(", ZeRO {}", r.zero);
    if (answer.shape.pipeline > 1) text += fmt::format(", {}", name_of(answer.shape.schedule));
    return text.empty() ? "one GPU" : text;
}

Table ranks_of_pipeline(const TrainingAnswer& answer) {
    Table table{.columns = {{"rank"}, {"busy"}, {"waiting"}, {"host"}, {"held"}, {"memory"}},
                .rows = {}};
    const programs::PipelineRun& run = *answer.step.pipeline;
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
        table.rows.push_back({std::to_string(rank), format(run.busy[rank]),
                              format(run.time - run.busy[rank]), format(run.host[rank]),
                              std::to_string(run.in_flight[rank]),
                              decimal_of(answer.memory[rank])});
    }
    return table;
}

Json json_of_training(const TrainingAnswer& answer) {
    const auto rate = answer.tokens_per_s();
    const auto mfu = mfu_of(answer);
    Json memory = Json::array();
    for (const std::int64_t each : answer.memory) memory.push_back(each);
    Json json{{"model", answer.architecture->name},
              {"gpu", answer.place.machine->name},
              {"gpus", answer.gpus()},
              {"dp", answer.request.data_parallel},
              {"zero", answer.request.zero},
              {"tp", answer.request.tensor_parallel},
              {"ep", answer.request.expert_parallel},
              {"cp", answer.shape.context},
              {"pp", answer.shape.pipeline},
              {"schedule", name_of(answer.shape.schedule)},
              {"parts", answer.shape.parts},
              {"micro_batch", answer.request.batch},
              {"micro_batches", answer.shape.micro_batches},
              {"seq", answer.request.seq},
              {"host_us", answer.step.host.in(units::us)},
              {"communication_us", answer.step.communication.in(units::us)},
              {"exposed_us", answer.step.exposed.in(units::us)},
              {"memory_bytes", std::move(memory)},
              {"tokens_per_s_of_all_gpus", rate ? Json(*rate) : Json()},
              {"mfu_of_one_gpu", mfu ? Json(*mfu) : Json()},
              {"mfu_of_all_gpus", mfu ? Json(*mfu) : Json()},
              {"reason", answer.step.reason}};
    const auto& wall = answer.step.wall;
    json["wall_us"] = wall ? Json(wall->time.in(units::us)) : Json();
    json["wall_low_us"] = wall ? Json(wall->low.in(units::us)) : Json();
    json["wall_high_us"] = wall ? Json(wall->high.in(units::us)) : Json();
    json["evidence"] = wall ? Json(model::name_of(wall->evidence)) : Json();
    json["bubble"] = answer.step.pipeline ? Json(answer.step.pipeline->bubble) : Json();
    return json;
}

}  // namespace

std::int64_t TrainingAnswer::gpus_of_copy() const {
    return request.tensor_parallel * request.expert_parallel * shape.pipeline * shape.context;
}

std::int64_t TrainingAnswer::gpus() const {
    return gpus_of_copy() * request.data_parallel;
}

std::optional<double> TrainingAnswer::tokens_per_s() const {
    if (!step.wall) return std::nullopt;
    const auto sequences =
        static_cast<double>(request.batch * shape.micro_batches * request.data_parallel);
    return sequences * static_cast<double>(request.seq) / step.wall->time.in(units::s);
}

TrainingAnswer answer_training(const programs::Architecture& architecture,
                               programs::Request request, const answers::TrainingShape& shape,
                               const Place& place) {
    if (place.machine == nullptr) {
        throw InputError("gpu is missing: which GPU?", {}, "--gpu h100-sxm");
    }
    if (!request.training()) throw InputError("pp, cp, micro-batches: only for --phase train");
    if (place.machine->sm_count > 0) request.multiprocessors = place.machine->sm_count;
    // Gradients of weights are reduced, and ZeRO spreads states, over copies and shares.
    programs::Request spread = request;
    spread.data_parallel *= shape.context;
    TrainingAnswer answer{
        .architecture = &architecture,
        .request = request,
        .shape = shape,
        .step = training_step(architecture, spread, shape, *place.machine, place.host),
        .place = place};
    if (answer.step.pipeline) {
        answer.memory = memory_of_ranks(architecture, spread, shape, *answer.step.pipeline);
    } else {
        answer.memory = {memory_of(answer.step.step).peak};
    }
    return answer;
}

void write_training(const Context& context, const TrainingAnswer& answer, Format form) {
    if (form == Format::json) {
        write_document(context.out, "training", json_of_training(answer));
        return;
    }
    if (form != Format::table) return write_scaling(context, {answer}, form);
    const programs::Architecture& a = *answer.architecture;
    context.out << fmt::format(
        "{} ({}), {} layers: train of {} x {} x {} tokens on {} GPUs: {}\n\n", a.name, a.family,
        a.layers(), answer.shape.micro_batches, answer.request.batch, answer.request.seq,
        answer.gpus(), layout_text(answer));
    if (!answer.step.wall) {
        write_sentence(context, "Not modelled: " + answer.step.reason + ".");
        return;
    }
    if (answer.step.pipeline) {
        write_text(context.out, ranks_of_pipeline(answer));
        context.out << '\n';
    }
    const answers::Spread& wall = *answer.step.wall;
    write_sentence(context, fmt::format("Step {} ({} to {}); host {} ({}).", format(wall.time),
                                        format(wall.low), format(wall.high),
                                        format(answer.step.host), answer.place.host.name));
    if (answer.step.pipeline) {
        write_sentence(
            context,
            fmt::format("Pipeline {}, in which a rank waits for {:.0f} % of the time; "
                        "then the update.",
                        format(answer.step.pipeline->time), 100.0 * answer.step.pipeline->bubble));
    }
    write_sentence(context,
                   fmt::format("Communication of a GPU {}, {} of it exposed.",
                               format(answer.step.communication), format(answer.step.exposed)));
    const double rate = *answer.tokens_per_s();
    std::string text =
        fmt::format("{} tokens/s together, {} on each of {} GPUs", format_number(rate, 4),
                    format_number(rate / static_cast<double>(answer.gpus()), 4), answer.gpus());
    if (const auto mfu = mfu_of(answer)) {
        text += fmt::format("; MFU {} %, of {} and of the whole", format_number(100.0 * *mfu, 3),
                            answer.step.pipeline ? "the ranks on average" : "each GPU");
    }
    write_sentence(context, text + ".");
    if (!answer.step.pipeline) {
        write_sentence(context, fmt::format("Memory of each GPU {} at the peak.",
                                            decimal_of(answer.memory.front())));
    }
}

plot::Chart pipeline_chart(const TrainingAnswer& answer) {
    if (!answer.step.pipeline) {
        throw InputError("chart: pipeline needs stages", {}, "--phase train --pp 4");
    }
    plot::Timeline timeline{
        .title = "Pipeline of " + answer.architecture->name,
        .subtitle =
            fmt::format("{}: a rank waits for {:.0f} % of {}", layout_text(answer),
                        100.0 * answer.step.pipeline->bubble, format(answer.step.pipeline->time)),
        .unit = "ms",
        .sorts = {{.name = "forward", .series = "forward", .color = plot::Color::blue},
                  {.name = "backward", .series = "backward", .color = plot::Color::orange},
                  {.name = "weights", .series = "weight gradients", .color = plot::Color::green}}};
    const auto& ranks = answer.step.pipeline->ranks;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        timeline.lanes.push_back(fmt::format("rank {}", rank));
        for (const programs::Block& block : ranks[rank]) {
            timeline.bars.push_back({.from = block.from.in(units::ms),
                                     .to = block.to.in(units::ms),
                                     .lane = rank,
                                     .sort = static_cast<std::size_t>(block.kind)});
        }
    }
    return plot::timeline_chart(timeline);
}

void write_scaling(const Context& context, const std::vector<TrainingAnswer>& answers,
                   Format form) {
    if (form == Format::json) {
        Json rows = Json::array();
        for (const TrainingAnswer& each : answers) rows.push_back(json_of_training(each));
        write_document(context.out, "scaling", {{"steps", std::move(rows)}});
        return;
    }
    Rows rows{.columns = {{"gpus"},
                          {"layout"},
                          {"step"},
                          {"tokens/s"},
                          {"efficiency"},
                          {"communication"},
                          {"exposed"},
                          {"not modelled"}}};
    const auto first = answers.front().tokens_per_s();
    const auto fewest = static_cast<double>(answers.front().gpus());
    for (const TrainingAnswer& each : answers) {
        const auto rate = each.tokens_per_s();
        const bool compared = rate && first;
        const double efficiency =
            compared ? (*rate / static_cast<double>(each.gpus())) / (*first / fewest) : 0.0;
        rows.rows.push_back({{std::to_string(each.gpus())},
                             {layout_text(each)},
                             {each.step.wall ? format(each.step.wall->time) : ""},
                             {rate ? format_number(*rate, 4) : ""},
                             {compared ? fmt::format("{:.1f} %", 100.0 * efficiency) : ""},
                             {each.step.wall ? format(each.step.communication) : ""},
                             {each.step.wall ? format(each.step.exposed) : ""},
                             {each.step.reason}});
    }
    write_rows(context, rows, form);
}

namespace {

Json json_of_stage(const programs::Architecture& stage, const StepAnswer& answer,
                   std::int64_t index) {
    Json json{{"stage", index},
              {"first_layer", stage.first_layer},
              {"layers", stage.layers()},
              {"embedding", stage.embeds},
              {"head", stage.ends},
              {"parameters", answer.step.parameters},
              {"weights_bytes", answer.step.weights_bytes},
              {"kv_cache_bytes", answer.step.kv_cache_bytes},
              {"peak_bytes", answer.memory.peak},
              {"reserved_bytes", answer.memory.reserved}};
    const bool timed = answer.time && answer.time->gpu.total.left_out.empty();
    json["time_us"] = timed ? Json(answer.time->gpu.total.time.in(units::us)) : Json();
    return json;
}

}  // namespace

void write_stages(const Context& context, const programs::Architecture& architecture,
                  const programs::Request& request, const Place& place, std::int64_t stages,
                  Format form) {
    if (stages > architecture.layers()) {
        throw InputError("pp: " + std::to_string(architecture.layers()) + " layers, which " +
                         std::to_string(stages) + " stages cannot share");
    }
    Json list = Json::array();
    Rows rows{.columns = {{"stage"},
                          {"layers"},
                          {"with"},
                          {"weights"},
                          {"cache"},
                          {"peak"},
                          {"reserved"},
                          {"GPU time"}}};
    for (std::int64_t i = 0; i < stages; ++i) {
        const programs::Architecture stage = architecture.stage(i, stages);
        const StepAnswer answer = answer_step(stage, request, place);
        list.push_back(json_of_stage(stage, answer, i));
        const std::int64_t end = stage.first_layer + stage.layers() - 1;
        rows.rows.push_back({{std::to_string(i)},
                             {fmt::format("{} to {}", stage.first_layer, end)},
                             {stage.embeds && stage.ends ? "embedding, head"
                              : stage.embeds             ? "embedding"
                              : stage.ends               ? "head"
                                                         : ""},
                             {std::to_string(answer.step.weights_bytes)},
                             {std::to_string(answer.step.kv_cache_bytes)},
                             {std::to_string(answer.memory.peak)},
                             {std::to_string(answer.memory.reserved)},
                             {answer.time ? model::text_of_sum(answer.time->gpu.total.time,
                                                               answer.time->gpu.total.left_out)
                                          : ""}});
    }
    if (form == Format::json) {
        write_document(context.out, "stages",
                       {{"model", architecture.name},
                        {"phase", name_of(request.phase)},
                        {"stages", std::move(list)}});
        return;
    }
    write_rows(context, rows, form);
}

plot::Chart scaling_chart(const std::vector<TrainingAnswer>& answers) {
    plot::Sweep sweep;
    sweep.title = "Scaling of " + answers.front().architecture->name;
    sweep.subtitle =
        fmt::format("a training step of {} x {} tokens on each copy, {}",
                    answers.front().request.batch * answers.front().shape.micro_batches,
                    answers.front().request.seq, answers.front().place.machine->name);
    sweep.x = {.title = "GPUs", .scale = plot::Scale::log};
    sweep.y = {.title = "Time", .unit = "ms", .scale = plot::Scale::log};
    plot::Series wall{.name = "step"};
    plot::Series communication{.name = "communication"};
    plot::Series exposed{.name = "exposed communication"};
    const auto first = answers.front().tokens_per_s();
    for (const TrainingAnswer& each : answers) {
        const auto rate = each.tokens_per_s();
        if (!rate || !first) {
            sweep.notes.push_back(
                fmt::format("Not drawn: {} GPUs: {}.", each.gpus(), each.step.reason));
            continue;
        }
        const auto gpus = static_cast<double>(each.gpus());
        const double efficiency =
            (*rate / gpus) / (*first / static_cast<double>(answers.front().gpus()));
        const std::vector<plot::Term> terms{
            {"step", format(each.step.wall->time)},
            {"tokens/s", format_number(*rate, 4)},
            {"efficiency", fmt::format("{:.1f} %", 100.0 * efficiency)},
            {"communication", format(each.step.communication)},
            {"exposed", format(each.step.exposed)}};
        const auto add = [&](plot::Series& series, Time time) {
            if (time > Time{}) {
                series.points.push_back({.x = gpus, .y = time.in(units::ms), .terms = terms});
            }
        };
        add(wall, each.step.wall->time);
        add(communication, each.step.communication);
        add(exposed, each.step.exposed);
    }
    for (plot::Series* const each : {&wall, &communication, &exposed}) {
        if (!each->points.empty()) sweep.series.push_back(std::move(*each));
    }
    return plot::sweep_chart(sweep);
}

}  // namespace ridge::cli
