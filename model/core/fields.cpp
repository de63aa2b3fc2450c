#include "model/core/fields.h"

#include <algorithm>
#include <vector>

#include "hardware/checked.h"
#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/nearest.h"
#include "model/core/words.h"

namespace ridge::model {
namespace {

using enum Field;
using Kind = OperationKind;

constexpr std::array<std::string_view, 2> layouts{"row", "column"};
constexpr std::array<std::string_view, 5> epilogues{"none", "bias", "bias_relu", "bias_gelu",
                                                    "accumulate"};
constexpr std::array<std::string_view, 3> parts_of_recurrence{"conv", "scan", "conv+scan"};
/// Those of mla, then those of recurrences.
constexpr std::array<std::string_view, 5> phases{"prefill", "decode", "context", "generation",
                                                 "verify"};
constexpr std::array<std::string_view, 2> directions{"forward", "backward"};
constexpr std::array<std::string_view, 3> axes{"rows", "columns", "all"};
constexpr std::array<std::string_view, 2> switch_additions{"auto", "off"};
constexpr std::array<std::string_view, 2> pipes{"vector", "tensor"};
const std::array<std::string_view, access_pattern_count> patterns{
    name_of(AccessPattern::strided),   name_of(AccessPattern::misaligned),
    name_of(AccessPattern::divergent), name_of(AccessPattern::bank_conflict),
    name_of(AccessPattern::chase),     name_of(AccessPattern::reread)};

template <std::size_t size>
std::int64_t parse_enumerator(const std::array<std::string_view, size>& words,
                              std::string_view field, std::string_view text) {
    for (std::size_t i = 0; i < size; ++i) {
        if (same_word(words[i], text)) return static_cast<std::int64_t>(i);
    }
    refuse_word(field, text, words);
}

std::int64_t parse_flag(std::string_view field, std::string_view text) {
    constexpr std::array flags{"0", "1", "no", "yes", "off", "on", "false", "true"};
    for (std::size_t i = 0; i < flags.size(); ++i) {
        if (same_word(text, flags[i])) return static_cast<std::int64_t>(i % 2);
    }
    throw InputError(std::string(field) + ": '" + std::string(text) + "' is not a flag", {},
                     "write 1 or 0, true or false");
}

/// A count; a size for fields in bytes; the product of "16x32" for a grid or a block.
std::int64_t parse_sizes(Field field, std::string_view name, std::string_view text) {
    const bool sized = field == bytes || field == l2_bytes || field == shared;
    const CountUnit unit = sized ? CountUnit::bytes : CountUnit::none;
    if (field != grid && field != block) return parse_count(text, name, unit);
    std::int64_t all = 1;
    while (true) {
        const std::size_t cross = std::min(text.find('x'), text.size());
        all = checked_product({{name, all}, {name, parse_count(text.substr(0, cross), name)}});
        if (cross == text.size()) return all;
        text.remove_prefix(cross + 1);
    }
}

std::int64_t parse_word(Field field, std::string_view name, std::string_view text) {
    switch (field) {
        case a_layout:
        case b_layout:
            return parse_enumerator(layouts, name, text);
        case epilogue:
            return parse_enumerator(epilogues, name, text);
        case direction:
            return parse_enumerator(directions, name, text);
        case axis:
            return parse_enumerator(axes, name, text);
        case nvls:
            return parse_enumerator(switch_additions, name, text);
        case pipe:
            return parse_enumerator(pipes, name, text);
        case phase:
            return parse_enumerator(phases, name, text);
        case part:
            if (same_word(text, "fused")) return static_cast<std::int64_t>(RecurrencePart::fused);
            return parse_enumerator(parts_of_recurrence, name, text);
        case distribution:
            return parse_expert_load(text, name).exponent_thousandths;
        case pattern:
            return parse_enumerator(patterns, name, text);
        case impl:
            return static_cast<std::int64_t>(parse_implementation(text));
        case l2:
            return static_cast<std::int64_t>(parse_l2_state(text));
        case launch:
            return static_cast<std::int64_t>(parse_launch_mode(text));
        case software:
            return SoftwareChoice::named(text).number();
        case kernel:
            return KernelChoice::named(text).number();
        case mode:
            return static_cast<std::int64_t>(parse_run_mode(text));
        default:
            return static_cast<std::int64_t>(parse_data_type(text, name));
    }
}

std::string word_text(Field field, std::int64_t value) {
    const auto position = static_cast<std::size_t>(value);
    switch (field) {
        case a_layout:
        case b_layout:
            return std::string(layouts[position]);
        case epilogue:
            return std::string(epilogues[position]);
        case direction:
            return std::string(directions[position]);
        case axis:
            return std::string(axes[position]);
        case nvls:
            return std::string(switch_additions[position]);
        case pipe:
            return std::string(pipes[position]);
        case phase:
            return std::string(phases[position]);
        case part:
            return std::string(parts_of_recurrence[position]);
        case distribution:
            return to_string(ExpertLoad{value});
        case pattern:
            return std::string(patterns[position]);
        case impl:
            return std::string(name_of(static_cast<Implementation>(value)));
        case l2:
            return std::string(name_of(static_cast<L2State>(value)));
        case launch:
            return std::string(name_of(static_cast<LaunchMode>(value)));
        case software:
            return std::string(SoftwareChoice::of_number(value).name());
        case kernel:
            return std::string(KernelChoice::of_number(value).name());
        case mode:
            return std::string(name_of(static_cast<RunMode>(value)));
        default:
            return std::string(name_of(static_cast<DataType>(value)));
    }
}

template <class Enumerator, std::size_t size>
std::vector<std::string_view> names_of(const std::array<Enumerator, size>& all) {
    std::vector<std::string_view> names;
    names.reserve(size);
    for (const Enumerator each : all) names.push_back(name_of(each));
    return names;
}

}  // namespace

std::int64_t number_of_word(std::string_view text) {
    const auto place = [text](const auto& words) {
        return std::find(words.begin(), words.end(), text) - words.begin();
    };
    if (const auto at = place(parts_of_recurrence); at < std::ssize(parts_of_recurrence)) return at;
    if (const auto at = place(phases); at < std::ssize(phases)) return at;
    return static_cast<std::int64_t>(parse_data_type(text, "a word"));
}

std::vector<std::string_view> words_of(const OperationInfo& operation, Field field) {
    const auto listed = [](const auto& words) {
        return std::vector<std::string_view>(words.begin(), words.end());
    };
    if (info_of(field).kind != FieldKind::word) return {};
    switch (field) {
        case a_layout:
        case b_layout:
            return listed(layouts);
        case epilogue:
            return listed(epilogues);
        case direction:
            return listed(directions);
        case axis:
            return listed(axes);
        case nvls:
            return listed(switch_additions);
        case pipe:
            return listed(pipes);
        case phase: {
            const auto all = listed(phases);
            const auto first = all.begin() + recurrence_phases;
            return operation.kind == Kind::mla ? std::vector(all.begin(), first)
                                               : std::vector(first, all.end());
        }
        case part:
            return listed(parts_of_recurrence);
        case distribution:
        case tile:
        case software:
        case kernel:
            return {};
        case mode:
            return names_of(
                std::array{RunMode::usual, RunMode::eager, RunMode::compiled, RunMode::graph});
        case pattern:
            return listed(patterns);
        case impl: {
            std::vector<std::string_view> names{name_of(Implementation::automatic)};
            for (const Implementation each : operation.implementations) {
                names.push_back(name_of(each));
            }
            return names;
        }
        case l2:
            return names_of(std::array{L2State::warm, L2State::cold, L2State::dirty});
        case launch:
            return names_of(std::array{LaunchMode::kernel, LaunchMode::graph, LaunchMode::stream});
        default:
            return names_of(all_data_types);
    }
}

void Parameters::set(Field field, std::string_view text) {
    if (field == software) {
        if (const auto run = mode_of_word(text)) return set(mode, name_of(*run));
    }
    const FieldInfo& info = info_of(field);
    std::int64_t value = 0;
    switch (info.kind) {
        case FieldKind::count:
            value = parse_sizes(field, info.name, text);
            if (!text.empty() && (text.back() < '0' || text.back() > '9')) {
                const auto written = read_count(text, CountUnit::bytes);
                decimal_prefix_ = decimal_prefix_ || (written && written->decimal);
            }
            break;
        case FieldKind::flag:
            value = parse_flag(info.name, text);
            break;
        case FieldKind::word:
            if (field == tile) {
                tile_ = parse_tile(text);
            } else {
                value = parse_word(field, info.name, text);
            }
            break;
        case FieldKind::text:
            if (field == expr) expression_ = text;
            if (field == vectors) vectors_ = text;
            if (field == scalars) scalars_ = text;
            break;
    }
    set_count(field, value);
}

void Parameters::set_count(Field field, std::int64_t value) {
    counts_[index(field)] = value;
    present_[index(field)] = true;
}

void Parameters::clear() {
    present_.reset();
    decimal_prefix_ = false;
    expression_.clear();
    vectors_.clear();
    scalars_.clear();
}

std::string Parameters::text(Field field) const {
    const FieldInfo& info = info_of(field);
    switch (info.kind) {
        case FieldKind::count:
        case FieldKind::flag:
            return std::to_string(count(field));
        case FieldKind::text:
            return field == expr ? expression_ : field == vectors ? vectors_ : scalars_;
        case FieldKind::word:
            break;
    }
    return field == tile ? to_string(tile_) : word_text(field, count(field));
}

namespace {

template <class Enum>
Enum choice_or(const Parameters& parameters, Field field, Enum otherwise) {
    return static_cast<Enum>(parameters.count_or(field, static_cast<std::int64_t>(otherwise)));
}

}  // namespace

std::vector<std::string_view> missing_fields(OperationKind kind, const Parameters& p) {
    std::vector<std::string_view> missing;
    for (const Field field : info_of(kind).required) {
        if (!p.has(field)) missing.push_back(info_of(field).name);
    }
    if (applies(kind, seq_q) && !p.has(seq) && !p.has(seq_q)) {
        missing.emplace_back("seq (or seq_q and seq_kv)");
    }
    return missing;
}

std::string missing_text(std::span<const std::string_view> names, std::string_view operation) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool last = i + 1 == names.size();
        text += (i == 0 ? "" : last ? " and " : ", ") + std::string(names[i]);
    }
    text += names.size() == 1 ? " is missing" : " are missing";
    return text + " for " + std::string(operation);
}

DataType default_type(OperationKind kind, const Parameters& p) {
    if (kind != Kind::access || !p.has(pattern)) return DataType::bf16;
    const auto chosen = static_cast<AccessPattern>(p.count(pattern));
    const bool any = chosen == AccessPattern::strided || chosen == AccessPattern::misaligned;
    return any ? DataType::bf16 : DataType::fp32;
}

Parameters with_defaults(OperationKind kind, Parameters parameters) {
    const Execution execution = make_execution(parameters);
    const auto fill = [&](Field field, auto value) {
        if (!applies(kind, field) || parameters.has(field)) return;
        parameters.set_count(field, static_cast<std::int64_t>(value));
    };
    fill(dtype, default_type(kind, parameters));
    fill(l2, execution.l2);
    fill(launch, execution.launch);
    return parameters;
}

Execution make_execution(const Parameters& p) {
    Execution execution{.implementation = choice_or(p, impl, Implementation::automatic),
                        .l2 = choice_or(p, l2, L2State::warm),
                        .launch = choice_or(p, launch, LaunchMode::kernel),
                        .tile = std::nullopt,
                        .software = SoftwareChoice::of_number(p.count_or(software, 0)),
                        .mode = choice_or(p, mode, RunMode::usual),
                        .kernel = KernelChoice::of_number(p.count_or(kernel, 0))};
    if (p.has(tile)) execution.tile = p.tile_;
    return execution;
}

}  // namespace ridge::model
