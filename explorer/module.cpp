// The door of the explorer's WebAssembly module: a call of the command line as a function.
//
//   ridge_run("predict\0matmul\0--m\0...", length);   // exit code
//   ridge_output(), ridge_output_size();              // what the program would have printed
//   ridge_messages(), ridge_messages_size();          // what it would have printed as errors
//
// A page copies files into the module's own file system before a call and reads what the call wrote
// there afterwards. Machines stay resolved from one call to the next, because a page asks about the
// same GPUs many times a second. There is no device to measure, no process to start, no thread.
#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/application.h"
#include "cli/console/context.h"
#include "cli/input/machines.h"

namespace ridge {
namespace {

constexpr int page_width = 100;  ///< columns of the tables

struct Reply {
    std::string output;
    std::string messages;
};

Reply& reply() {
    static Reply last;
    return last;
}

std::vector<std::string> words_of_call(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\0'), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

int run_as_function(std::string_view call) {
    static cli::KeptMachines machines;
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    const cli::Context context{
        .in = in, .out = out, .err = err, .width = page_width, .kept_machines = &machines};
    const int code = cli::run(words_of_call(call), context);
    reply() = {.output = std::move(out).str(), .messages = std::move(err).str()};
    return code;
}

}  // namespace
}  // namespace ridge

extern "C" {

int ridge_run(const char* call, std::size_t length) {
    return ridge::run_as_function({call, length});
}

const char* ridge_output() {
    return ridge::reply().output.data();
}

std::size_t ridge_output_size() {
    return ridge::reply().output.size();
}

const char* ridge_messages() {
    return ridge::reply().messages.data();
}

std::size_t ridge_messages_size() {
    return ridge::reply().messages.size();
}

}  // extern "C"
