#include "hardware/nearest.h"

#include "tests/catch.h"

using namespace ridge;

TEST_CASE("edit distance ignores case") {
    CHECK(edit_distance("", "abc") == 3);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("GB/S", "gb/s") == 0);
}

TEST_CASE("the nearest word is suggested, but not a distant one") {
    const std::vector<std::string> words{"bandwidth", "capacity", "type"};
    CHECK(nearest("bandwith", words) == "bandwidth");
    CHECK(nearest("zzzzzzzz", words).empty());
    CHECK(nearest("", words).empty());
    CHECK(nearest(std::string(10000, 'a'), words).empty());
}

TEST_CASE("names that begin with the word come before similar names") {
    const std::vector<std::string> names{"l4", "a100-pcie-40gb", "a10", "a100-sxm-80gb"};
    CHECK(near("a100", names, 3) ==
          std::vector<std::string>{"a100-pcie-40gb", "a100-sxm-80gb", "a10"});
    CHECK(near("a100", names, 1).size() == 1);
}

TEST_CASE("a word that begins with a candidate is near it") {
    const std::vector<std::string> options{"--kv-heads", "--seq", "--seq-q", "--heads"};
    CHECK(nearest("--seqlen", options) == "--seq");
    CHECK(nearest("--sequence", options) == "--seq");
    CHECK(nearest("--head", options) == "--heads");
    CHECK(did_you_mean("--seqlen", options) == "did you mean '--seq'?");
    CHECK(did_you_mean("--zzzzzz", options).empty());
}

TEST_CASE("a word that ends with, is part of or abbreviates a candidate is near it") {
    const std::vector<std::string> options{"--kv-heads", "--help",      "--seq",
                                           "--heads",    "--registers", "--head-dim"};
    CHECK(nearest("--num-heads", options) == "--heads");
    CHECK(nearest("--num-kv-heads", options) == "--kv-heads");
    CHECK(nearest("--num_heads", options) == "--heads");
    CHECK(nearest("--regs", options) == "--registers");
    CHECK(nearest("--hdim", options) == "--head-dim");
    CHECK(nearest("fp4", std::vector<std::string>{"fp64", "fp8", "nvfp4"}) == "nvfp4");
    CHECK(nearest("--", options).empty());
}

TEST_CASE("words are the same in any case and with either dash") {
    CHECK(same_word("head-dim", "head_dim"));
    CHECK(same_word("BF16", "bf16"));
    CHECK_FALSE(same_word("seq", "seq_q"));
    CHECK_FALSE(same_word("a b", "a_b"));
}
