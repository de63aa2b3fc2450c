#include "cli/options/model_options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "cli/options/command_line.h"
#include "cli/options/lists.h"
#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "model/catalogue/catalogue.h"
#include "model/core/data_type.h"
#include "programs/configs/presets.h"
#include "programs/host.h"
#include "programs/software/rules.h"

namespace ridge::cli {
namespace {

constexpr std::int64_t usual_length = 2048;

constexpr std::array software_words{programs::Software::transformers, programs::Software::compiled,
                                    programs::Software::serving};

std::optional<programs::Software> software_word(const std::string& word) {
    for (const programs::Software each : software_words) {
        if (name_of(each) == word) return each;
    }
    return std::nullopt;
}

/// NAME or NAME-VERSION, of software that runs models.
model::Software software_called(const std::string& name) {
    const model::Catalogue all = model::Catalogue::with_user_files();
    model::Software software = find_software(all.software(), name);
    if (!software_word(software.program)) {
        throw InputError("software: " + software.name + " does not run models", {},
                         "transformers, compiled, serving, or a framework or engine by name");
    }
    return software;
}

programs::Software software_named(const std::string& word) {
    if (const auto known = software_word(word)) return *known;
    return *software_word(software_called(word).program);
}

model::SoftwareChoice choice_of(const std::string& word) {
    if (software_word(word)) return {};
    return model::SoftwareChoice::named(software_called(word).name);
}

/// "8:1024" counts in doublings.
std::string doubled(const std::string& range) {
    const bool plain = std::count(range.begin(), range.end(), ':') == 1;
    return plain ? range + ":*2" : range;
}

template <typename Value>
const Value& only(const std::vector<Value>& values, const char* option) {
    if (values.size() == 1) return values.front();
    throw InputError(std::string(option) + ": one value was expected, not " +
                     std::to_string(values.size()));
}

}  // namespace

std::vector<std::string> quantise_words() {
    std::vector<std::string> words = programs::quantisation_words();
    words.emplace_back("bf16");
    return words;
}

Option add_quantise_option(CommandLine& line, std::string& words, std::string_view before) {
    const std::vector<std::string> known = programs::quantisation_words();
    std::string help(before);
    help += "weights of the layers: ";
    for (const std::string& word : known) {
        if (&word != &known.front()) help += &word == &known.back() ? " or " : ", ";
        help += word;
    }
    return line
        .option("--quantise,--quantize", words,
                help + " (default: as the config's quantization_config says)")
        .value("WORD");
}

ModelOptions::ModelOptions(CommandLine& line, const UsualStep& usual)
    : phase_(usual.phase), usual_software_(usual.software) {
    line.positional("config", config_, "a config.json, its folder, a .toml, or a preset (--list)")
        .value("CONFIG");
    line.option("--family", family_, "a family's file, instead of the one that the config names")
        .value("FILE");
    line.option("--phase", phase_, "prefill, decode (one token per sequence) or train")
        .one_of({"prefill", "decode", "train"})
        .group("Question");
    line.option("--batch", batch_, "sequences in the batch").value("COUNTS").group("Question");
    line.option("--seq", seq_,
                "tokens of a prompt or, in decode, of the cache (2048, or the model's positions if "
                "fewer)")
        .value("COUNTS")
        .group("Question");
    add_inputs(line);
    line.option("--software", software_,
                "transformers (eager PyTorch), compiled, serving (fused kernels in a graph), or "
                "NAME[-VERSION], such as vllm-0.24.0")
        .value("NAMES")
        .group("Software");
    line.option("--dtype", dtype_, "type of weights and activations")
        .value("TYPES")
        .group("Software");
    line.option("--kv-dtype", kv_dtype_, "type of the cache (default: dtype)").group("Software");
    add_quantise_option(line, quantise_).value("WORDS").words(quantise_words()).group("Software");
    line.option("--logits", logits_, "rows of the head: last or all (default: last; train: all)")
        .one_of({"last", "all"})
        .group("Question");
    line.flag("--no-cache", no_cache_, "prefill without a cache").group("Question");
    line.option("--optimizer", optimizer_, "train: adamw or none")
        .one_of({"adamw", "none"})
        .group("Training");
    line.option("--amp", amp_, "train: weights in fp32, products in bf16")
        .one_of({"bf16"})
        .group("Training");
    line.option("--checkpoint", checkpoint_,
                "train: none, selective (products and attention kept), or full")
        .one_of({"none", "selective", "full"})
        .group("Training");
    line.option("--zero", zero_, "train: ZeRO stage 0 to 3 over --gpus")
        .value("COUNTS")
        .group("Several GPUs");
    line.option("--gpus,--dp", gpus_,
                "train: GPUs, or copies of --tp, --cp and --pp GPUs, each with its own data")
        .value("COUNTS")
        .group("Several GPUs");
    std::vector<std::string> hosts;
    for (const programs::Host& host : programs::hosts()) hosts.emplace_back(host.name);
    line.option("--host", host_,
                "host that dispatches the kernels (default: the one measured with the GPU)")
        .one_of(hosts)
        .group("Software");
    line.option("--launch", launch_,
                "time to launch one small kernel, \"12.5 us\": scales the host's times")
        .group("Software");
    line.option("--tp", tp_, "GPUs that share each product").value("COUNTS").group("Several GPUs");
    line.option("--ep", ep_, "GPUs that share the experts").group("Several GPUs");
}

/// What a prompt holds beside text, and what follows its step.
void ModelOptions::add_inputs(CommandLine& line) {
    line.option("--image", image_, "prefill: images of this size in the prompt, 1024x768")
        .value("WxH")
        .group("Question");
    line.option("--images", images_, "images in each prompt (1, with --image)").group("Question");
    line.option("--audio", audio_, "prefill: seconds of sound in each prompt").group("Question");
    line.flag("--mtp", further_, "run the model's layers for further tokens too").group("Question");
}

ModelOptions::Values ModelOptions::values() const {
    const bool engine = usual_software_ == name_of(programs::Software::serving);
    const std::string usual = engine && phase_ == "train"
                                  ? std::string(name_of(programs::Software::transformers))
                                  : usual_software_;
    return {.software = words_in(software_.empty() ? usual : software_, "software"),
            .dtypes = words_in(dtype_, "dtype"),
            .quantisations =
                quantise_.empty() ? std::vector<std::string>{""} : words_in(quantise_, "quantise"),
            .degrees = counts_in(tp_, "tp"),
            .batches = counts_in(batch_, "batch"),
            .copies = counts_in(doubled(gpus_), "gpus"),
            .stages = counts_in(zero_, "zero"),
            .lengths = seq_.empty() ? std::vector{usual_length} : counts_in(seq_, "seq")};
}

programs::Request ModelOptions::request() const {
    static_cast<void>(only(values().degrees, "tp"));
    return serving_request();
}

programs::Request ModelOptions::serving_request() const {
    const Values all = values();
    return request_of({.software = only(all.software, "software"),
                       .dtype = only(all.dtypes, "dtype"),
                       .quantise = only(all.quantisations, "quantise"),
                       .tp = all.degrees.front(),
                       .batch = only(all.batches, "batch"),
                       .copies = only(all.copies, "gpus"),
                       .zero = only(all.stages, "zero"),
                       .seq = only(all.lengths, "seq")});
}

model::SoftwareChoice ModelOptions::software() const {
    return choice_of(only(values().software, "software"));
}

std::vector<std::int64_t> ModelOptions::degrees() const {
    return counts_in(tp_, "tp");
}

std::vector<std::string> ModelOptions::varying() const {
    const Values all = values();
    std::vector<std::string> names;
    if (all.software.size() > 1) names.emplace_back("software");
    if (all.dtypes.size() > 1) names.emplace_back("dtype");
    if (all.quantisations.size() > 1) names.emplace_back("quantise");
    if (all.degrees.size() > 1) names.emplace_back("tp");
    if (all.copies.size() > 1) names.emplace_back("gpus");
    if (all.stages.size() > 1) names.emplace_back("zero");
    if (all.batches.size() > 1) names.emplace_back("batch");
    if (all.lengths.size() > 1) names.emplace_back("seq");
    return names;
}

std::vector<ModelOptions::Variant> ModelOptions::variants() const {
    struct Partial {
        Choice choice;
        std::vector<std::string> values;
    };
    std::vector<Partial> partial(1);
    // Replaces each partial variant by one for each value of the list.
    const auto vary = [&partial](auto Choice::*field, const auto& list) {
        std::vector<Partial> longer;
        for (const Partial& before : partial) {
            for (const auto& value : list) {
                Partial each = before;
                each.choice.*field = value;
                std::ostringstream text;
                text << value;
                if (list.size() > 1) each.values.push_back(text.str());
                longer.push_back(std::move(each));
            }
        }
        partial = std::move(longer);
    };
    const Values all = values();
    vary(&Choice::software, all.software);
    vary(&Choice::dtype, all.dtypes);
    vary(&Choice::quantise, all.quantisations);
    vary(&Choice::tp, all.degrees);
    vary(&Choice::copies, all.copies);
    vary(&Choice::zero, all.stages);
    vary(&Choice::batch, all.batches);
    vary(&Choice::seq, all.lengths);
    std::vector<Variant> variants;
    for (Partial& each : partial) {
        variants.push_back({.values = std::move(each.values),
                            .request = request_of(each.choice),
                            .software = choice_of(each.choice.software)});
    }
    return variants;
}

std::optional<Time> time_option(const std::string& text, const char* name) {
    if (text.empty()) return std::nullopt;
    try {
        return parse_quantity<Time>(text);
    } catch (const InputError& error) {
        throw InputError(std::string(name) + ": " + error.message(), {}, error.hint());
    }
}

programs::Host ModelOptions::host_or(const programs::Host& beside) const {
    programs::Host host = host_.empty() ? beside : programs::find_host(host_);
    const std::optional<Time> launch = time_option(launch_, "launch");
    if (!launch) return host;
    if (*launch < 0.1 * units::us || *launch > 1.0 * units::ms) {
        throw InputError("launch: must be 0.1 us to 1 ms");
    }
    return programs::at_launch(host, *launch);
}

programs::Architecture ModelOptions::architecture() const {
    if (family_.empty()) return programs::find_model(config_);
    const std::string text = hardware::read_text_file(family_);
    const auto family = programs::read_family(text, family_);
    programs::check_procedures(*family);
    return programs::find_model(config_, family);
}

void ModelOptions::settle_length(const programs::Architecture& architecture, std::int64_t answer) {
    if (!seq_.empty()) return;
    const std::int64_t all = architecture.value("positions");
    const std::int64_t positions = all > answer ? all - answer : all;
    seq_ = std::to_string(positions > 0 ? std::min(usual_length, positions) : usual_length);
}

programs::Request ModelOptions::request_of(const Choice& choice) const {
    using programs::Phase;
    programs::Request request;
    request.phase = phase_ == "train"    ? Phase::train
                    : phase_ == "decode" ? Phase::decode
                                         : Phase::prefill;
    request.software = software_named(choice.software);
    request.batch = choice.batch;
    request.seq = choice.seq;
    request.type = model::parse_data_type(choice.dtype, "dtype");
    request.cache_type =
        kv_dtype_.empty() ? request.type : model::parse_data_type(kv_dtype_, "kv-dtype");
    request.quantisation = programs::parse_quantisation(choice.quantise, "quantise");
    request.logits = logits_ == "all" ? programs::Logits::all : programs::Logits::last;
    request.optimizer =
        optimizer_ == "none" ? programs::Optimizer::none : programs::Optimizer::adamw;
    request.mixed = !amp_.empty();
    // Weights are fp32 with --amp, whether --dtype says so or not; products are bf16.
    if (request.mixed && request.type == model::DataType::fp32) {
        request.type = model::DataType::bf16;
        if (kv_dtype_.empty()) request.cache_type = request.type;
    }
    request.checkpoint = checkpoint_ == "full"        ? programs::Checkpoint::full
                         : checkpoint_ == "selective" ? programs::Checkpoint::selective
                                                      : programs::Checkpoint::none;
    request.tensor_parallel = choice.tp;
    request.expert_parallel = ep_;
    if (choice.zero < 0 || choice.zero > 3) throw InputError("zero: must be 0 to 3");
    request.zero = choice.zero;
    request.data_parallel = choice.copies;
    request.cache = !no_cache_;
    set_images(request);
    check_phase(request);
    if (request.training() && request.software == programs::Software::serving) {
        throw InputError("software: a serving engine does not train");
    }
    if (request.training() && request.quantisation != programs::Quantisation::none &&
        request.quantisation != programs::Quantisation::stored) {
        throw InputError("quantise: quantised weights cannot be trained");
    }
    return request;
}

void ModelOptions::set_images(programs::Request& request) const {
    request.audio = audio_;
    request.drafting = further_;
    if (audio_ < 0) throw InputError("audio: must be 0 or more seconds");
    if (image_.empty()) {
        if (images_ != 0) throw InputError("images: of which size?", {}, "--image 1024x768");
        return;
    }
    const std::size_t cross = image_.find('x');
    const auto side = [&](const std::string& text) {
        const bool whole = !text.empty() && text.size() < 7 &&
                           text.find_first_not_of("0123456789") == std::string::npos;
        if (!whole || text[0] == '0') {
            throw InputError("image: '" + image_ + "' is not WIDTHxHEIGHT", {}, "--image 1024x768");
        }
        return static_cast<std::int64_t>(std::stoll(text));
    };
    request.image_width = side(image_.substr(0, cross));
    request.image_height = side(cross == std::string::npos ? "" : image_.substr(cross + 1));
    request.images = images_ == 0 ? 1 : images_;
    if (images_ < 0) throw InputError("images: must be 1 or more");
}

/// InputError for options that would change nothing.
void ModelOptions::check_phase(const programs::Request& request) const {
    using model::DataType;
    constexpr std::array<DataType, 6> types{DataType::fp32, DataType::tf32, DataType::fp16,
                                            DataType::bf16, DataType::fp8,  DataType::int8};
    const auto check_type = [&](DataType type, std::ptrdiff_t count, const char* option,
                                const char* hint) {
        const auto* const known = types.begin() + count;
        if (std::find(types.begin(), known, type) != known) return;
        throw InputError(std::string(option) + ": not " + std::string(model::name_of(type)), {},
                         hint);
    };
    check_type(request.type, 4, "dtype",
               "fp32, tf32, fp16 or bf16; --quantise for smaller weights");
    check_type(request.cache_type, 6, "kv-dtype", "fp32, tf32, fp16, bf16, fp8 or int8");
    const auto refuse = [](bool given, const char* option, const char* phase,
                           const char* hint = "") {
        if (given) throw InputError(std::string(option) + ": only for --phase " + phase, {}, hint);
    };
    if (!request.training()) {
        refuse(!amp_.empty(), "amp", "train");
        refuse(checkpoint_ != "none", "checkpoint", "train");
        refuse(optimizer_ != "adamw", "optimizer", "train");
        refuse(request.zero != 0, "zero", "train");
        refuse(request.data_parallel != 1, "gpus", "train",
               "--tp divides a step of inference among GPUs; `ridge plan --gpus` finds a layout");
    }
    if (request.phase != programs::Phase::prefill) {
        refuse(!image_.empty(), "image", "prefill");
        refuse(audio_ != 0, "audio", "prefill");
    }
    refuse(request.training() && further_, "mtp", "prefill or decode");
    if (request.training()) {
        refuse(no_cache_, "no-cache", "prefill");
        if (!kv_dtype_.empty()) throw InputError("kv-dtype: a training step has no cache");
        if (logits_ == "last") {
            throw InputError("logits: a training step needs all rows for its loss");
        }
    }
    if (request.mixed && request.type != DataType::bf16) {
        throw InputError(
            "amp: bf16 products contradict --dtype " + std::string(model::name_of(request.type)),
            {}, "with --amp, weights are fp32: --dtype fp32 or none");
    }
    if (request.phase == programs::Phase::decode && no_cache_) {
        throw InputError("no-cache: a decode step reads its cache", {}, "--phase prefill");
    }
    if (no_cache_ && !kv_dtype_.empty()) {
        throw InputError("kv-dtype: with --no-cache there is no cache");
    }
    if (request.zero > 0 && request.data_parallel == 1) {
        throw InputError("zero: ZeRO needs several GPUs", {}, "--gpus 8");
    }
}

}  // namespace ridge::cli
