// One of the four schedulers of an SM: it issues from any warp that is not waiting, so enough warps hide the latency of memory.
{
  // An exact simulation: each warp issues `work` instructions, then waits for a load; the scheduler takes the warp that is ready longest.
  const run = (warps, work, wait, clocks) => {
    const state = Array.from({length: warps}, () => ({ready: 0, left: work, spans: []}));
    let busy = 0;
    for (let clock = 0; clock < clocks; ++clock) {
      const next = state.filter((warp) => warp.ready <= clock).sort((a, b) => a.ready - b.ready)[0];
      if (!next) continue;
      ++busy;
      const span = next.spans[next.spans.length - 1];
      if (span && span[1] === clock) span[1] = clock + 1;
      else next.spans.push([clock, clock + 1]);
      if (--next.left === 0) [next.left, next.ready] = [work, clock + 1 + wait];
    }
    return {spans: state.map((warp) => warp.spans), busy: busy / clocks};
  };

  const draw = (pen, f, t) => {
    if (!f.warps) return pen.text(0, 40, 'The limits of an SM of this chip are not known.');
    const left = pen.narrow ? 52 : 84;
    const scale = (pen.w - left - 8) / f.clocks;
    const row = Math.min(20, 208 / f.warps);
    const now = phase(t, 0, 6) * f.clocks;
    pen.text(0, 14, `${f.warps} warps of one scheduler`, {size: 13});
    f.spans.forEach((spans, i) => {
      const y = 24 + i * row;
      if (row > 11) pen.text(0, y + row - 5, pen.narrow ? `${i}` : `warp ${i}`, {size: 12, fill: 'soft'});
      pen.box(left, y, now * scale, row - 2, {fill: 'quiet'});
      for (const [from, to] of spans) if (from < now) pen.box(left + from * scale, y, Math.max(1, (Math.min(to, now) - from) * scale), row - 2, {fill: 'blue'});
    });
    const y = 246;
    pen.text(0, y + 14, pen.narrow ? 'busy' : 'scheduler', {size: 13, bold: true});
    pen.box(left, y, f.clocks * scale, 20, {fill: 'sand'});
    for (const spans of f.spans) for (const [from, to] of spans) if (from < now) pen.box(left + from * scale, y, Math.max(1, (Math.min(to, now) - from) * scale), 20, {fill: 'green'});
    pen.path([[left + now * scale, 20], [left + now * scale, y + 26]], {stroke: 'orange', width: 2});
    pen.text(left, y + 40, 'blue: issues, grey: waits for memory, orange: nobody is ready', {size: 12, fill: 'soft', fit: pen.w - left});
    // Registers of a thread: kept, and spilled.
    const wide = (pen.w - left - 8) / 320;
    pen.text(0, y + 66, pen.narrow ? 'regs' : 'registers', {size: 13, bold: true});
    pen.box(left, y + 54, 255 * wide, 14, {fill: 'quiet', stroke: 'line'});
    pen.box(left, y + 54, Math.min(255, f.wanted) * wide, 14, {fill: 'blue'});
    if (f.spilled) pen.box(left + 255 * wide, y + 54, f.spilled * wide, 14, {fill: 'orange'});
    pen.text(left + 255 * wide, y + 84, '255, the rest spills', {size: 12, fill: 'soft', align: 'right'});
  };

  lesson('occupancy', {
    title: 'Warps hide latency',
    question: 'A warp waits hundreds of clocks for a load. With 64 registers in each thread, how busy is its scheduler?',
    guess: {choices: ['under 30 %', '30 to 80 %', 'over 80 %'], limits: [0.3, 0.8], counted: true, value: (f) => f.busy, told: (value) => `${percentOf(value)} of the clocks`},
    controls: [
      {slide: 'registers', name: 'registers that a thread wants', low: 16, high: 320, start: 64},
      {slide: 'work', name: 'instructions for each load', low: 1, high: 100, start: 10},
    ],
    study(state, model) {
      const wanted = clampTo(state.registers, 16, 320);
      const work = clampTo(state.work, 1, 100);
      const answer = model.quietly(() => model.ask(['occupancy', '--threads', '128', '--registers', String(Math.min(255, wanted))]));
      const dram = (model.chip.memory || []).slice(-1)[0];
      if (!answer || !answer.warps_per_sm) {
        model.refused = 'the limits of its SMs are not known';
        return {warps: 0, busy: NaN};
      }
      const wait = Math.round(dram?.latency_clocks || 500);
      const warps = Math.max(1, Math.round(answer.warps_per_sm / 4));
      const clocks = 2 * (wait + work);
      const {spans} = run(warps, work, wait, clocks);
      return {wanted, work, wait, known: Boolean(dram?.latency_clocks), warps, perSm: answer.warps_per_sm, share: answer.occupancy, clocks, spans, busy: Math.min(1, (warps * work) / (wait + work)), spilled: Math.max(0, wanted - 255)};
    },
    facts: (f) => (f.warps ? [
      `With ${Math.min(255, f.wanted)} registers a thread, an SM holds ${f.perSm} warps, ${f.warps} for each scheduler.`,
      `Each issues ${f.work} instructions, then waits ${f.wait} clocks${f.known ? '' : ' (assumed)'}: the scheduler is busy ${percentOf(f.busy)} of the time.`,
      f.spilled ? `${f.spilled} registers spill: each costs a store and a load of 4 bytes in every thread.` : undefined,
    ] : []),
    height: () => 336, seconds: 7, poster: 6, draw,
    tell: (f) => `Timelines of ${f.warps} warps of one scheduler, which is busy ${percentOf(f.busy || 0)} of the time.`,
    chart: (f, model) => (f.warps ? {
      title: 'Scheduler busy', x: {title: 'registers of a thread'}, y: {text: (share) => percentOf(share)}, drag: 'registers', here: [f.wanted, f.busy],
      series: [{points: Array.from({length: 31}, (_, i) => 16 + 8 * i).map((registers) => {
        const answer = model.quietly(() => model.ask(['occupancy', '--threads', '128', '--registers', String(Math.min(255, registers))]));
        return [registers, Math.min(1, (Math.max(1, Math.round(answer.warps_per_sm / 4)) * f.work) / (f.wait + f.work))];
      })}],
    } : undefined),
    effect: 'occupancy',
    depth: ['Little\'s law: what is in flight = latency × rate. More warps are one way to have more in flight; more loads in each thread are another. A low occupancy alone is no problem.', 'A thread can have 255 registers. What does not fit is spilled to local memory, which lies in the L1, the L2 or DRAM; nvcc --ptxas-options=-v counts it.'],
    commands: (state) => [['occupancy', '--threads', '128', '--registers', String(Math.min(255, Number(state.registers) || 64)), '--gpu', state.gpu]],
  });
}
