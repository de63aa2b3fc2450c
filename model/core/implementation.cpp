#include "model/core/implementation.h"

#include <array>
#include <charconv>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "hardware/error.h"
#include "hardware/nearest.h"
#include "model/core/words.h"

namespace ridge::model {
namespace {

template <class Enum>
struct Word {
    Enum value;
    std::string_view text;
};
template <class Enum>
Word(Enum, std::string_view) -> Word<Enum>;

constexpr std::array implementations{
    Word{Implementation::automatic, std::string_view("auto")},
    Word{Implementation::library, std::string_view("library")},
    Word{Implementation::copy_engine, std::string_view("copy_engine")},
    Word{Implementation::pageable, std::string_view("pageable")},
    Word{Implementation::bundled, std::string_view("bundled")},
    Word{Implementation::torch, std::string_view("torch")},
    Word{Implementation::compiled, std::string_view("compiled")},
    Word{Implementation::standard, std::string_view("standard")},
    Word{Implementation::flash1, std::string_view("flash1")},
    Word{Implementation::flash2, std::string_view("flash2")},
    Word{Implementation::flash3, std::string_view("flash3")},
    Word{Implementation::flashinfer, std::string_view("flashinfer")},
    Word{Implementation::torch_flash, std::string_view("torch-flash")},
    Word{Implementation::torch_efficient, std::string_view("torch-efficient")},
    Word{Implementation::torch_cudnn, std::string_view("torch-cudnn")},
    Word{Implementation::torch_math, std::string_view("torch-math")},
    Word{Implementation::cutlass, std::string_view("cutlass")},
    Word{Implementation::fused, std::string_view("fused")},
    Word{Implementation::unfused, std::string_view("unfused")},
    Word{Implementation::manual, std::string_view("manual")},
    Word{Implementation::naive, std::string_view("naive")},
    Word{Implementation::coalesced, std::string_view("coalesced")},
    Word{Implementation::tiled, std::string_view("tiled")},
    Word{Implementation::register_tiled, std::string_view("register_tiled")},
    Word{Implementation::mma, std::string_view("mma")},
    Word{Implementation::wgmma, std::string_view("wgmma")},
    Word{Implementation::custom, std::string_view("custom")},
    Word{Implementation::engine, std::string_view("engine")}};

constexpr std::array l2_states{Word{L2State::warm, std::string_view("warm")},
                               Word{L2State::cold, std::string_view("cold")},
                               Word{L2State::dirty, std::string_view("dirty")}};

constexpr std::array launch_modes{Word{LaunchMode::kernel, std::string_view("kernel")},
                                  Word{LaunchMode::graph, std::string_view("graph")},
                                  Word{LaunchMode::stream, std::string_view("stream")}};

template <class Words, class Enum>
std::string_view word_of(const Words& words, Enum value) {
    for (const auto& word : words) {
        if (word.value == value) return word.text;
    }
    return "?";
}

template <class Words>
auto parse_word(const Words& words, std::string_view text, std::string_view field) {
    for (const auto& word : words) {
        if (same_word(word.text, text)) return word.value;
    }
    std::vector<std::string_view> known;
    known.reserve(std::size(words));
    for (const auto& word : words) known.push_back(word.text);
    refuse_word(field, text, known);
}

}  // namespace

namespace {

struct NeedsFramework {
    bool operator()(const Elementwise& op) const {
        const ExpressionCounts& counts = op.expression.fused();
        return op.result() != op.type || counts.mask_reads > 0 || counts.mask_writes > 0;
    }
    bool operator()(const RowWise& op) const {
        return op.kind > RowKind::sum || op.axis != Axis::rows;
    }
    bool operator()(const Transpose& op) const { return op.batch > 1 || op.inner > 1; }
    bool operator()(const Copy& op) const { return op.stride > 1; }
    bool operator()(const Cat&) const { return true; }
    bool operator()(const AdamW&) const { return true; }
    template <class Op>
    bool operator()(const Op&) const {
        return false;
    }
};

}  // namespace

bool needs_framework(const Operation& operation) {
    return std::visit(NeedsFramework{}, operation);
}

std::string_view name_of(Implementation implementation) {
    return word_of(implementations, implementation);
}
std::string_view name_of(L2State state) {
    return word_of(l2_states, state);
}
std::string_view name_of(LaunchMode mode) {
    return word_of(launch_modes, mode);
}

Implementation parse_implementation(std::string_view text) {
    if (same_word(text, "eager")) return Implementation::torch;
    return parse_word(implementations, text, "impl");
}
L2State parse_l2_state(std::string_view text) {
    return parse_word(l2_states, text, "l2");
}
LaunchMode parse_launch_mode(std::string_view text) {
    return parse_word(launch_modes, text, "launch");
}

Tile parse_tile(std::string_view text) {
    std::array<std::int32_t, 3> edges{};
    std::size_t count = 0;
    const char* position = text.data();
    const char* const end = text.data() + text.size();
    while (count < edges.size()) {
        const auto [next, error] = std::from_chars(position, end, edges[count]);
        if (error != std::errc{} || edges[count] < 1 || edges[count] > 4096) break;
        position = next;
        ++count;
        if (position == end || *position != 'x') break;
        ++position;
    }
    if (count < 2 || position != end || text.back() == 'x') {
        throw InputError("tile: '" + std::string(text) + "' is not a tile", {},
                         "write MxN or MxNxK with edges from 1 to 4096, for example 128x256");
    }
    return {.m = edges[0], .n = edges[1], .k = edges[2]};
}

std::string to_string(const Tile& tile) {
    const std::string edges = std::to_string(tile.m) + "x" + std::to_string(tile.n);
    return tile.k > 0 ? edges + "x" + std::to_string(tile.k) : edges;
}

}  // namespace ridge::model
