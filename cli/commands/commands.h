// The commands of the program. Each adds its options to its subcommand and returns what to run.
//
// Only the command that the arguments name is built in full, so that a prediction does not pay for
// the options of other commands; completions and the program's help build all of them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console/context.h"

namespace ridge::cli {

class CommandLine;

/// Runs a parsed command and returns the exit code.
using Action = std::function<int(const Context&)>;

/// `arguments` are those after the command's own name. A command that takes an operation looks at
/// the first of them to offer the options of that operation.
using Builder = Action (*)(CommandLine& line, std::span<const std::string> arguments);

struct CommandInfo {
    std::string_view name;
    std::string_view help;
    Builder build;
};

[[nodiscard]] std::span<const CommandInfo> command_table();

Action build_plan(CommandLine& line, std::span<const std::string> arguments);
Action build_diagnose(CommandLine& line, std::span<const std::string> arguments);
Action build_predict(CommandLine& line, std::span<const std::string> arguments);
Action build_vram(CommandLine& line, std::span<const std::string> arguments);
Action build_trace(CommandLine& line, std::span<const std::string> arguments);
/// `ridge predict kernel`.
Action build_kernel(CommandLine& line, std::span<const std::string> arguments);
Action build_check(CommandLine& line, std::span<const std::string> arguments);
Action build_profile(CommandLine& line, std::span<const std::string> arguments);
Action build_model(CommandLine& line, std::span<const std::string> arguments);
Action build_serve(CommandLine& line, std::span<const std::string> arguments);
Action build_occupancy(CommandLine& line, std::span<const std::string> arguments);
Action build_roofline(CommandLine& line, std::span<const std::string> arguments);
Action build_sweep(CommandLine& line, std::span<const std::string> arguments);
Action build_compare(CommandLine& line, std::span<const std::string> arguments);
Action build_fit(CommandLine& line, std::span<const std::string> arguments);
Action build_ops(CommandLine& line, std::span<const std::string> arguments);
Action build_effect(CommandLine& line, std::span<const std::string> arguments);
Action build_gpus(CommandLine& line, std::span<const std::string> arguments);
Action build_measure(CommandLine& line, std::span<const std::string> arguments);
Action build_calibrate(CommandLine& line, std::span<const std::string> arguments);
Action build_validate(CommandLine& line, std::span<const std::string> arguments);
Action build_plot(CommandLine& line, std::span<const std::string> arguments);
Action build_links(CommandLine& line, std::span<const std::string> arguments);
Action build_explore(CommandLine& line, std::span<const std::string> arguments);
Action build_doctor(CommandLine& line, std::span<const std::string> arguments);
Action build_completions(CommandLine& line, std::span<const std::string> arguments);

}  // namespace ridge::cli
