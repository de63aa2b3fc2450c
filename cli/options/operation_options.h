// Command-line options of operations, made from the model's field table.
//
//   OperationOptions options(line, OperationKind::matmul);   // adds --m, --n, --k, --dtype, ...
//   line.parse(...);
//   const Operation op = make_operation(OperationKind::matmul, options.parameters());
#pragma once

#include <map>
#include <string>

#include "model/core/fields.h"

namespace ridge::cli {

class CommandLine;

/// The fields given on the command line, as texts. The object must outlive the parse.
class OperationOptions {
  public:
    /// Adds one option per field that applies to the operation; underscores become dashes.
    OperationOptions(CommandLine& line, model::OperationKind kind);

    /// The fields given, parsed. InputError names the field.
    [[nodiscard]] model::Parameters parameters() const;

    /// The fields given as texts, in the order of the field table.
    [[nodiscard]] std::map<model::Field, std::string> texts() const;

  private:
    std::map<model::Field, std::string> texts_;
    std::map<model::Field, std::string> flags_;  ///< as given: --paged=0 differs from no --paged
    std::string bytes_;                          ///< --bytes, if the operation has elements
    bool unfused_ = false;
};

}  // namespace ridge::cli
