// What each operator reads and writes, from an execution trace (PyTorch's ExecutionTraceObserver, the format
// of Chakra) that was recorded beside the profiler's trace of the same run.
//
//   const ExecutionTrace seen = read_execution_trace("step.execution.json.gz");
//   const auto* flow = seen.flow_of(record);     // record: "Record function id" of the profiler's operator
//   flow->reads; flow->writes;                   // storages by number
//
// A tensor is named by its storage, so that a view counts as what it shows. Limits: a number may be used again
// after a storage was freed, so a reader belongs to the last writer before it; what a kernel reads through
// pointers that are no arguments is not seen.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace ridge {
class ByteSource;
}

namespace ridge::programs {

struct OperatorFlow {
    std::vector<std::int64_t> reads{};
    std::vector<std::int64_t> writes{};
};

class ExecutionTrace {
  public:
    /// Null if the operator was not recorded.
    [[nodiscard]] const OperatorFlow* flow_of(std::int64_t record) const;
    [[nodiscard]] bool empty() const { return flows_.empty(); }
    void add(std::int64_t record, OperatorFlow flow);

  private:
    std::unordered_map<std::int64_t, OperatorFlow> flows_;
};

/// InputError if the file is none, or damaged.
[[nodiscard]] ExecutionTrace read_execution_trace(const std::string& file);
[[nodiscard]] ExecutionTrace read_execution_trace(ByteSource& source, const std::string& file);

}  // namespace ridge::programs
