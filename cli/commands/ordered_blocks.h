// Blocks of rows that several threads turn into text, given back in the order in which they came.
//
//   OrderedBlocks blocks(jobs, make_work);
//   auto block = blocks.spare();
//   ...fill block->rows...
//   blocks.submit(std::move(block));
//   while (blocks.full() || blocks.oldest_done()) write(blocks.take());
//
// Method: one queue. Threads take the oldest block that nobody works on; `take` waits for the
// oldest of all. One thread more is started with each block that waits behind another, up to
// `jobs`, so a table of a single block starts none: `take` then does the work itself.
//
// Limits: one thread owns the object and calls its functions. Its owner takes a block where `full`
// says so (2 * jobs + 2 blocks), which bounds the memory. Blocks not taken are dropped at the end.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cli/input/row_block.h"

namespace ridge::cli {

/// Rows and what became of them.
struct AnsweredBlock {
    RowBlock rows;
    std::string text;           ///< of the rows that were answered
    std::int64_t answered = 0;  ///< all rows, or those before `failure`
    std::int64_t failed = 0;    ///< of those answered, the ones without a prediction
    std::exception_ptr failure;
};

class OrderedBlocks {
  public:
    using Block = std::unique_ptr<AnsweredBlock>;
    /// Answers a block; what it throws becomes the block's `failure`.
    using Work = std::function<void(AnsweredBlock&)>;

    /// `make_work` is called by the owner once for each thread, so that each has its own state.
    OrderedBlocks(int jobs, std::function<Work()> make_work);
    ~OrderedBlocks();
    OrderedBlocks(const OrderedBlocks&) = delete;
    OrderedBlocks& operator=(const OrderedBlocks&) = delete;

    /// An empty block to fill: one that came back, or a new one.
    [[nodiscard]] Block spare();
    void submit(Block block);

    [[nodiscard]] bool empty() const { return blocks_.empty(); }
    [[nodiscard]] bool full() const { return blocks_.size() >= most_blocks_; }
    [[nodiscard]] bool oldest_done();

    /// The oldest block, answered; waits for it. There must be one.
    [[nodiscard]] Block take();
    /// Keeps the memory of a block for `spare`.
    void give_back(Block block);

  private:
    enum class State { waiting, running, done };
    struct Entry {
        Block block;
        State state = State::waiting;
    };

    static void answer(const Work& work, AnsweredBlock& block);
    void start_thread();
    void run(const std::stop_token& stop, const Work& work);
    [[nodiscard]] Entry* next_waiting();

    std::size_t jobs_;
    std::size_t most_blocks_;
    std::function<Work()> make_work_;
    Work own_work_;  ///< of the owner, while there are no threads
    std::vector<Block> spare_;

    std::mutex mutex_;
    std::condition_variable_any submitted_;
    std::condition_variable finished_;
    std::deque<Entry> blocks_;  ///< changed by the owner under the mutex; entries stay in place
    std::vector<std::jthread> threads_;
};

}  // namespace ridge::cli
