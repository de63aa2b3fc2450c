// The shapes that `ridge measure --suite` measures with the bundled kernels, as data.
//
//   for (const Question& q : suite(Suite::quick, 90)) ...
//   random_questions(7, 100, 90)      // the same hundred shapes for the same seed, everywhere
//
// Each row of the tables in suite.cpp is an operation in words, where {a,b} lists alternatives and
// @field repeats the value of another field; a row expands to all combinations. Rows that need a
// newer GPU name the compute capability.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/record/record.h"

namespace ridge::measure {

enum class Suite : std::uint8_t { quick, full, collectives };

/// InputError lists the known suites.
[[nodiscard]] Suite parse_suite(std::string_view text);

/// Wall time that the whole suite may take.
[[nodiscard]] double seconds_of(Suite suite);

/// Questions of a suite other than `collectives` that a GPU of this compute capability (90 for 9.0) can run, without
/// repetitions. Operations alternate, which spreads the heat.
[[nodiscard]] std::vector<Question> suite(Suite suite, std::int32_t compute_capability);

/// Questions of the suite `collectives` among this many GPUs: from latency to bandwidth, as a kernel,
/// in a graph and as calls.
[[nodiscard]] std::vector<Question> collective_suite(std::int64_t gpus);

/// Collectives with log-uniform sizes between 256 bytes and 1 GiB, the same for the same seed and
/// number of GPUs on every machine.
[[nodiscard]] std::vector<Question> random_collectives(std::uint64_t seed, std::int64_t count,
                                                       std::int64_t gpus);

/// Questions over every bundled kernel. Sizes are log-uniform, half of them rounded to multiples of
/// 64; the questions are the same on every machine of this compute capability. Each needs at most
/// 16 GB and about 50 ms on a GPU of 2023.
[[nodiscard]] std::vector<Question> random_questions(std::uint64_t seed, std::int64_t count,
                                                     std::int32_t compute_capability);

/// "m={1,2} n=@m" gives "m=1 n=1" and "m=2 n=2". InputError when braces do not match or when a
/// field that @ refers to is missing.
[[nodiscard]] std::vector<std::string> expand(std::string_view row);

/// An operation in words with impl, l2 and launch. InputError as for parse_operation.
[[nodiscard]] Question parse_question(std::string_view text);

}  // namespace ridge::measure
