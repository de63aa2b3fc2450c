// What the commands that take an operation share: `ridge COMMAND OP --field value ...`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/options/operation_options.h"
#include "model/core/fields.h"

namespace ridge::cli {

class CommandLine;
class GpuOptions;

/// The word in the place of the operation: the first argument or, if options come first, the first
/// one that is an operation and no option's value. Empty if there is none.
[[nodiscard]] std::string operation_among(
    std::span<const std::string> arguments,
    const std::function<bool(std::string_view)>& is_operation);

/// The operation that the first matching argument names; adds its options to `line`. The positional
/// argument itself is declared too, so that the parser accepts and documents it.
class OperationArgument {
  public:
    OperationArgument(CommandLine& line, std::span<const std::string> arguments);

    [[nodiscard]] bool given() const { return kind_.has_value(); }
    /// InputError when no operation was named.
    [[nodiscard]] model::OperationKind kind() const;
    [[nodiscard]] std::optional<model::OperationKind> optional_kind() const { return kind_; }
    [[nodiscard]] model::Parameters parameters() const;
    /// InputError that names everything that is missing, including the GPU.
    void require_complete(const GpuOptions& gpu) const;
    [[nodiscard]] std::map<model::Field, std::string> texts() const;

  private:
    std::string command_;  ///< "ridge vram"
    std::string name_;
    std::optional<model::OperationKind> kind_;
    std::unique_ptr<OperationOptions> options_;
};

/// Adds --format with the named choices; the value is checked by the parser.
void add_format_option(CommandLine& line, std::string& format, const std::string& choices,
                       const std::string& note = {});

/// What `--format` says; nothing for an answer that is one table, in a pipe: "csv". The user's default
/// (settings.h) goes before.
[[nodiscard]] std::string format_in_pipe(const Context& context, const std::string& given);

/// "table", "json", "csv" or "md"; if empty, the user's default (settings.h) or a table.
[[nodiscard]] Format parse_format(const std::string& given);

}  // namespace ridge::cli
