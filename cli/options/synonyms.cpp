#include "cli/options/synonyms.h"

#include <algorithm>
#include <array>

namespace ridge::cli {
namespace {

/// Words between spaces, and what they mean: the first whose option the command knows.
struct Synonym {
    std::string_view words;
    std::array<std::string_view, 3> means;
};

constexpr std::array synonyms{
    Synonym{" context ctx context-length seq-len seqlen seq-length sequence-length max-model-len "
            "max-length length tokens num-tokens ",
            {"--seq", "--prompt"}},
    Synonym{" input input-len input-length input-tokens isl prompt prompt-len prompt-length ",
            {"--prompt", "--seq"}},
    Synonym{" output-len output-length output-tokens osl max-tokens max-new-tokens generate ",
            {"--answer"}},
    Synonym{" qps rps request-rate requests-per-second ", {"--rate"}},
    Synonym{" users clients parallel num-requests ", {"--concurrency", "--batch"}},
    Synonym{" device devices chip card hardware accelerator ", {"--gpu"}},
    Synonym{" n num-gpus n-gpus ngpus gpu-count world-size ", {"--gpus", "--tp"}},
    Synonym{" tensor-parallel tensor-parallel-size tp-size ", {"--tp"}},
    Synonym{" pipeline-parallel pipeline-parallel-size pp-size ", {"--pp"}},
    Synonym{" expert-parallel expert-parallel-size ep-size ", {"--ep"}},
    Synonym{" data-parallel data-parallel-size dp-size ", {"--dp", "--gpus"}},
    Synonym{" b bs batch-size batches ", {"--batch"}},
    Synonym{" num-heads n-heads nheads q-heads ", {"--heads"}},
    Synonym{" num-kv-heads n-kv-heads ", {"--kv-heads"}},
    Synonym{" dim head-size d ", {"--head-dim"}},
    Synonym{" threads block block-size block-threads ", {"--threads", "--block"}},
    Synonym{" blocks grid-size num-blocks ", {"--grid"}},
    Synonym{" size nbytes ", {"--bytes", "--elements"}},
    Synonym{" numel count length ", {"--elements"}},
    Synonym{" shape dims ", {"--m M --n N --k K", "--rows R --cols C", "--elements"}},
    Synonym{" quant quantization quantisation weight-dtype weights ", {"--quantise"}},
    Synonym{" precision type data-type ", {"--dtype"}},
    Synonym{" plot chart png svg html pdf save out file ", {"-o FILE"}},
    Synonym{" csv ", {"--format csv"}},
    Synonym{" markdown ", {"--format md"}},
    Synonym{" decode ", {"--phase decode"}},
    Synonym{" prefill ", {"--phase prefill"}},
    Synonym{" train training ", {"--phase train", "--pass training"}},
    Synonym{" lora ", {"--finetune lora"}},
    Synonym{" qlora ", {"--finetune qlora"}},
    Synonym{" engine framework backend ", {"--software", "--engine"}},
    Synonym{" software stack ", {"--engine"}},
    Synonym{" cost ", {"--price"}},
    Synonym{" slo latency ", {"--tpot"}},
    Synonym{" verbose v why details ", {"--explain"}},
    Synonym{" op operation ", {"--op"}},
};

struct CommandWord {
    std::string_view words;
    std::string_view means;
};

constexpr std::array commands{
    CommandWord{" finetune fine-tune lora ", "ridge plan MODEL --finetune lora"},
    CommandWord{" train training ", "ridge plan MODEL --train"},
    CommandWord{" fit-model fits size ", "ridge plan MODEL"},
    CommandWord{" memory mem ", "ridge vram"},
    CommandWord{" energy power watts ",
                "ridge predict OPERATION, whose answer has power and energy; ridge sweep --power"},
    CommandWord{" estimate time latency run ", "ridge predict OPERATION, or ridge model MODEL"},
    CommandWord{" simulate serving throughput ", "ridge serve MODEL"},
    CommandWord{" bench benchmark ", "ridge measure OPERATION"},
    CommandWord{" explain why ", "ridge predict OPERATION --explain, or ridge diagnose TIMES"},
    CommandWord{" analyze analyse slow ", "ridge diagnose TIMES, or ridge trace FILE"},
    CommandWord{" list chips devices ", "ridge gpus"},
    CommandWord{" presets models ", "ridge model --list"},
    CommandWord{" operations operators ", "ridge ops"},
    CommandWord{" lessons learn effects ", "ridge effect list"},
    CommandWord{" web ui gui open ", "ridge explore"},
};

bool has_word(std::string_view words, std::string_view word) {
    const std::string sought = " " + std::string(word) + " ";
    return words.find(sought) != std::string_view::npos;
}

/// Whether the suggestion begins with an option that the command knows.
bool is_known(std::string_view suggestion, const std::vector<std::string>& known) {
    if (suggestion.empty()) return false;
    if (suggestion == "-o FILE") suggestion = "--output";
    const std::string_view name = suggestion.substr(0, suggestion.find(' '));
    return std::find(known.begin(), known.end(), name) != known.end();
}

}  // namespace

std::string meant_by(std::string_view option, const std::vector<std::string>& known) {
    const std::size_t dashes = option.find_first_not_of('-');
    if (dashes == std::string_view::npos) return {};
    const std::string_view word = option.substr(dashes);
    const std::string as_long = "--" + std::string(word);
    if (dashes == 1 && is_known(as_long, known)) return as_long;
    for (const Synonym& each : synonyms) {
        if (!has_word(each.words, word)) continue;
        for (const std::string_view suggestion : each.means) {
            if (is_known(suggestion, known)) return std::string(suggestion);
        }
    }
    return {};
}

std::string command_meant_by(std::string_view word) {
    for (const CommandWord& each : commands) {
        if (has_word(each.words, word)) return std::string(each.means);
    }
    return {};
}

}  // namespace ridge::cli
