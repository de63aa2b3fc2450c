#include "cli/commands/ordered_blocks.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace ridge::cli {

OrderedBlocks::OrderedBlocks(int jobs, std::function<Work()> make_work)
    : jobs_(static_cast<std::size_t>(jobs)),
      most_blocks_(2 * jobs_ + 2),
      make_work_(std::move(make_work)) {}

OrderedBlocks::~OrderedBlocks() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    submitted_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

OrderedBlocks::Block OrderedBlocks::spare() {
    if (spare_.empty()) return std::make_unique<AnsweredBlock>();
    Block block = std::move(spare_.back());
    spare_.pop_back();
    return block;
}

void OrderedBlocks::give_back(Block block) {
    block->rows.clear();
    block->text.clear();
    block->answered = 0;
    block->failed = 0;
    block->failure = nullptr;
    spare_.push_back(std::move(block));
}

void OrderedBlocks::submit(Block block) {
    {
        const std::scoped_lock lock(mutex_);
        blocks_.push_back({.block = std::move(block)});
    }
    submitted_.notify_one();
    if (blocks_.size() >= 2 && threads_.size() < jobs_) start_thread();
}

void OrderedBlocks::start_thread() {
    try {
        threads_.emplace_back([this, work = make_work_()] { run(work); });
    } catch (const std::system_error&) {
        // The system allows no more threads: the running ones, or `take` itself, do the work.
        jobs_ = threads_.size();
    }
}

void OrderedBlocks::run(const Work& work) {
    std::unique_lock lock(mutex_);
    while (true) {
        Entry* entry = nullptr;
        submitted_.wait(lock, [&] { return stopping_ || (entry = next_waiting()) != nullptr; });
        if (stopping_) return;
        entry->state = State::running;
        AnsweredBlock& block = *entry->block;
        lock.unlock();
        answer(work, block);
        lock.lock();
        entry->state = State::done;
        finished_.notify_one();
    }
}

OrderedBlocks::Entry* OrderedBlocks::next_waiting() {
    const auto found = std::find_if(blocks_.begin(), blocks_.end(), [](const Entry& entry) {
        return entry.state == State::waiting;
    });
    return found == blocks_.end() ? nullptr : &*found;
}

void OrderedBlocks::answer(const Work& work, AnsweredBlock& block) {
    try {
        work(block);
    } catch (...) {
        block.failure = std::current_exception();
    }
}

bool OrderedBlocks::oldest_done() {
    const std::scoped_lock lock(mutex_);
    return !blocks_.empty() && blocks_.front().state == State::done;
}

OrderedBlocks::Block OrderedBlocks::take() {
    std::unique_lock lock(mutex_);
    if (threads_.empty()) {
        if (!own_work_) own_work_ = make_work_();
        answer(own_work_, *blocks_.front().block);
    } else {
        finished_.wait(lock, [this] { return blocks_.front().state == State::done; });
    }
    Block block = std::move(blocks_.front().block);
    blocks_.pop_front();
    return block;
}

}  // namespace ridge::cli
