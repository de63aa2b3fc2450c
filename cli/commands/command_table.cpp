// The commands with their help lines, in the order of the help.
#include <array>

#include "cli/commands/commands.h"

namespace ridge::cli {

std::span<const CommandInfo> command_table() {
    static constexpr std::array commands{
        CommandInfo{"plan", "Whether a model fits, how fast, on how many GPUs, and what to change",
                    build_plan},
        CommandInfo{"diagnose", "Which of my measured times are slow, why, and what to do",
                    build_diagnose},
        CommandInfo{"predict", "Predict an operation's time, its limiter and the data it moves",
                    build_predict},
        CommandInfo{"vram", "How much device memory an operation needs", build_vram},
        CommandInfo{"model", "Whole models from a config: parameters, memory, time", build_model},
        CommandInfo{"serve", "What a deployment of a model does to its users under a load",
                    build_serve},
        CommandInfo{"trace", "Where a recorded program spends its time, and what it could save",
                    build_trace},
        CommandInfo{"check", "Whether anything became slower since a baseline, and why",
                    build_check},
        CommandInfo{"profile", "Run a program and report what it did on the GPU", build_profile},
        CommandInfo{"kernel", "What a kernel's machine code costs: pipes, chains, bytes, time",
                    build_kernel},
        CommandInfo{"occupancy", "How many blocks of a kernel an SM holds, and what limits it",
                    build_occupancy},
        CommandInfo{"roofline", "Draw operations on a GPU's roofline", build_roofline},
        CommandInfo{"sweep", "Predict over ranges of shapes", build_sweep},
        CommandInfo{"compare", "Predict one operation, or a model's step, on several GPUs",
                    build_compare},
        CommandInfo{"effect", "Lessons in GPU performance: predicted, measured, drawn, explained",
                    build_effect},
        CommandInfo{"fit", "Fit the parameters of a time model to measured tables", build_fit},
        CommandInfo{"measure", "Measure operations on the GPU at hand, against predictions",
                    build_measure},
        CommandInfo{"validate", "How far predictions are from measured records, and why",
                    build_validate},
        CommandInfo{"plot", "Draw measured records: predictions against them, sweeps", build_plot},
        CommandInfo{"calibrate",
                    "Fit the model to the GPU at hand: ceilings, or everything (--full)",
                    build_calibrate},
        CommandInfo{"links", "What the links between this machine's GPUs and to its host carry",
                    build_links},
        CommandInfo{"explore", "Open the explorer: everything that ridge answers, in one page",
                    build_explore},
        CommandInfo{"doctor", "What can be measured on this machine, and what cannot",
                    build_doctor},
        CommandInfo{"ops", "List operations with their fields and implementations", build_ops},
        CommandInfo{"gpus", "List, show and check GPU descriptions", build_gpus},
        CommandInfo{"completions", "Print shell completions (bash, zsh, fish)", build_completions}};
    return commands;
}

}  // namespace ridge::cli
