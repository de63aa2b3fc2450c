#include "programs/traffic/engine.h"

#include <algorithm>

#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/units.h"

namespace ridge::programs {
namespace {

using hardware::Node;

const Node& child_of(const Node& table, std::string_view key) {
    const Node* node = table.child(key);
    if (node == nullptr) {
        throw InputError("engine: '" + std::string(key) + "' is missing", table.location());
    }
    return *node;
}

Time time_in(const Node& table, std::string_view key) {
    return parse_quantity<Time>(child_of(table, key).text);
}

double number_in(const Node& table, std::string_view key) {
    const Node& node = child_of(table, key);
    return node.kind == hardware::NodeKind::integer ? static_cast<double>(node.integer) : node.real;
}

Engine engine_of(const Node& table) {
    return {.name = std::string(child_of(table, "name").text),
            .source = std::string(child_of(table, "source").text),
            .per_step = time_in(table, "per_step"),
            .prepared_step = time_in(table, "prepared_step"),
            .prepared = time_in(table, "prepared"),
            .vision_token = time_in(table, "vision_token"),
            .vision_step = time_in(table, "vision_step"),
            .overlaps = child_of(table, "overlaps").boolean,
            .sampler_start = time_in(table, "sampler_start"),
            .sampler_passes = number_in(table, "sampler_passes"),
            .sort_clocks = number_in(table, "sort_clocks"),
            .block_scaled_rows = child_of(table, "block_scaled_rows").integer,
            .block = child_of(table, "block").integer,
            .chunk = child_of(table, "chunk").integer,
            .sequences = child_of(table, "sequences").integer,
            .memory_share = number_in(table, "memory_share"),
            .command = std::string(child_of(table, "command").text)};
}

std::vector<Engine> read_engines() {
    std::vector<Engine> all;
    for (const hardware::EmbeddedFile& file : embedded_engines()) {
        const hardware::Document document =
            hardware::parse_document(file.text, std::string(file.path));
        RIDGE_CONTRACT(!document.problem);
        for (const Node& table : child_of(document.root, "engine").children) {
            all.push_back(engine_of(table));
        }
    }
    return all;
}

}  // namespace

Time Engine::step_time(Time gpu, std::int64_t count) const {
    const Time behind = hidden(count);
    return per_step + (overlaps ? std::max(gpu, behind) : gpu + behind);
}

Engine Engine::slowed(double factor) const {
    Engine slower = *this;
    for (Time Engine::*each : {&Engine::per_step, &Engine::prepared_step, &Engine::prepared,
                               &Engine::vision_token, &Engine::vision_step}) {
        slower.*each = slower.*each * factor;
    }
    return slower;
}

const std::vector<Engine>& engines() {
    static const std::vector<Engine> all = read_engines();
    return all;
}

const Engine& find_engine(std::string_view name) {
    const std::string_view family = name.substr(0, name.find('-'));
    std::string names;
    for (const Engine& engine : engines()) {
        if (engine.name == family) return engine;
        names += (names.empty() ? "" : ", ") + engine.name;
    }
    throw InputError("engine: '" + std::string(name) + "' is not known", {}, "one of " + names);
}

}  // namespace ridge::programs
