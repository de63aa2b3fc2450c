#include "programs/traces/execution_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "hardware/byte_source.h"
#include "hardware/error.h"
#include "programs/traces/json_scanner.h"

namespace ridge::programs {
namespace {

std::int64_t id_in(std::string_view text) {
    std::int64_t value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Collects the nodes: {"name": ..., "inputs": {"values": [...]}, "outputs": {...}, "attrs": [{"name": "rf_id",
/// "value": 3}, ...]}. A tensor is a list of six: its number, its storage's, offset, elements, bytes of one, and
/// its device.
class NodeHandler {
  public:
    explicit NodeHandler(ExecutionTrace& trace) : trace_(trace) {}

    void key(std::string_view key) {
        if (depth_ == document) in_nodes_ = key == "nodes";
        if (depth_ == node) part_ = key;
        if (depth_ == inner || in_attribute()) key_ = key;
    }
    bool start_object() { return enter(false); }
    bool start_array() {
        if (depth_ > inner) list_ = {};
        return enter(true);
    }
    void end_object() {
        --depth_;
        if (!in_nodes_) return;
        if (depth_ == nodes) finish();
        if (depth_ == node + 1 && part_ == "attrs") take_attribute();
    }
    void end_array() {
        --depth_;
        if (in_nodes_ && list_.count == tensor_members && list_.device && depth_ > inner) {
            add_storage(list_.numbers[1]);
        }
        list_ = {};
    }
    void number(std::string_view text) {
        if (list_.count < tensor_members) list_.numbers.at(list_.count) = id_in(text);
        list_.device = false;
        ++list_.count;
        if (in_attribute() && key_ == "value") value_ = id_in(text);
    }
    void string(std::string_view text) {
        list_.device = text.find(':') != text.npos || text == "cpu";
        ++list_.count;
        if (depth_ == node && part_ == "name") name_ = text;
        if (in_attribute() && key_ == "name") attribute_ = text;
    }
    [[nodiscard]] bool found() const { return found_; }

  private:
    // Depths: within the document, its nodes, a node, and its inputs or an attribute.
    static constexpr int document = 1;
    static constexpr int nodes = 2;
    static constexpr int node = 3;
    static constexpr int inner = 4;
    static constexpr int deepest = 64;
    static constexpr std::size_t tensor_members = 6;

    struct List {
        std::array<std::int64_t, tensor_members> numbers{};
        std::size_t count = 0;
        bool device = false;  ///< its last member is one
    };

    bool enter(bool array) {
        ++depth_;
        if (depth_ == node && in_nodes_ && !array) {
            flow_ = {};
            record_ = -1;
            name_.clear();
            found_ = true;
        }
        return depth_ < deepest;
    }
    [[nodiscard]] bool in_attribute() const { return depth_ == inner + 1 && part_ == "attrs"; }

    void add_storage(std::int64_t storage) {
        if (key_ != "values") return;
        if (part_ == "inputs") flow_.reads.push_back(storage);
        if (part_ == "outputs") flow_.writes.push_back(storage);
    }
    void take_attribute() {
        if (attribute_ == "rf_id") record_ = value_;
    }
    void finish() {
        // In-place forms over lists return nothing.
        if (flow_.writes.empty() && name_.ends_with('_')) flow_.writes = flow_.reads;
        if (record_ > 0 && !(flow_.reads.empty() && flow_.writes.empty())) {
            trace_.add(record_, std::move(flow_));
        }
        flow_ = {};
    }

    ExecutionTrace& trace_;
    int depth_ = 0;
    bool in_nodes_ = false;
    bool found_ = false;
    std::string part_;
    std::string key_;
    std::string name_;
    std::string attribute_;
    std::int64_t value_ = -1;
    std::int64_t record_ = -1;
    List list_;
    OperatorFlow flow_;
};

}  // namespace

const OperatorFlow* ExecutionTrace::flow_of(std::int64_t record) const {
    const auto found = flows_.find(record);
    return found == flows_.end() ? nullptr : &found->second;
}

void ExecutionTrace::add(std::int64_t record, OperatorFlow flow) {
    flows_.insert_or_assign(record, std::move(flow));
}

ExecutionTrace read_execution_trace(ByteSource& source, const std::string& file) {
    ExecutionTrace trace;
    NodeHandler handler(trace);
    JsonScanner scanner(source);
    const std::string damage = scanner.run(handler);
    if (!damage.empty()) throw InputError("execution: " + damage, {.file = file});
    if (!handler.found()) {
        throw InputError("execution: the file has no nodes of an execution trace", {.file = file},
                         "torch.profiler.ExecutionTraceObserver writes one");
    }
    return trace;
}

ExecutionTrace read_execution_trace(const std::string& file) {
    ByteSource source(file);
    return read_execution_trace(source, file);
}

}  // namespace ridge::programs
