#include "cli/options/model_options.h"

#include "cli/options/command_line.h"
#include "hardware/error.h"
#include "model/core/data_type.h"

namespace ridge::cli {

ModelOptions::ModelOptions(CommandLine& line) {
    line.positional("config", config_, "a config.json, its folder, a .toml, or a preset (--list)")
        .value("CONFIG");
    line.option("--phase", phase_, "prefill, decode (one token a sequence) or train")
        .one_of({"prefill", "decode", "train"});
    line.option("--batch", batch_, "sequences");
    line.option("--seq", seq_, "tokens of a prompt; of the cache in decode");
    line.option("--software", software_,
                "transformers (eager PyTorch), compiled, or serving (fused kernels in a graph)")
        .one_of({"transformers", "compiled", "serving"});
    line.option("--dtype", dtype_, "type of weights and activations");
    line.option("--kv-dtype", kv_dtype_, "type of the cache (default: dtype)");
    line.option("--quantise", quantise_, "weights of the layers: none, fp8, int8 or int4")
        .one_of({"none", "fp8", "int8", "int4"});
    line.option("--logits", logits_, "rows of the head: last or all (default: last; train: all)")
        .one_of({"last", "all"});
    line.flag("--no-cache", no_cache_, "prefill without a cache");
    line.option("--optimizer", optimizer_, "train: adamw or none").one_of({"adamw", "none"});
    line.option("--amp", amp_, "train: weights in fp32, products in bf16").one_of({"bf16"});
    line.option("--checkpoint", checkpoint_, "train: none, or full (layers are run again)")
        .one_of({"none", "full"});
    line.option("--zero", zero_, "train: 1 spreads the optimizer's states over --gpus")
        .in_range(std::int32_t{0}, std::int32_t{1});
    line.option("--gpus", gpus_, "train: GPUs with data of their own");
    line.option("--host", host_, "whose dispatch: xeon-h200 or xeon-h100 (default: beside the GPU)")
        .one_of({"xeon-h200", "xeon-h100"});
    line.option("--tp", tp_, "GPUs that share each product");
    line.option("--ep", ep_, "GPUs that share the experts");
}

programs::Request ModelOptions::request() const {
    using programs::Phase;
    using programs::Software;
    programs::Request request;
    request.phase = phase_ == "train"    ? Phase::train
                    : phase_ == "decode" ? Phase::decode
                                         : Phase::prefill;
    request.software = software_ == "serving"    ? Software::serving
                       : software_ == "compiled" ? Software::compiled
                                                 : Software::transformers;
    request.batch = batch_;
    request.seq = seq_;
    request.type = model::parse_data_type(dtype_, "dtype");
    request.cache_type =
        kv_dtype_.empty() ? request.type : model::parse_data_type(kv_dtype_, "kv-dtype");
    request.quantisation = programs::parse_quantisation(quantise_, "quantise");
    request.logits = logits_ == "all" ? programs::Logits::all : programs::Logits::last;
    request.optimizer =
        optimizer_ == "none" ? programs::Optimizer::none : programs::Optimizer::adamw;
    request.mixed = !amp_.empty();
    request.checkpoint =
        checkpoint_ == "full" ? programs::Checkpoint::full : programs::Checkpoint::none;
    request.tensor_parallel = tp_;
    request.expert_parallel = ep_;
    request.zero = zero_;
    request.data_parallel = gpus_;
    request.cache = !no_cache_;
    if (request.training() && request.software == Software::serving) {
        throw InputError("software: a serving engine does not train");
    }
    if (request.training() && request.quantisation != programs::Quantisation::none) {
        throw InputError("quantise: weights that are trained are not quantised");
    }
    return request;
}

}  // namespace ridge::cli
