// `predict --from --jobs`: the output has the same bytes for any number of threads, even after
// errors.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "cli/commands/ordered_blocks.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/faulty_streams.h"
#include "tests/support/temporary_folder.h"

using ridge::cli::AnsweredBlock;
using ridge::cli::OrderedBlocks;
using ridge::test::run_line;
using ridge::test::Transcript;

namespace {

constexpr int several_blocks = 3600;  // more than one for each of seven jobs

/// Rows of several operations and GPUs, some of them broken or quoted.
std::string mixed_rows(int count) {
    std::string text = "op,gpu,m,n,k,elements,note\n";
    for (int i = 0; i < count; ++i) {
        const std::string number = std::to_string(1 + i * 37 % 9000);
        const std::string gpu = i % 3 == 0 ? "h100-sxm" : i % 3 == 1 ? "a100-sxm-80gb" : "";
        switch (i % 97) {
            case 11:
                text += "matmul,nope," + number + ",4,4,,unknown GPU\n";
                break;
            case 23:
                text += "matmul," + gpu + ",-4,4,4,,broken field\n";
                break;
            case 31:
                text += "copy," + gpu + ",,,,\"" + number + "\",\"a, \"\"b\"\"\nand a line\"\n";
                break;
            case 47:
                text += "copy," + gpu + ",,,\"" + number + "x,,never closed\n";
                break;
            case 53:
                text += "matmul," + gpu + ",1,2\n";
                break;
            default:
                text += "matmul," + gpu + "," + number + ",512,64,," + std::to_string(i) + "\n";
                break;
        }
    }
    return text;
}

std::string with_jobs(const std::string& line, int jobs) {
    return line + " --jobs " + std::to_string(jobs);
}

int run_streams(const std::string& line, std::istream& in, std::ostream& out, std::string& err) {
    std::ostringstream errors;
    const ridge::cli::Context context{.in = in, .out = out, .err = errors};
    const int code = ridge::cli::run(ridge::test::words_of(line), context);
    err = errors.str();
    return code;
}

}  // namespace

TEST_CASE("any number of jobs writes the same bytes") {
    const std::string rows = mixed_rows(several_blocks);
    const ridge::test::TemporaryFile file(rows, ".csv");
    for (const char* format : {"csv", "json", "md"}) {
        const std::string options = std::string(" --gpu h200-sxm --format ") + format;
        const Transcript one = run_line("predict --from - --jobs 1" + options, rows);
        REQUIRE(one.code == 2);
        CHECK_THAT(one.err, contains_text(" of 3600 rows"));
        for (const int jobs : {2, 7}) {
            CAPTURE(format, jobs);
            const Transcript piped = run_line(with_jobs("predict --from -" + options, jobs), rows);
            CHECK((piped.out == one.out));
            CHECK(piped.err == one.err);
        }
        const Transcript read = run_line(with_jobs("predict --from " + file.path() + options, 3));
        CHECK((read.out == one.out));
        CHECK(read.code == one.code);
        CHECK((run_line("predict --from -" + options, rows).out == one.out));
    }
}

TEST_CASE("no rows and few rows are written as by one job") {
    for (const int count : {0, 1, 511, 512, 513}) {
        for (const char* format : {"csv", "json"}) {
            CAPTURE(count, format);
            const std::string line =
                std::string("predict --from - --gpu h200-sxm --format ") + format;
            const std::string rows = mixed_rows(count);
            CHECK(
                (run_line(with_jobs(line, 3), rows).out == run_line(with_jobs(line, 1), rows).out));
        }
    }
}

TEST_CASE("before a read error, several jobs write what one job writes") {
    std::string written;
    for (const int jobs : {1, 2, 3, 7}) {
        ridge::test::FailingInput broken(mixed_rows(10000) + "matmul,,1");
        std::istream in(&broken);
        std::ostringstream out;
        std::string err;
        CHECK(run_streams(with_jobs("predict --from - --gpu h200-sxm", jobs), in, out, err) == 2);
        CHECK_THAT(err, contains_text("cannot read further"));
        if (jobs == 1) written = out.str();
        CHECK((out.str() == written));
    }
    CHECK(std::count(written.begin(), written.end(), '\n') > 5000);
}

TEST_CASE("a full disk stops the reading with any number of jobs") {
    std::string written;
    for (const int jobs : {1, 2, 7}) {
        ridge::test::EndlessRows rows("elements", "4096");
        std::istream in(&rows);
        ridge::test::FullDisk disk(300000);
        std::ostream out(&disk);
        std::string err;
        CHECK(run_streams(with_jobs("predict copy --gpu h200-sxm --from -", jobs), in, out, err) ==
              2);
        CHECK_THAT(err, contains_text("cannot write the output"));
        CHECK(rows.given < std::size_t{4} << 20U);
        if (jobs == 1) written = disk.kept;
        CHECK((disk.kept == written));
    }
    CHECK(written.size() == 300000);
}

TEST_CASE("an invalid number of jobs is refused") {
    for (const char* jobs : {"0", "-3", "257", "many"}) {
        const Transcript refused =
            run_line(std::string("predict --from - --gpu h200-sxm --jobs ") + jobs, "op,m,n,k\n");
        CHECK(refused.code == 1);
        CHECK_THAT(refused.err, contains_text("--jobs"));
    }
    const Transcript alone = run_line("predict copy --elements 10 --gpu h200-sxm --jobs 2");
    CHECK(alone.code == 1);
    CHECK_THAT(alone.err, contains_text("--jobs goes with --from"));
}

namespace {

/// A block whose only row has this text.
OrderedBlocks::Block block_of(OrderedBlocks& blocks, const std::string& text) {
    OrderedBlocks::Block block = blocks.spare();
    const std::vector<std::string_view> cells{text};
    block->rows.add({.cells = cells, .raw = text, .problem = {}, .line = 1});
    return block;
}

std::string only_text(const AnsweredBlock& block) {
    std::vector<std::string_view> cells;
    return std::string(block.rows.row(0, cells).raw);
}

}  // namespace

TEST_CASE("blocks come back in order even if later ones finish first") {
    std::mutex mutex;
    std::condition_variable changed;
    bool second_done = false;
    const OrderedBlocks::Work work = [&](AnsweredBlock& block) {
        block.text = only_text(block);
        std::unique_lock lock(mutex);
        if (block.text == "0") changed.wait(lock, [&] { return second_done; });
        if (block.text == "1") second_done = true;
        changed.notify_all();
    };
    OrderedBlocks blocks(2, [&] { return work; });
    for (int i = 0; i < 6; ++i) {
        CHECK(!blocks.full());
        blocks.submit(block_of(blocks, std::to_string(i)));
    }
    CHECK(blocks.full());
    for (int i = 0; i < 6; ++i) CHECK(blocks.take()->text == std::to_string(i));
    CHECK(blocks.empty());
}

TEST_CASE("an exception from the work of a block comes back with that block") {
    const OrderedBlocks::Work work = [](AnsweredBlock& block) {
        block.text = only_text(block);
        if (block.text == "2") throw std::runtime_error("no memory");
    };
    OrderedBlocks blocks(3, [&] { return work; });
    for (int i = 0; i < 4; ++i) blocks.submit(block_of(blocks, std::to_string(i)));
    for (int i = 0; i < 4; ++i) {
        const OrderedBlocks::Block block = blocks.take();
        CHECK(block->text == std::to_string(i));
        CHECK((block->failure != nullptr) == (i == 2));
    }
}

TEST_CASE("a single block is processed by the thread that takes it") {
    std::thread::id answered_by;
    OrderedBlocks blocks(
        4, [&] { return [&](AnsweredBlock&) { answered_by = std::this_thread::get_id(); }; });
    blocks.submit(block_of(blocks, "x"));
    CHECK(!blocks.oldest_done());
    static_cast<void>(blocks.take());
    CHECK(answered_by == std::this_thread::get_id());
}
