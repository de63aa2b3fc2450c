// A CPU with few fast cores beside a GPU with many slow lanes, at the same work: an exact small simulation with the GPU's own numbers.
{
  const operations = 1000;  // of each task, one after another
  const cpu = {cores: 16, clock: 4.5e9, start: 0.5};  // an example: one operation a clock
  const depth = 4;  // clocks from one dependent operation to the next on a GPU
  const launch = 3;

  const timesFor = (f, tasks) => ({
    cpu: cpu.start + (Math.ceil(tasks / cpu.cores) * operations) / cpu.clock * 1e6,
    gpu: launch + Math.max((operations * depth) / f.clock, (tasks * operations) / (f.lanes * f.clock)) * 1e6,
  });

  const draw = (pen, f, t) => {
    const gap = pen.narrow ? 12 : 30;
    const half = (pen.w - gap) / 2;
    const most = Math.max(f.cpuTime, f.gpuTime);
    const now = phase(t, 0, 5) * most;
    const sides = [['CPU: 16 fast cores', f.cpuTime, 16, 'orange', 0], [`GPU: ${f.lanes} slow lanes`, f.gpuTime, f.lanes, 'blue', half + gap]];
    for (const [name, time, lanes, fill, x] of sides) {
      pen.text(x, 16, name, {bold: true, fit: half});
      const shown = Math.min(lanes, 1600);
      const perRow = Math.ceil(Math.sqrt((shown * half) / 190));
      const cell = half / perRow;
      const busy = Math.min(1, f.tasks / lanes);
      for (let i = 0; i < shown; ++i) {
        const works = i < Math.max(1, Math.round(busy * shown)) && now < time;
        const [cx, cy] = [x + (i % perRow) * cell, 28 + Math.floor(i / perRow) * cell];
        if (cy + cell > 222) break;
        pen.box(cx + cell * 0.07, cy + cell * 0.07, cell * 0.86, cell * 0.86, {fill: works ? fill : 'quiet', round: 1});
      }
      const done = Math.min(1, now / time);
      pen.box(x, 236, half, 20, {fill: 'quiet', round: 3});
      pen.box(x, 236, half * done, 20, {fill, round: 3});
      pen.text(x, 276, done < 1 ? `${Math.floor(done * f.tasks)} of ${f.tasks} done` : `all done after ${timeOf(time)}`, {size: 13, bold: done === 1, fit: half});
    }
  };

  lesson('cpu-gpu', {
    title: 'CPU beside GPU',
    question: '10,000 independent tasks of 1000 steps: 16 fast cores or a GPU, whose lanes are slower?',
    guess: {choices: ['the cores', 'both alike', 'the GPU'], limits: [0.8, 1.25], counted: true, value: (f) => f.at10k, told: (value) => (value > 1.25 ? `the GPU, ${fold(value)} as fast` : value < 0.8 ? 'the cores' : 'both alike')},
    controls: [{slide: 'tasks', name: 'tasks', low: 1, high: 1048576, start: 10000, doubling: true}],
    study(state, model) {
      const tasks = clampTo(state.tasks, 1, 1048576);
      const peak = model.chip.peaks?.fp32?.vector_flop_per_s;
      const level = (model.chip.memory || []).find((each) => each.latency_clocks && each.latency_ns);
      const clock = level ? (level.latency_clocks / level.latency_ns) * 1e9 : 1.5e9;
      if (!peak || !model.chip.sm_count) {
        model.refused = 'it has no lanes that run threads of one number each';
        return {};
      }
      const lanes = Math.round(peak / 2 / clock);
      const base = {lanes, clock};
      const now = timesFor(base, tasks);
      const large = timesFor(base, 10000);
      return {tasks, ...base, cpuTime: now.cpu, gpuTime: now.gpu, at10k: large.cpu / large.gpu, one: timesFor(base, 1)};
    },
    facts: (f) => (f.lanes ? [
      whichever(
        [[f.cpuTime, '~', f.gpuTime], () => `${f.tasks} tasks: CPU ${timeOf(f.cpuTime)}, GPU ${timeOf(f.gpuTime)}, about the same.`],
        [[f.cpuTime, '>', f.gpuTime], () => `${f.tasks} tasks: ${timeOf(f.gpuTime)} on the GPU, ${timeOf(f.cpuTime)} on the CPU; the GPU is ${fold(f.cpuTime / f.gpuTime)} as fast.`],
        [[f.cpuTime, '<', f.gpuTime], () => `${f.tasks} task${f.tasks > 1 ? 's' : ''}: ${timeOf(f.cpuTime)} on the CPU, ${timeOf(f.gpuTime)} on the GPU; the CPU is ${fold(f.gpuTime / f.cpuTime)} as fast.`]),
      whichever([[f.one.gpu, '>', 1.05 * f.one.cpu], () => 'A CPU finishes one task sooner, a GPU many: it trades latency for throughput.']),
    ] : []),
    height: () => 286, seconds: 6, poster: 2.2, draw,
    tell: (f) => `16 cores of a CPU and ${f.lanes} lanes of a GPU at ${f.tasks} tasks: ${timeOf(f.cpuTime)} and ${timeOf(f.gpuTime)}.`,
    chart: (f) => {
      const counts = Array.from({length: 21}, (_, i) => 2 ** i);
      const line = (name, fill, of) => ({name, fill, points: counts.map((tasks) => [tasks, of(timesFor(f, tasks))])});
      return {title: 'Time', x: {title: 'tasks', log: true, ticks: [[1, '1'], [1024, '1 Ki'], [1048576, '1 Mi']]}, y: {title: 'µs', log: true}, drag: 'tasks', here: [f.tasks, f.gpuTime], series: [line('CPU', 'orange', (each) => each.cpu), line('GPU', 'blue', (each) => each.gpu)]};
    },
    depth: ['The CPU is an example: 16 cores of 4.5 GHz, one operation a clock, no vector units. The GPU has the lanes and the clock of the chosen chip, 4 clocks from one dependent operation to the next, and 3 µs for a launch.'],
  });
}
