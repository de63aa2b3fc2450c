// Blocks of rows that several threads turn into text, returned in the order in which they came.
//
//   OrderedBlocks blocks(jobs, make_work);
//   auto block = blocks.spare();
//   ...fill block->rows...
//   blocks.submit(std::move(block));
//   while (blocks.full() || blocks.oldest_done()) write(blocks.take());
//
// Method: one queue. A thread takes the oldest block that no thread works on; `take` waits for the
// oldest block of all. Each block that waits behind another starts one more thread, up to `jobs`.
// A table of a single block therefore starts none: `take` then does the work itself.
//
// Limits: one thread owns the object and calls its functions. The owner takes a block when `full`
// says so (2 * jobs + 2 blocks), which bounds the memory. Blocks not taken are dropped at the end.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/input/row_block.h"

namespace ridge::cli {

/// Rows and their answers.
struct AnsweredBlock {
    RowBlock rows;
    std::string text;           ///< the answered rows, as text
    std::int64_t answered = 0;  ///< all rows, or those before `failure`
    std::int64_t failed = 0;    ///< answered rows without a prediction
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

    /// An empty block to fill: one given back earlier, or a new one.
    [[nodiscard]] Block spare();
    void submit(Block block);

    [[nodiscard]] bool empty() const { return blocks_.empty(); }
    [[nodiscard]] bool full() const { return blocks_.size() >= most_blocks_; }
    [[nodiscard]] bool oldest_done();

    /// Waits for the oldest block and returns it, answered. There must be one.
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
    void run(const Work& work);
    [[nodiscard]] Entry* next_waiting();

    std::size_t jobs_;
    std::size_t most_blocks_;
    std::function<Work()> make_work_;
    Work own_work_;  ///< the owner's, while there are no threads
    std::vector<Block> spare_;

    std::mutex mutex_;
    std::condition_variable submitted_;
    std::condition_variable finished_;
    std::deque<Entry> blocks_;  ///< changed by the owner under the mutex; entries stay in place
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace ridge::cli
