// Launches return before the kernel runs: where an error is reported, and which threads fall outside the array.
{
  const draw = (pen, f, t) => {
    const left = pen.narrow ? 44 : 60;
    const width = pen.w - left - 4;
    const unit = width / 13;
    const now = phase(t, 0, 5) * 13;
    // Calls of the host and kernels of the GPU; kernel 2 fails.
    const host = f.blocking ? [[0, 3], [3, 6], [6, 6.8]] : [[0, 1], [1, 2], [2, 3], [3, 4], [4, 11.6]];
    const gpu = f.blocking ? [[1, 3], [4, 5.6]] : [[1, 3], [3, 4.6]];
    const names = ['1', '2', '3', '4', 'wait'];
    pen.text(0, 16, f.blocking ? 'CUDA_LAUNCH_BLOCKING=1: each call waits' : 'as usual: calls return at once', {bold: true, fit: pen.w});
    pen.text(0, 46, 'host', {size: 12, fill: 'soft'});
    pen.text(0, 86, 'GPU', {size: 12, fill: 'soft'});
    pen.box(left, 28, width, 28, {fill: 'quiet', round: 3});
    pen.box(left, 68, width, 28, {fill: 'quiet', round: 3});
    host.forEach(([from, to], i) => {
      if (from > now) return;
      const failed = f.blocking ? i === 2 : i === 4;
      pen.box(left + from * unit, 28, (Math.min(to, now) - from) * unit - 2, 28, {fill: failed ? 'sand' : 'orange', round: 3});
      if ((Math.min(to, now) - from) * unit > 18) pen.text(left + from * unit + 6, 47, f.blocking ? ['call 1', 'call 2', ''][i] : names[i], {size: 12, fill: failed ? 'ink' : 'paper'});
    });
    gpu.forEach(([from, to], i) => {
      if (from > now) return;
      pen.box(left + from * unit, 68, (Math.min(to, now) - from) * unit - 2, 28, {fill: i === 1 ? 'purple' : 'blue', round: 3});
      pen.text(left + from * unit + 6, 87, i === 1 ? 'kernel 2' : 'kernel 1', {size: 12, fill: 'paper', fit: (to - from) * unit - 8});
    });
    const broken = f.blocking ? 5.6 : 4.6;
    const told = f.blocking ? 6 : 11.6;
    if (now > broken) pen.text(left + broken * unit, 90, '✗ reads outside', {fill: 'purple', bold: true, size: 13});
    if (now > told) pen.text(Math.min(left + told * unit, pen.w - 118), 120, f.blocking ? '↑ reported at call 2' : '↑ reported here', {fill: 'orange', bold: true, size: 13});
    // Threads of the last blocks over the array.
    pen.text(0, 160, `${f.blocks} blocks of ${f.block} threads over ${f.n} numbers`, {bold: true, fit: pen.w});
    const shown = Math.min(f.blocks, 6);
    const each = pen.w / shown;
    for (let i = 0; i < shown; ++i) {
      const index = f.blocks - shown + i;
      const inside = Math.max(0, Math.min(1, (f.n - index * f.block) / f.block));
      pen.box(i * each + 1, 172, each - 3, 40, {fill: inside < 1 ? (f.guard ? 'quiet' : 'purple') : 'sky', round: 2});
      pen.box(i * each + 1, 172, (each - 3) * inside, 40, {fill: 'blue', round: 2});
      pen.text(i * each + 6, 230, `block ${index}`, {size: 12, fill: 'soft', fit: each - 8});
    }
    pen.text(0, 258, f.outside === 0 ? 'every thread has a number' : f.guard ? `if (i < n): ${f.outside} threads do nothing` : `no guard: ${f.outside} threads read outside the array`, {fill: f.outside && !f.guard ? 'purple' : 'ink', bold: true, fit: pen.w});
  };

  lesson('debugging', {
    title: 'Debugging launches',
    question: 'Kernel 2 reads outside its array. At which call does Python report the error?',
    guess: {choices: ['at call 2', 'at a later call', 'never'], limits: [0.5, 2], counted: true, value: () => 1, told: () => 'at a later call, often the first that waits for the GPU'},
    controls: [
      {choose: 'launch', name: 'Launches', of: [['usual', 'as usual'], ['blocking', 'CUDA_LAUNCH_BLOCKING=1']], start: 'usual'},
      {slide: 'n', name: 'numbers', low: 1, high: 5000, start: 1000},
      {slide: 'block', name: 'threads of a block', low: 32, high: 1024, start: 256},
      {choose: 'guard', name: 'Guard', of: [['none', 'none'], ['guard', 'if (i < n)']], start: 'none'},
    ],
    counted: true,
    study(state) {
      const [n, block] = [clampTo(state.n, 1, 5000), clampTo(state.block, 32, 1024)];
      const blocks = Math.ceil(n / block);
      return {n, block, blocks, outside: blocks * block - n, guard: state.guard === 'guard', blocking: state.launch === 'blocking', floor: Math.floor(n / block)};
    },
    facts: (f) => [
      f.blocking ? 'Each call waits for its kernel, so the error stands at the call that caused it; the program runs slower meanwhile.' : 'A call returns before its kernel runs; the error surfaces at a later call, and the traceback points to the wrong line.',
      `ceil(${f.n} / ${f.block}) = ${f.blocks} blocks make ${f.blocks * f.block} threads, ${f.outside} too many. ${f.guard ? 'The guard stops them.' : 'Without a guard they touch memory that is not theirs.'}`,
    ],
    height: () => 272, seconds: 6.5, poster: 5.2, draw,
    tell: (f) => `Timelines of host and GPU where kernel 2 fails, and ${f.blocks} blocks of threads over ${f.n} numbers.`,
    chart: (f) => ({title: 'Threads beyond the array', x: {title: 'numbers'}, y: {}, drag: 'n', here: [f.n, f.outside], series: [{points: Array.from({length: 500}, (_, i) => 10 * i + 10).map((n) => [n, Math.ceil(n / f.block) * f.block - n])}]}),
    depth: ['Use both only to find the fault: CUDA_LAUNCH_BLOCKING=1 for the call, `compute-sanitizer python train.py` for the thread and the address. torch.cuda.synchronize() after a suspect call does the same as blocking, for that call.', 'For timing, the same rule the other way round: without a synchronize a clock on the host measures the launches.', ['start = torch.cuda.Event(enable_timing=True)', 'end = torch.cuda.Event(enable_timing=True)', 'start.record(); y = f(x); end.record()', 'torch.cuda.synchronize(); print(start.elapsed_time(end), "ms")']],
  });
}
