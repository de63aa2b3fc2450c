// The 32 threads of a warp share one instruction at a time; threads on another path are masked.
{
  const timeOfPaths = (model, paths) => model.time(`access pattern=divergent paths=${paths} elements=4194304 dtype=fp32`);
  const colours = ['blue', 'orange', 'green', 'purple', 'yellow'];

  const draw = (pen, f, t) => {
    const cell = (pen.w - 70) / 32;
    const row = Math.min(60, 250 / f.passes);
    const now = Math.min(f.passes - 1, Math.floor(phase(t, 0, 3.6) * f.passes));
    pen.text(0, 16, 'pass', {size: 12, fill: 'soft'});
    pen.text(pen.w, 16, 'the 32 threads of a warp', {size: 13, align: 'right'});
    for (let pass = 0; pass < f.passes; ++pass) {
      const y = 28 + pass * row;
      if (row > 13 || pass % 4 === 0) pen.text(22, y + row / 2 + 4, String(pass + 1), {size: 12, align: 'right', bold: pass === now});
      for (let lane = 0; lane < 32; ++lane) {
        const path = f.sorted ? 0 : lane % f.paths;
        const works = path === pass;
        const x = 36 + lane * cell;
        const past = pass <= now;
        pen.box(x, y, cell - 2, row - 3, {fill: works && past ? colours[pass % 5] : 'quiet', stroke: works ? colours[pass % 5] : undefined, round: 2});
        if (!works && row > 10 && cell > 9) pen.path([[x + 3, y + row / 2 - 1], [x + cell - 5, y + row / 2 - 1]], {stroke: 'line'});
      }
      if (pass === now) pen.path([[pen.w - 30, y + row / 2 - 1], [pen.w - 22, y + row / 2 - 7], [pen.w - 22, y + row / 2 + 5]], {fill: colours[pass % 5], close: true});
    }
    const share = 1 / f.passes;
    pen.box(36, 292, pen.w - 70, 12, {fill: 'quiet', round: 3});
    pen.box(36, 292, (pen.w - 70) * share, 12, {fill: 'green', round: 3});
    pen.text(36, 322, `threads at work: ${percentOf(share)}`, {size: 13});
  };

  lesson('divergence', {
    title: 'Divergent branches',
    question: 'The threads of a warp take four different branches of equal length. How much longer does the warp take?',
    guess: {choices: ['as long as one branch', 'about 2 times', 'about 4 times'], limits: [1.3, 3], value: (f) => f.slower, told: (value) => `${fold(value)} as long`},
    controls: [
      {slide: 'paths', name: 'branches', low: 1, high: 32, start: 4},
      {choose: 'order', name: 'Threads', of: [['mixed', 'mixed within a warp'], ['sorted', 'sorted: a warp agrees']], start: 'mixed'},
    ],
    study(state, model) {
      const paths = clampTo(state.paths, 1, 32);
      const sorted = state.order === 'sorted';
      const passes = sorted ? 1 : paths;
      const [now, best] = [timeOfPaths(model, passes), timeOfPaths(model, 1)];
      return {paths, sorted, passes, now, best, slower: now / best};
    },
    facts: (f) => [whichever(
      [[f.passes, '=', 1], () => 'All 32 threads go the same way: one pass, all at work.'],
      [[f.passes, '>', 1], () => `The warp runs ${f.passes} passes, one for each branch; in each, ${percentOf(1 / f.passes)} of the threads work and the others are masked.`])],
    claims: (f) => [whichever(
      [[f.passes, '=', 1], () => `4.2 million threads take ${timeOf(f.now)}.`],
      [[f.slower, '~', 1], () => `4.2 million threads take ${timeOf(f.now)}, about as long as on one branch.`],
      [[f.slower, '>', 1.05], () => `4.2 million threads take ${timeOf(f.now)} instead of ${timeOf(f.best)}: ${fold(f.slower)} as long.`])],
    height: () => 330, seconds: 4.4, poster: 2.0, draw,
    tell: (f) => `The 32 lanes of a warp in ${f.passes} passes; in each, the lanes of one branch work and the others are masked.`,
    chart: (f, model) => ({
      title: 'Time against branches', x: {title: 'branches in a warp'}, y: {title: 'µs'}, drag: 'paths', here: [f.paths, f.now],
      series: [
        {name: 'predicted', points: Array.from({length: 32}, (_, i) => [i + 1, model.maybe(`access pattern=divergent paths=${i + 1} elements=4194304 dtype=fp32`)?.time_us ?? NaN])},
        ...(model.measured('divergence', 'paths').length ? [{name: 'measured', fill: 'ink', dots: 4, points: model.measured('divergence', 'paths').map(([paths, seconds]) => [paths, seconds * 1e6])}] : []),
      ],
    }),
    effect: 'divergence',
    depth: ['A warp issues every path that any of its threads takes. If each thread takes a rare branch with a chance of 5 %, four warps in five issue both sides: 1 − 0.95³² − 0.05³² = 81 %.', 'The remedy is to make the threads of a warp agree: branch on the index of the warp or block, or sort the work by path.'],
  });
}
