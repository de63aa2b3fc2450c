// Replays of steps and pipelines beside what can be worked out by hand.
#include "hardware/error.h"
#include "programs/replay/pipeline.h"
#include "programs/replay/replay.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::programs;

namespace {

constexpr auto one_us = units::us;

LaneTask computing(double work_us, double host_us = 1.0, std::int32_t after = -1) {
    return {.work = work_us * one_us, .host = host_us * one_us, .after = after};
}
LaneTask reducing(double work_us, std::int32_t after) {
    return {.work = work_us * one_us,
            .host = 1.0 * one_us,
            .lane = Lane::communication,
            .after = after,
            .taken = 0.2};
}

PipelineRun even_pipeline(const PipelineShape& shape, double forward_us, double backward_us) {
    const std::vector<StageTimes> stages(static_cast<std::size_t>(shape.ranks * shape.parts),
                                         {.forward = {.gpu = forward_us * one_us},
                                          .backward = {.gpu = backward_us * one_us},
                                          .weights = {.gpu = 0.5 * backward_us * one_us}});
    return run_pipeline(stages, shape);
}

}  // namespace

TEST_CASE("a step is as long as its host or its kernels, whichever is slower") {
    const std::vector<LaneTask> quick{computing(100.0), computing(100.0)};
    CHECK(replay(quick, {.gap = 4.0 * one_us}).wall.in(one_us) == Approx(1.0 + 204.0));
    const std::vector<LaneTask> slow{computing(10.0, 50.0), computing(10.0, 50.0)};
    CHECK(replay(slow, {}).wall.in(one_us) == Approx(110.0));
    CHECK(replay(slow, {}).host.in(one_us) == Approx(100.0));
}

TEST_CASE("communication hides behind kernels, which it slows") {
    // The reduction of the first kernel's gradient runs beside the second kernel.
    const std::vector<LaneTask> launches{computing(100.0, 0.0), reducing(40.0, 0),
                                         computing(100.0, 0.0), computing(10.0, 0.0, 1)};
    const Replayed step = replay(launches, {});
    CHECK(step.exposed.in(one_us) == Approx(0.0).margin(1e-9));
    CHECK(step.communication.in(one_us) == Approx(40.0));
    // Launched by 1 us of host; beside the collective, the kernel runs at 0.8 of its speed.
    CHECK(step.wall.in(one_us) == Approx(100.0 + 40.0 + (100.0 - 0.8 * 40.0) + 10.0));
    std::vector<LaneTask> stretched = launches;
    stretched[2].stretch = 2.0;
    CHECK(replay(stretched, {}).communication.in(one_us) == Approx(80.0));
}

TEST_CASE(
    "a step of minutes ends, although its clock counts coarser than what is left of a launch") {
    for (const double start_s : {0.0, 1.0, 10.0, 100.0, 1000.0}) {
        std::vector<LaneTask> tasks{computing(1.0, start_s * 1e6)};
        for (int i = 1; i < 2000; ++i) {
            const double work_us = 10.0 + 1.0 / (1.0 + i % 97);
            tasks.push_back(computing(work_us));
            tasks.back().stretch = 1.0 + 0.01 * (i % 13);
            if (i % 3 == 0) {
                const auto before = static_cast<std::int32_t>(tasks.size()) - 1;
                tasks.push_back(reducing(5.0 + 1.0 / (1.0 + i % 89), before));
                tasks.back().taken = 0.01 * (1 + i % 29);
            }
        }
        const Replayed step = replay(tasks, {.gap = 0.3 * one_us});
        CHECK(step.wall.in(one_us)-start_s * 1e6 > 2000 * 10.0);
        CHECK(step.wall.in(one_us)-start_s * 1e6 < 2000 * 16.0);
    }
}

TEST_CASE("what nothing runs beside is exposed, and waits for the running kernel") {
    const std::vector<LaneTask> last{computing(100.0, 0.0), reducing(50.0, 0),
                                     computing(10.0, 0.0, 1)};
    const Replayed step = replay(last, {});
    CHECK(step.exposed.in(one_us) == Approx(50.0));
    CHECK(step.wall.in(one_us) == Approx(160.0));
    // Ready during the second kernel, begun when it has ended.
    std::vector<LaneTask> late{computing(10.0, 0.0), computing(100.0, 0.0), reducing(5.0, 0)};
    late[2].host = 20.0 * one_us;
    CHECK(replay(late, {}).ran[2].from.in(one_us) == Approx(110.0));
}

TEST_CASE("even stages take the time of the closed formula") {
    for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
        const PipelineShape shape{.ranks = 4, .micro_batches = 8, .schedule = schedule};
        const PipelineRun run = even_pipeline(shape, 10.0, 20.0);
        CHECK(run.time.in(one_us) == Approx((8 + 4 - 1) * 30.0));
        CHECK(run.bubble == Approx(3.0 / 11.0));
    }
    const PipelineShape one{.ranks = 1, .micro_batches = 5};
    CHECK(even_pipeline(one, 10.0, 20.0).bubble == Approx(0.0).margin(1e-12));
}

TEST_CASE("1F1B holds as many micro-batches as stages follow; GPipe holds all") {
    const PipelineRun run = even_pipeline({.ranks = 4, .micro_batches = 8}, 10.0, 20.0);
    CHECK(run.in_flight == std::vector<std::int64_t>{4, 3, 2, 1});
    const PipelineRun gpipe =
        even_pipeline({.ranks = 4, .micro_batches = 8, .schedule = Schedule::gpipe}, 10.0, 20.0);
    CHECK(gpipe.in_flight == std::vector<std::int64_t>{8, 8, 8, 8});
}

TEST_CASE("parts of a model and a split backward pass make the bubble smaller") {
    const double plain = even_pipeline({.ranks = 4, .micro_batches = 8}, 10.0, 20.0).bubble;
    PipelineShape shape{
        .ranks = 4, .micro_batches = 8, .schedule = Schedule::interleaved, .parts = 2};
    const double interleaved = even_pipeline(shape, 5.0, 10.0).bubble;
    shape.schedule = Schedule::zero_bubble;
    const PipelineRun zero = even_pipeline(shape, 5.0, 10.0);
    CHECK(interleaved < 0.75 * plain);
    CHECK(zero.bubble < interleaved);
    // Every stage has each micro-batch once forward, once backward and once for its weights.
    for (const auto& blocks : zero.ranks) CHECK(blocks.size() == 3 * 2 * 8);
    shape.micro_batches = 9;
    CHECK_THROWS_AS(even_pipeline(shape, 5.0, 10.0), InputError);
}

TEST_CASE("a slow stage and slow sends lengthen the step; a slow host hides them") {
    std::vector<StageTimes> stages(
        4, {.forward = {.gpu = 10.0 * one_us}, .backward = {.gpu = 20.0 * one_us}});
    const PipelineShape shape{.ranks = 4, .micro_batches = 8};
    const Time even = run_pipeline(stages, shape).time;
    PipelineShape sending = shape;
    sending.send = 5.0 * one_us;
    CHECK(run_pipeline(stages, sending).time > even);
    stages[3].forward.gpu = 20.0 * one_us;
    const Time uneven = run_pipeline(stages, shape).time;
    CHECK(uneven.in(one_us) >= 8 * 40.0);
    for (StageTimes& stage : stages) {
        stage.forward.host = 100.0 * one_us;
        stage.backward.host = 100.0 * one_us;
    }
    const PipelineRun bound = run_pipeline(stages, shape);
    CHECK(bound.host[0].in(one_us) == Approx(1600.0));
    CHECK(bound.time.in(one_us) < 1600.0 + 200.0);
}
