// A block of threads walks along k: it loads a tile of A and one of B into shared memory, waits, multiplies, waits, and goes on.
{
  const n = 2048;
  const shownN = 512;  // of the picture
  const kernels = [['naive', 'one thread, one result'], ['coalesced', 'neighbours side by side'], ['tiled', 'tiles of 32 in shared memory'], ['register_tiled', '8 × 8 results in registers'], ['library', 'library']];
  const phases = ['load', 'sync', 'multiply', 'sync'];
  const trafficAt = (edge) => 4 * (2 * n * n * (n / edge)) + 4 * n * n;

  const matrix = (pen, x, y, side, blocks, lit, fill) => {
    pen.box(x, y, side, side, {fill: 'quiet', stroke: 'line'});
    const cell = side / blocks;
    for (let i = 1; i < blocks && blocks <= 32; ++i) {
      pen.path([[x + i * cell, y], [x + i * cell, y + side]], {stroke: 'line', width: 0.5});
      pen.path([[x, y + i * cell], [x + side, y + i * cell]], {stroke: 'line', width: 0.5});
    }
    for (const [row, column, strong] of lit) pen.box(x + column * cell, y + row * cell, Math.max(2, cell), Math.max(2, cell), {fill: strong ? fill[0] : fill[1]});
  };

  const draw = (pen, f, t) => {
    const blocks = Math.max(2, Math.min(64, shownN / f.edge));
    const steps = blocks;
    const perStep = 1.6;
    const step = Math.floor(t / perStep) % steps;
    const part = (t % perStep) / perStep;
    const now = part < 0.35 ? 0 : part < 0.45 ? 1 : part < 0.88 ? 2 : 3;
    const side = pen.narrow ? (pen.w - 34) / 2 : Math.min(170, (pen.w * 0.58) / 2);
    const [x1, x2, y1, y2] = [16, side + 34, 20, side + 44];
    const [row, column] = [Math.floor(blocks * 0.6), Math.floor(blocks * 0.35)];
    const line = Array.from({length: blocks}, (_, i) => i);
    pen.text(x2, y1 - 6, 'B', {bold: true});
    pen.text(x1, y2 - 6, 'A', {bold: true});
    pen.text(x2, y2 - 6, 'C', {bold: true});
    matrix(pen, x2, y1, side, blocks, [...line.map((i) => [i, column, false]), [step, column, true]], ['orange', 'sand']);
    matrix(pen, x1, y2, side, blocks, [...line.map((i) => [row, i, false]), [row, step, true]], ['blue', 'sky']);
    matrix(pen, x2, y2, side, blocks, [[row, column, true]], ['green', 'mint']);
    pen.text(x1, y1 + 14, `step ${step + 1} of ${steps}`, {bold: true});
    pen.text(x1, y1 + 34, 'along k', {size: 12, fill: 'soft'});
    const [sx, sy] = pen.narrow ? [16, y2 + side + 26] : [x2 + side + 40, 40];
    const tile = pen.narrow ? 56 : 84;
    pen.text(sx, sy - 10, f.edge === 1 ? 'registers of a thread' : 'shared memory', {bold: true, size: 13});
    const full = now === 0 ? part / 0.35 : 1;
    pen.box(sx, sy, tile, tile, {fill: 'quiet', stroke: 'blue'});
    pen.box(sx, sy, tile * full, tile, {fill: 'blue'});
    pen.box(sx + tile + 14, sy, tile, tile, {fill: 'quiet', stroke: 'orange'});
    pen.box(sx + tile + 14, sy, tile, tile * full, {fill: 'orange'});
    if (now === 2) {
      const sweep = (part - 0.45) / 0.43;
      pen.box(sx, sy + tile * sweep * 0.92, tile, tile * 0.08, {fill: 'paper'});
      pen.box(sx + tile + 14 + tile * sweep * 0.92, sy, tile * 0.08, tile, {fill: 'paper'});
    }
    const [px, py] = pen.narrow ? [sx + 2 * tile + 34, sy] : [sx, sy + tile + 30];
    phases.forEach((name, i) => {
      pen.box(px, py + i * (pen.narrow ? 15 : 26) - 2, pen.narrow ? 92 : 120, pen.narrow ? 13 : 22, {fill: i === now ? (name === 'sync' ? 'yellow' : name === 'load' ? 'blue' : 'green') : 'quiet', round: 3});
      pen.text(px + 8, py + i * (pen.narrow ? 15 : 26) + (pen.narrow ? 9 : 14), name, {size: 12, fill: i === now ? 'paper' : 'soft', bold: i === now});
    });
    if (!pen.narrow) pen.text(sx, py + 130, `each number loaded serves ${f.edge}`, {size: 13});
    if (!pen.narrow) pen.text(sx, py + 148, f.edge === 1 ? 'multiplication' : 'multiplications', {size: 13});
  };

  lesson('tiling', {
    title: 'Tiles in shared memory',
    question: 'A product of 2048 × 2048 in tiles of 128 instead of number by number: how much less do the SMs fetch?',
    guess: {choices: ['half', 'about a tenth', 'a hundredth'], limits: [5, 40], counted: true, value: (f) => trafficAt(1) / trafficAt(128), told: (value) => `${fold(value)} less`},
    controls: [{choose: 'edge', name: 'Edge of a tile', of: [['1', '1: no tiles'], ['16', '16'], ['32', '32'], ['64', '64'], ['128', '128']], start: '64'}],
    study(state, model) {
      const edge = clampTo(state.edge, 1, 128);
      const rates = kernels.map(([impl]) => {
        const answer = model.predict(`matmul m=${n} n=${n} k=${n} dtype=fp32 impl=${impl}`);
        return answer ? answer.flop / answer.time_us / 1e6 : NaN;
      });
      const [naive, , tiled, registers, library] = rates;
      return {edge, traffic: trafficAt(edge), without: trafficAt(1), rates, naive, tiled, registers, library};
    },
    facts: (f) => [whichever(
      [[f.edge, '=', 1], () => `Without tiles every multiplication fetches its two numbers: ${trafficOf(f.traffic)} for ${n}³ in fp32.`],
      [[f.traffic, '<', f.without], () => `Tiles of ${f.edge} fetch ${trafficOf(f.traffic)} instead of ${trafficOf(f.without)}: ${fold(f.without / f.traffic)} less.`])],
    claims: (f) => [
      whichever(
        [[f.registers, '>', 1.05 * f.tiled], [f.tiled, '>', 1.05 * f.naive], () => `Shared memory alone brings ${numberText(f.tiled, 3)} TFLOP/s instead of ${numberText(f.naive, 3)}; results kept in registers bring ${numberText(f.registers, 3)}.`],
        [[f.naive, '>', 0], () => `The naive kernel runs at ${numberText(f.naive, 3)} TFLOP/s, the one with tiles at ${numberText(f.tiled, 3)}, with registers at ${numberText(f.registers, 3)}.`]),
      whichever([[f.library, '>', 1.05 * f.registers], () => `The library reaches ${numberText(f.library, 3)}.`]),
    ],
    height: (width) => (width < 520 ? width + 130 : 2 * Math.min(170, (width * 0.58) / 2) + 60),
    seconds: 12.8, step: 0.4, poster: 0.9, draw,
    tell: (f) => `A block computes one tile of C: tiles of ${f.edge} of A and B go through shared memory step by step: load, wait, multiply, wait.`,
    chart: (f, model) => ({title: `${n}³ in fp32, TFLOP/s`, bars: kernels.map(([impl, name], i) => {
      const measured = model.measured('tiling', 'rate').find(([x]) => x === impl)?.[1];
      return {name, value: f.rates[i] || 0, text: Number.isFinite(f.rates[i]) ? numberText(f.rates[i], 3) + (measured ? ` (measured ${numberText(measured / 1e12, 3)})` : '') : 'not modelled'};
    })}),
    effect: 'tiling',
    depth: ['With tiles of bm × bn, A is read n / bn times and B m / bm times. The tile lives in shared memory; the two waits keep a fast warp from reading what is not there yet, or overwriting what a slow one still reads.', ['for (int k = 0; k < K; k += T) {', '  As[y][x] = A[row][k + x];  Bs[y][x] = B[k + y][column];', '  __syncthreads();           // all loads have arrived', '  for (int i = 0; i < T; ++i) sum += As[y][i] * Bs[i][x];', '  __syncthreads();           // all have read before the next load', '}']],
  });
}
