// Tables of questions and answers: a line for each question, and the next for its answer.
//
//   check_table("steps", [](const std::string& question) { return answer_to(question); });
//
// Words of an answer must be equal, numbers to 1e-5 of their size, so that another compiler's rounding makes no
// difference. RIDGE_UPDATE_GOLDEN=1 writes a table anew, packed if it was; the difference is reviewed (of a packed
// one by `git config diff.gz.textconv zcat`), and the commit says why.
#pragma once

#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "hardware/error.h"
#include "hardware/number_text.h"
#include "tests/catch.h"
#include "tests/support/sample.h"
#include "tests/support/whole_file.h"

namespace ridge::test {

using Answer = std::function<std::string(const std::string&)>;

inline bool same_line(const std::string& a, const std::string& b) {
    std::istringstream left(a);
    std::istringstream right(b);
    std::string x;
    std::string y;
    while (true) {
        const bool more = static_cast<bool>(left >> x);
        if (more != static_cast<bool>(right >> y)) return false;
        if (!more) return true;
        if (x == y) continue;
        const auto u = whole_real(x);
        const auto v = whole_real(y);
        if (!u || !v || std::abs(*u - *v) > 1e-5 * std::abs(*v)) return false;
    }
}

inline std::string table_file(const std::string& name) {
    return std::string(RIDGE_FROZEN "/") + name + ".txt";
}

inline void write_table_file(const std::string& name, const std::string& text) {
    const std::string file = table_file(name);
    if (std::filesystem::exists(file) || !std::filesystem::exists(file + ".gz")) {
        write_text(file, text);
        return;
    }
    gzFile packed = gzopen((file + ".gz").c_str(), "wb9");
    const int size = gzwrite(packed, text.data(), static_cast<unsigned>(text.size()));
    CHECK(gzclose(packed) == Z_OK);
    CHECK(size == static_cast<int>(text.size()));
}

/// What is refused is an answer, too.
inline std::string answer_or_refusal(const Answer& answer, const std::string& question) {
    try {
        return answer(question);
    } catch (const InputError& error) {
        return std::string("error: ") + error.what();
    }
}

inline void check_table(const std::string& name, const Answer& answer) {
    const bool update =
        std::getenv("RIDGE_UPDATE_GOLDEN") != nullptr;  // NOLINT(concurrency-mt-unsafe)
    std::istringstream lines(unpacked_text(table_file(name)));
    std::string question;
    std::string before;
    std::string written;
    std::size_t count = 0;
    Sample sample;
    while (std::getline(lines, question) && std::getline(lines, before)) {
        ++count;
        if (!update && !sample.takes_next()) continue;
        const std::string now = answer_or_refusal(answer, question);
        const bool same = same_line(now, before);
        written += question + "\n" + (same ? before : now) + "\n";
        CAPTURE(question);
        if (!update && !same) CHECK(now == before);
    }
    if (update) write_table_file(name, written);
    CHECK(count >= 20);
}

/// Writes a table of these questions.
inline void write_table(const std::string& name, const std::vector<std::string>& questions,
                        const Answer& answer) {
    std::string written;
    for (const std::string& question : questions)
        written += question + "\n" + answer_or_refusal(answer, question) + "\n";
    write_table_file(name, written);
}

}  // namespace ridge::test
