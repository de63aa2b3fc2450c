// The program with a fake H200 as its device: `ridge_on_fake measure copy --elements 4096 --json`.
// check_every_schema.py asks it what only a machine with a GPU answers.
#include <iostream>
#include <string>

#include "tests/measure/run_on.h"

int main(int count, char** words) {
    std::string line;
    for (int i = 1; i < count; ++i) line += std::string(i > 1 ? " " : "") + '"' + words[i] + '"';
    const auto answer = ridge::test::run_on(ridge::test::h200_plan(), line);
    std::cout << answer.out;
    std::cerr << answer.err;
    return answer.code;
}
