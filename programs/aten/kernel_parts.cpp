#include "programs/aten/kernel_parts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "hardware/document.h"
#include "hardware/error.h"
#include "programs/aten/convolution_shape.h"

namespace ridge::programs {
namespace {

enum class Way : std::uint8_t { any, forward, input, weight };

struct KernelClass {
    std::string name;
    std::vector<std::string>
        patterns;  ///< each of pieces that follow one another, with '*' between
    Way way = Way::any;
    bool powers = false;
    bool flat = false;
};

std::string_view text_at(const hardware::Node& table, std::string_view key) {
    const hardware::Node* const node = table.child(key);
    return node == nullptr ? std::string_view{} : std::string_view{node->text};
}

std::vector<KernelClass> read_classes() {
    std::vector<KernelClass> classes;
    for (const hardware::EmbeddedFile& file : embedded_kernel_classes()) {
        const hardware::Document document =
            hardware::parse_document(file.text, std::string(file.path));
        RIDGE_CONTRACT(!document.problem);
        for (const hardware::Node& table : document.root.child("class")->children) {
            KernelClass one{.name = std::string(text_at(table, "name")), .patterns = {}};
            for (const hardware::Node& pattern : table.child("kernels")->children) {
                one.patterns.emplace_back(pattern.text);
            }
            const std::string_view way = text_at(table, "way");
            one.way = way == "forward"  ? Way::forward
                      : way == "input"  ? Way::input
                      : way == "weight" ? Way::weight
                                        : Way::any;
            const hardware::Node* const powers = table.child("powers");
            one.powers = powers != nullptr && powers->boolean;
            const hardware::Node* const flat = table.child("flat");
            one.flat = flat != nullptr && flat->boolean;
            classes.push_back(std::move(one));
        }
    }
    return classes;
}

bool matches(std::string_view name, std::string_view pattern) {
    while (!pattern.empty()) {
        const std::string_view piece = pattern.substr(0, pattern.find('*'));
        const std::size_t place = name.find(piece);
        if (place == name.npos) return false;
        name.remove_prefix(place + piece.size());
        pattern.remove_prefix(std::min(pattern.size(), piece.size() + 1));
    }
    return true;
}

const KernelClass& class_of(std::string_view name) {
    static const std::vector<KernelClass> classes = read_classes();
    static const KernelClass other{.name = "other", .patterns = {}};
    for (const KernelClass& each : classes) {
        if (std::any_of(each.patterns.begin(), each.patterns.end(),
                        [name](const std::string& pattern) { return matches(name, pattern); })) {
            return each;
        }
    }
    return other;
}

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

/// The number at the beginning, which is removed.
std::int64_t take_number(std::string_view& text) {
    std::int64_t number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

constexpr std::int64_t largest_side = 1024;

/// What follows a tile of two numbers: "x32" or "_32x3"; 0: nothing of the kind.
std::int64_t depth_of(std::string_view rest) {
    const bool apart = rest.starts_with('_');
    if (!apart && !rest.starts_with('x')) return 0;
    rest.remove_prefix(1);
    const std::int64_t depth = take_number(rest);
    if (depth > largest_side || (apart && !rest.starts_with('x'))) return 0;
    return depth;
}

/// How many groups of a convolution a tile holds beside one another: "_g16_".
std::int64_t groups_of(std::string_view rest) {
    for (std::size_t place = rest.find("_g"); place != rest.npos;
         place = rest.find("_g", place + 1)) {
        std::string_view number = rest.substr(place + 2);
        if (number.empty() || !is_digit(number.front())) continue;
        const std::int64_t groups = take_number(number);
        if (number.starts_with('_') && groups > 0 && groups <= largest_side) return groups;
    }
    return 1;
}

std::optional<Tile> tile_by_powers(std::string_view name) {
    constexpr std::int64_t fewest_threads = 64;
    constexpr std::int64_t most = 10;  // 2^10 rows
    const std::size_t begin = name.find('<');
    if (begin == name.npos) return {};
    name.remove_prefix(begin + 1);
    std::vector<std::int64_t> numbers;
    while (!name.empty() && name.front() != '>') {
        while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
        std::int64_t number = -1;
        if (!name.empty() && is_digit(name.front())) number = take_number(name);
        numbers.push_back(number);
        const std::size_t next = name.find_first_of(",>");
        if (next == name.npos) break;
        if (name[next] == '>') break;
        name.remove_prefix(next + 1);
    }
    const auto threads = std::find_if(numbers.begin(), numbers.end(),
                                      [](std::int64_t number) { return number >= fewest_threads; });
    if (numbers.end() - threads < 3) return {};
    const std::int64_t rows = *(threads + 1);
    const std::int64_t columns = *(threads + 2);
    if (rows < 0 || columns < 0 || rows > most || columns > most) return {};
    return Tile{.rows = std::int64_t{1} << rows, .columns = std::int64_t{1} << columns};
}

struct Product {
    double rows = 0.0;
    double columns = 0.0;
    double depth = 0.0;  ///< at one tap
    double taps = 1.0;
    double count = 1.0;  ///< such products
};

Product product_of(const ConvolutionShape& shape, Way way) {
    switch (way) {
        case Way::input:
            return {shape.image_pixels, shape.channels, shape.filters, shape.taps / shape.steps,
                    shape.groups};
        case Way::weight:
            return {shape.filters, shape.taps * shape.channels, shape.pixels, 1.0, shape.groups};
        default:
            return {shape.pixels, shape.filters, shape.channels, shape.taps, shape.groups};
    }
}

/// Groups that share a tile are multiplied as if each channel met the filters of all of them.
Product packed(Product product, Way way, double groups) {
    if (groups <= 1.0) return product;
    product.count = std::ceil(product.count / groups);
    product.columns *= groups;
    (way == Way::weight ? product.rows : product.depth) *= groups;
    return product;
}

double tiles_of(const Product& product, double rows, double columns) {
    return std::ceil(product.rows / rows) * std::ceil(product.columns / columns) * product.count;
}

/// Of a gradient, a plain product is that for the inputs or that for the weights, whichever has about as many tiles as
/// the kernel has blocks.
Way way_by_blocks(const ConvolutionShape& shape, const Tile& tile, double blocks) {
    const auto away = [&](Way way) {
        const Product product = product_of(shape, way);
        const double upright = tiles_of(product, real(tile.rows), real(tile.columns));
        const double turned = tiles_of(product, real(tile.columns), real(tile.rows));
        return std::abs(std::log(blocks / std::min(upright, turned)));
    };
    return away(Way::weight) < away(Way::input) ? Way::weight : Way::input;
}

double rounded(double size, std::int64_t unit) {
    return std::ceil(size / real(unit)) * real(unit);
}

/// What the blocks of a tiled product go through.
void add_tiles(Counts& counts, const Product& product, const Tile& tile) {
    const double upright =
        rounded(product.rows, tile.rows) * rounded(product.columns, tile.columns);
    const double turned = rounded(product.rows, tile.columns) * rounded(product.columns, tile.rows);
    // Of few channels, a step along k is a tap with zeros behind it.
    const double deep =
        product.taps * rounded(product.depth, std::max<std::int64_t>(1, tile.depth));
    const double padded = std::min(upright, turned) * deep * product.count;
    const double area = real(tile.rows) * real(tile.columns);
    const double depth = padded / (counts[Count::blocks] * area);
    counts[Count::padded] = padded;
    counts[Count::outputs] = counts[Count::blocks] * area;
    counts[Count::depth] = depth * counts[Count::launches];
    counts[Count::tiled] = depth * area * counts[Count::launches];
}

void count_part(Counts& counts, const ConvolutionShape& shape, const KernelClass& of,
                const std::optional<Tile>& tile, std::int64_t size, bool backward) {
    counts[Count::results] = shape.results;
    counts[Count::table] = real(shape.input->elements());
    counts[Count::window] = shape.products;
    counts[Count::visited] = shape.products * shape.steps;
    counts[Count::weights] = shape.weights;
    counts[Count::bytes] = (shape.results + counts[Count::table]) * real(size);
    if (counts[Count::blocks] < 1.0) return;
    counts[Count::channels] = counts[Count::blocks] / counts[Count::launches];
    counts[Count::part] = shape.products / counts[Count::blocks] * counts[Count::launches];
    if (tile) {
        const double blocks = counts[Count::blocks] / counts[Count::launches];
        const Way way =
            backward && of.way == Way::any ? way_by_blocks(shape, *tile, blocks) : of.way;
        Tile through = *tile;
        if (of.flat) through.depth = 0;
        add_tiles(counts, packed(product_of(shape, way), way, real(tile->groups)), through);
    }
}

}  // namespace

std::optional<Tile> tile_of(std::string_view name, bool powers) {
    if (powers) return tile_by_powers(name);
    while (!name.empty()) {
        if (!is_digit(name.front())) {
            name.remove_prefix(1);
            continue;
        }
        const std::int64_t rows = take_number(name);
        const bool mangled = name.starts_with("ELi");
        std::string_view rest = name;
        if (!mangled && !rest.starts_with('x')) continue;
        rest.remove_prefix(mangled ? 3 : 1);
        if (rest.empty() || !is_digit(rest.front())) continue;
        const std::int64_t columns = take_number(rest);
        if (rows < 1 || columns < 1 || rows > largest_side || columns > largest_side) return {};
        return Tile{
            .rows = rows, .columns = columns, .depth = depth_of(rest), .groups = groups_of(rest)};
    }
    return {};
}

std::vector<KernelPart> kernel_parts(const Call& call, ElementType hint,
                                     std::span<const KernelSeen> kernels) {
    const auto places = convolution_arguments(call, bare_operator(call.name));
    if (!places) return {};
    const auto shape = convolution_shape(call, *places);
    if (!shape) return {};
    const ElementType type = shape->input->type == ElementType::unknown ? hint : shape->input->type;
    constexpr std::int64_t wide = 4;
    struct Group {
        const KernelClass* of;
        std::optional<Tile> tile;
        Counts counts{};
        Time measured{};
    };
    std::vector<Group> groups;
    for (const KernelSeen& kernel : kernels) {
        const KernelClass& of = class_of(kernel.name);
        const std::optional<Tile> tile = tile_of(kernel.name, of.powers);
        auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& each) {
            return each.of == &of && each.tile == tile;
        });
        if (group == groups.end()) {
            group = groups.insert(groups.end(), Group{.of = &of, .tile = tile});
        }
        group->counts[Count::launches] += 1.0;
        group->counts[Count::blocks] += real(kernel.blocks);
        group->counts[Count::threads] += real(kernel.threads);
        group->measured += kernel.measured;
    }
    std::vector<KernelPart> parts;
    for (Group& group : groups) {
        count_part(group.counts, *shape, *group.of, group.tile, size_of(type), places->backward);
        parts.push_back({.law = "kernel." + group.of->name + (size_of(type) < wide ? ".16" : ".32"),
                         .counts = group.counts,
                         .measured = group.measured});
    }
    return parts;
}

}  // namespace ridge::programs
