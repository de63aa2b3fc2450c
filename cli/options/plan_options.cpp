#include "cli/options/plan_options.h"

#include <algorithm>

#include "cli/options/command_line.h"
#include "cli/options/lists.h"
#include "cli/options/model_options.h"
#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using answers::Purpose;

constexpr std::int64_t usual_prompt = 2048;

void add_sizes(CommandLine& line, std::string& seq, std::string& answer, std::string& batch,
               std::int64_t& most) {
    line.option("--seq", seq, "tokens of a prompt or of a training sequence (default: 2048)")
        .value("COUNT")
        .group("Question");
    line.option("--answer", answer, "serve: tokens of an answer (default: 256)")
        .value("COUNT")
        .group("Question");
    line.option("--batch", batch,
                "sequences on all GPUs together, at a time or in a step (default: the best)")
        .value("LIST")
        .group("Question");
    line.option("--most", most, "serve: the largest batch of one copy that is tried")
        .group("Question");
}

programs::Software software_of(const std::string& word, Purpose purpose) {
    using programs::Software;
    if (word.empty()) {
        return purpose == Purpose::serve ? Software::serving : Software::transformers;
    }
    for (const Software each : {Software::transformers, Software::compiled, Software::serving}) {
        if (name_of(each) != word) continue;
        if (each == Software::serving && purpose != Purpose::serve) {
            throw InputError("software: a serving engine does not train");
        }
        return each;
    }
    throw InputError("software: '" + word + "' is not transformers, compiled or serving");
}

}  // namespace

PlanOptions::PlanOptions(CommandLine& line) {
    line.positional("model", model_, "a preset (`ridge model --list`), config.json, or its folder")
        .value("MODEL");
    const Option serve = line.flag("--serve", serve_, "serve it (the default)").group("Question");
    Option train = line.flag("--train", train_, "train all weights").group("Question");
    Option finetune =
        line.option("--finetune", finetune_, "adapters: lora, or qlora on 4-bit weights")
            .one_of({"lora", "qlora"})
            .group("Question");
    train.excludes(serve);
    finetune.excludes(serve).excludes(train);
    add_sizes(line, seq_, answer_, batch_, most_);
    targets_.emplace(
        line, TargetWords{
                  .group = "Question", .tpot = "default: 50ms; none: any", .price_group = "Cost"});
    line.option("--rate", rate_, "serve: requests per second to meet")
        .value("RATE")
        .group("Question");
    line.option("--engine", engine_, "serve: engines to search (default: vllm)")
        .value("LIST")
        .group("Software");
    add_layouts(line);
    line.option("--dtype", dtype_, "type of weights and activations").group("Software");
    line.option("--kv-dtype", kv_dtype_, "serve: type of the cache").group("Software");
    add_quantise_option(line, quantise_, "serve: ")
        .value("LIST")
        .words(quantise_words())
        .group("Software");
    line.option("--software", software_,
                "serving, transformers (eager) or compiled (default: serving; train: transformers)")
        .group("Software");
    line.option("--amp", amp_, "train: bf16 (weights in fp32) or none (weights in --dtype)")
        .one_of({"bf16", "none"})
        .group("Software");
    line.option("--optimizer", optimizer_, "train: AdamW, or its states in one byte each")
        .one_of({"adamw", "adamw8bit"})
        .group("Software");
    extras_.emplace(line, ExtraWords{.drafts = "Drafts and sharing",
                                     .adapters = "Drafts and sharing",
                                     .load = "Drafts and sharing",
                                     .before = "serve: ",
                                     .search = true});
    line.option("--reserve", reserve_,
                "memory of each GPU that stays free: graphs, NCCL, fragmentation")
        .value("SIZE")
        .group("Cost");
}

void PlanOptions::add_layouts(CommandLine& line) {
    line.option("--gpus", gpus_, "numbers of GPUs (default: 1,2,4,8)")
        .value("LIST")
        .group("Layout");
    line.option("--tp", tp_, "only these degrees of tensor parallelism")
        .value("LIST")
        .group("Layout");
    line.option("--ep", ep_, "only these of expert parallelism").value("LIST").group("Layout");
    line.option("--pp", pp_, "only these numbers of pipeline stages").value("LIST").group("Layout");
    line.option("--cp", cp_, "train: only these numbers of GPUs that share a sequence")
        .value("LIST")
        .group("Layout");
    line.option("--dp", dp_, "only these numbers of copies").value("LIST").group("Layout");
    line.option("--zero", zero_, "train: only these ZeRO stages").value("LIST").group("Layout");
    line.option("--checkpoint", checkpoint_, "train: only none, selective or full")
        .value("LIST")
        .group("Layout");
}

Purpose PlanOptions::purpose() const {
    if (train_) return Purpose::train;
    if (finetune_ == "lora") return Purpose::lora;
    return finetune_ == "qlora" ? Purpose::qlora : Purpose::serve;
}

answers::LayoutChoice PlanOptions::layouts() const {
    answers::LayoutChoice choice;
    const auto fill = [](std::vector<std::int64_t>& values, const std::string& text,
                         const char* option) {
        if (!text.empty()) values = counts_in(text, option);
    };
    fill(choice.tensor_parallel, tp_, "tp");
    fill(choice.expert_parallel, ep_, "ep");
    fill(choice.pipeline, pp_, "pp");
    fill(choice.context_parallel, cp_, "cp");
    fill(choice.copies, dp_, "dp");
    fill(choice.zero, zero_, "zero");
    for (const std::int64_t stage : choice.zero) {
        if (stage < 0 || stage > 3) throw InputError("zero: must be 0 to 3");
    }
    if (checkpoint_.empty()) return choice;
    using programs::Checkpoint;
    for (const std::string& word : words_in(checkpoint_, "checkpoint")) {
        const std::size_t before = choice.checkpoint.size();
        for (const Checkpoint each : {Checkpoint::none, Checkpoint::selective, Checkpoint::full}) {
            if (answers::name_of(each) == word) choice.checkpoint.push_back(each);
        }
        if (choice.checkpoint.size() == before) {
            throw InputError("checkpoint: '" + word + "' is not none, selective or full");
        }
    }
    return choice;
}

/// InputError for options that would change nothing.
void PlanOptions::check(Purpose purpose) const {
    const auto refuse = [](bool given, const char* option, const char* only) {
        if (given) throw InputError(std::string(option) + ": only " + only);
    };
    if (purpose != Purpose::serve) {
        refuse(!answer_.empty(), "answer", "for serving");
        refuse(targets_->given_ttft(), "ttft", "for serving");
        refuse(targets_->given_tpot(), "tpot", "for serving");
        refuse(!kv_dtype_.empty(), "kv-dtype", "for serving");
        refuse(!rate_.empty(), "rate", "for serving");
        refuse(!engine_.empty(), "engine", "for serving");
        refuse(!ep_.empty(), "ep", "for serving");
        refuse(extras_->given(), "draft, adapters, prefix, offload", "for serving");
        refuse(!quantise_.empty(), "quantise", "for serving; --finetune qlora for 4-bit weights");
    } else {
        refuse(!zero_.empty(), "zero", "with --train");
        refuse(!checkpoint_.empty(), "checkpoint", "with --train or --finetune");
        refuse(!cp_.empty(), "cp", "with --train");
        refuse(optimizer_ != "adamw", "optimizer", "with --train or --finetune");
    }
    refuse(purpose != Purpose::train && !amp_.empty(), "amp", "with --train");
    const bool adapters = purpose == Purpose::lora || purpose == Purpose::qlora;
    refuse(adapters && !pp_.empty(), "pp", "for serving and with --train");
    refuse(adapters && !cp_.empty(), "cp", "with --train");
}

answers::PlanQuestion PlanOptions::question(const programs::Architecture& architecture) const {
    answers::PlanQuestion question;
    question.purpose = purpose();
    check(question.purpose);
    const bool serves = question.purpose == Purpose::serve;
    question.answer = answer_.empty() ? question.answer : parse_count(answer_, "answer");
    const std::int64_t positions = architecture.value("positions");
    const std::int64_t longest =
        positions > 0 ? positions - (serves ? question.answer : 0) : usual_prompt;
    question.seq = seq_.empty() ? std::clamp<std::int64_t>(longest, 1, usual_prompt)
                                : parse_count(seq_, "seq");
    if (!batch_.empty()) question.batches = counts_in(batch_, "batch");
    if (question.batches.size() == 1) {
        question.batch = question.batches.front();
        question.batches.clear();
    }
    question.most = most_;
    question.gpus = counts_in(gpus_, "gpus");
    question.layouts = layouts();
    question.type = model::parse_data_type(dtype_, "dtype");
    question.cache_type =
        kv_dtype_.empty() ? question.type : model::parse_data_type(kv_dtype_, "kv-dtype");
    if (!quantise_.empty()) {
        for (const std::string& word : words_in(quantise_, "quantise")) {
            question.quantisations.push_back(programs::parse_quantisation(word, "quantise"));
        }
        question.quantisation = question.quantisations.front();
        if (question.quantisations.size() == 1) question.quantisations.clear();
    }
    question.software = software_of(software_, question.purpose);
    question.optimizer =
        optimizer_ == "adamw8bit" ? answers::Optimizer::adamw8bit : answers::Optimizer::adamw;
    question.mixed = question.purpose == Purpose::train && amp_ != "none" &&
                     question.type == model::DataType::bf16;
    question.lora_rank = extras_->rank();
    question.targets = targets_->targets();
    if (!targets_->given_tpot() && serves && batch_.empty()) {
        question.targets.tpot = answers::usual_token_time();
    }
    question.reserve = parse_count(reserve_, "reserve", CountUnit::bytes);
    return question;
}

std::optional<answers::DeploymentQuestion> PlanOptions::deployments(
    const answers::PlanQuestion& question) const {
    const bool targets = targets_->given_ttft() || targets_->given_tpot() || !rate_.empty();
    if (!serve_ || !targets) {
        if (!rate_.empty() || !engine_.empty() || extras_->given()) {
            throw InputError(
                "rate, draft, adapters: the search over deployments needs --serve and a target", {},
                "--serve --ttft 500ms --tpot 30ms");
        }
        return std::nullopt;
    }
    answers::DeploymentQuestion search{.prompt = question.seq,
                                       .answer = question.answer,
                                       .targets = question.targets,
                                       .gpus = question.gpus,
                                       .layouts = question.layouts,
                                       .type = question.type,
                                       .cache_type = question.cache_type,
                                       .reserve = question.reserve};
    if (!rate_.empty()) {
        search.rate = parse_number(rate_, "rate");
        if (!(search.rate > 0.0)) throw InputError("rate: must be more than 0");
    }
    search.variants = extras_->variants({});
    search.sharing = extras_->sharing(question.seq);
    if (!pp_.empty()) search.pipelines = counts_in(pp_, "pp");
    if (!engine_.empty()) search.engines = words_in(engine_, "engine");
    for (const std::string& engine : search.engines) {
        static_cast<void>(programs::find_engine(engine));
    }
    search.quantisations = question.quantisations;
    if (search.quantisations.empty()) search.quantisations = {question.quantisation};
    if (quantise_.empty()) search.quantisations.push_back(programs::Quantisation::fp8);
    return search;
}

}  // namespace ridge::cli
