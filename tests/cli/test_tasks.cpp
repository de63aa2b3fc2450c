// The tasks of tests/cli/tasks.txt: for each, the first command that a user would try works, or its
// error leads there in one step.
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

namespace ridge::test {
namespace {

struct Task {
    std::string wish{};
    std::string command{};
    std::string words{};
    bool error = false;  ///< the words are those of an error
};

std::vector<Task> tasks() {
    std::vector<Task> all;
    std::istringstream text(text_of(RIDGE_TASKS));
    std::string line;
    std::string wish;
    while (std::getline(text, line)) {
        if (line.empty() || line.front() == '#' || line.front() == '[') continue;
        if (line.front() == '$') {
            all.push_back({.wish = wish, .command = line.substr(std::string("$ ridge ").size())});
        } else if (line.front() == '>' || line.front() == '!') {
            all.back().words = line.substr(2);
            all.back().error = line.front() == '!';
        } else {
            wish = line;
        }
    }
    return all;
}

/// Tables of the same three kernels, under the names that the tasks use.
std::string table_of(const std::string& column, double unit) {
    std::ostringstream text;
    text << "name,op,m,n,k,rows,cols,count," << column << '\n'
         << "qkv,matmul,4096,6144,4096,,,32," << 290.0 * unit << '\n'
         << "mlp,matmul,4096,14336,4096,,,32," << 1400.0 * unit << '\n'
         << "scores,softmax,,,,8192,8192,2," << 900.0 * unit << '\n';
    return text.str();
}

class Desk {
  public:
    Desk() {
        static_cast<void>(folder_.write("times.csv", table_of("time_us", 1.0)));
        static_cast<void>(folder_.write("times_ms.csv", table_of("time_ms", 1e-3)));
        static_cast<void>(folder_.write("times_unnamed.csv", table_of("time", 1.0)));
    }

    [[nodiscard]] Transcript run(const Task& task) const {
        std::vector<std::string> words = words_of(task.command);
        std::string input;
        for (std::string& word : words) {
            const bool file =
                word.ends_with(".csv") || word.ends_with(".html") || word.ends_with(".svg");
            if (file) word = folder_.file(word);
        }
        if (words.size() > 2 && words[words.size() - 2] == "<") {
            input = text_of(words.back());
            words.resize(words.size() - 2);
        }
        return test::run(words, input);
    }

  private:
    TemporaryFolder folder_;
};

/// Whether the task's first guess works: it ends well and says the words, or its error says them.
bool works(const Task& task, const Transcript& result) {
    if (task.error) {
        return result.code != 0 && result.err.find(task.words) != std::string::npos;
    }
    return result.code == 0 && (result.out + result.err).find(task.words) != std::string::npos;
}

}  // namespace

TEST_CASE("first guesses of users work", "[tasks]") {
    constexpr std::size_t least = 70;
    const std::vector<Task> all = tasks();
    REQUIRE(all.size() == 70);
    const Desk desk;
    std::size_t working = 0;
    std::string failing;
    for (const Task& task : all) {
        const Transcript result = desk.run(task);
        if (works(task, result)) {
            ++working;
        } else {
            failing += task.wish + "\n  ridge " + task.command + "\n  " + result.err;
        }
    }
    INFO(failing);
    CHECK(working >= least);
    // A bound below what works would not notice a loss.
    CHECK(working <= least);
}

}  // namespace ridge::test
