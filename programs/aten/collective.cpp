#include "programs/aten/collective.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "hardware/units.h"

namespace ridge::programs {
namespace {

using model::CollectiveKind;

struct KindWord {
    std::string_view word;  ///< the kind without '_', in lower case
    CollectiveKind kind;
};

// The first matching word gives the kind: "_reduce_scatter_base", "allreduce_coalesced".
constexpr std::array kind_words{KindWord{"reducescatter", CollectiveKind::reduce_scatter},
                                KindWord{"allgather", CollectiveKind::all_gather},
                                KindWord{"allreduce", CollectiveKind::all_reduce},
                                KindWord{"alltoall", CollectiveKind::all_to_all},
                                KindWord{"broadcast", CollectiveKind::broadcast},
                                KindWord{"send", CollectiveKind::send},
                                KindWord{"recv", CollectiveKind::send}};

struct Recorded {
    CollectiveKind kind = CollectiveKind::all_reduce;
    ElementType type = ElementType::unknown;
    std::int64_t bytes = 0;
    std::int64_t gpus = 0;
};

std::optional<std::int64_t> whole(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return {};
    return value;
}

std::optional<Recorded> parse(std::string_view text) {
    std::array<std::string_view, 5> parts;
    for (std::string_view& part : parts) {
        part = text.substr(0, text.find('|'));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
    }
    std::string word;
    for (const char letter : parts[0]) {
        if (letter != '_')
            word += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
    }
    const auto* const kind = std::find_if(
        kind_words.begin(), kind_words.end(),
        [&word](const KindWord& each) { return word.find(each.word) != std::string::npos; });
    const ElementType type = parse_element_type(parts[3]);
    const auto in = whole(parts[1]);
    const auto out = whole(parts[2]);
    const auto gpus = whole(parts[4]);
    if (kind == kind_words.end() || type == ElementType::unknown || !in || !out || !gpus) return {};
    // The larger side: the data gathered, scattered, or held by all GPUs.
    constexpr std::int64_t most = std::int64_t{1} << 50U;
    const std::int64_t elements = std::max(*in, *out);
    if (elements < 1 || elements > most || *gpus < 2) return {};
    return Recorded{
        .kind = kind->kind, .type = type, .bytes = elements * size_of(type), .gpus = *gpus};
}

}  // namespace

std::optional<Understood> collective_work(std::string_view text) {
    const std::optional<Recorded> found = parse(text);
    if (!found) return {};
    const model::Collective op{.kind = found->kind,
                               .gpus = found->kind == CollectiveKind::send ? 2 : found->gpus,
                               .bytes = found->bytes,
                               .type = data_type(found->type)};
    return Understood{.steps = {{.operation = op, .execution = {}}},
                      .family = OperatorFamily::communication,
                      .result_bytes = found->bytes};
}

std::string collective_text(std::string_view text) {
    const std::optional<Recorded> found = parse(text);
    if (!found) return "";
    return format_traffic(static_cast<double>(found->bytes) * units::B) + " of " +
           std::string(name_of(found->type)) + " over " + std::to_string(found->gpus) + " GPUs";
}

}  // namespace ridge::programs
