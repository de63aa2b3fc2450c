// Dennard scaling: what a shrink by 0.7 did to clock, power and heat while the voltage fell too, and what it does since the voltage stays.
{
  const shrunk = (generations, falls) => {
    const edge = 0.7 ** generations;
    const voltage = falls ? edge : 1;
    const clock = falls ? 1 / edge : 1;
    const perTransistor = edge * voltage ** 2 * clock;  // C V² f, with the capacitance as the edge
    return {edge, count: 1 / edge ** 2, clock, heat: perTransistor / edge ** 2};
  };

  const draw = (pen, f) => {
    const side = Math.min(250, pen.w * 0.48);
    const n = Math.round(4 / f.edge);
    const cell = side / n;
    const lit = Math.min(1, 1 / f.heat);
    pen.text(0, 16, `${n * n} transistors on the same area`, {size: 13, fit: side + 40});
    pen.box(0, 26, side, side, {fill: f.heat > 1.05 ? 'sand' : 'quiet', round: 3});
    for (let i = 0; i < n * n; ++i) {
      // Every so many may switch if the heat of the area is to stay.
      const on = f.cap ? Math.floor((i + 1) * lit) > Math.floor(i * lit) : true;
      pen.box((i % n) * cell + cell * 0.14, 26 + Math.floor(i / n) * cell + cell * 0.14, cell * 0.72, cell * 0.72, {fill: on ? (f.heat > 1.05 && !f.cap ? 'orange' : 'blue') : 'line', round: 1});
    }
    const x = side + (pen.narrow ? 16 : 50);
    const width = pen.w - x;
    [['transistors', f.count, 'blue'], ['clock', f.clock, 'green'], ['heat of the area', f.heat, 'orange'], ['that may switch', lit, 'purple']].forEach(([name, value, fill], i) => {
      const y = 40 + i * 62;
      pen.text(x, y, name, {size: 13, fit: width});
      pen.text(x + width, y + 18, i === 3 ? percentOf(value) : `× ${numberText(value, 3)}`, {bold: true, align: 'right'});
      pen.box(x, y + 24, width, 10, {fill: 'quiet', round: 2});
      pen.box(x, y + 24, width * (i === 3 ? value : Math.min(1, Math.log2(1 + value) / 11)), 10, {fill, round: 2});
    });
  };

  lesson('dennard', {
    title: 'Dennard scaling and its end',
    question: 'Twice the transistors on the same area, and the voltage stays: what happens to the heat?',
    guess: {choices: ['it stays', 'it rises by about 40 %', 'it doubles'], limits: [1.2, 1.7], counted: true, value: () => shrunk(1, false).heat, told: (value) => `${fold(value)} as much from the same area, at the same clock`},
    controls: [
      {slide: 'generations', name: 'generations, each 0.7 × the edge', low: 0, high: 6, start: 2},
      {choose: 'voltage', name: 'Voltage', of: [['falls', 'falls with the edge (until about 2005)'], ['stays', 'stays (since then)']], start: 'stays'},
      {choose: 'cap', name: 'Heat', of: [['free', 'as it comes'], ['held', 'held: the rest stays dark']], start: 'free'},
    ],
    counted: true,
    study(state, model) {
      const generations = clampTo(state.generations, 0, 6);
      const now = shrunk(generations, state.voltage === 'falls');
      const timeline = remembered(['gpus', 'timeline']);
      const [first, last] = ['k20', 'b200'].map((name) => timeline.find((each) => each.name === name));
      return {generations, falls: state.voltage === 'falls', ...now, cap: state.cap === 'held', growth: first && last ? last.peak_flop_per_s / first.peak_flop_per_s : NaN, gpu: model.gpu};
    },
    facts: (f) => [
      `${f.generations} generation${f.generations === 1 ? '' : 's'}: ${numberText(f.count, 3)} × the transistors, ${numberText(f.clock, 3)} × the clock.`,
      whichever(
        [[f.heat, '~', 1], () => 'The heat of the area stays: smaller was faster for nothing.'],
        [[f.heat, '>', 1.05], () => `The area gives off ${numberText(f.heat, 3)} × the heat; held at 1, ${percentOf(1 / f.heat)} of the transistors may switch.`]),
      whichever([[f.growth, '>', 2], () => `So speed comes from more units, not from the clock: from a K20 to a B200 the peak grew ${numberText(f.growth, 3)} ×.`]),
    ],
    height: () => 290, draw,
    tell: (f) => `A square of silicon with ${Math.round(4 / f.edge) ** 2} transistors and its heat, ${numberText(f.heat, 3)} times the first.`,
    chart: (f) => {
      const line = (name, fill, of) => ({name, fill, points: Array.from({length: 7}, (_, g) => [g, of(shrunk(g, f.falls))])});
      return {title: 'Against the first generation', x: {title: 'generations', ticks: [0, 1, 2, 3, 4, 5, 6].map((g) => [g, String(g)])}, y: {log: true}, drag: 'generations', series: [line('transistors', 'blue', (each) => each.count), line('clock', 'green', (each) => each.clock), line('heat', 'orange', (each) => each.heat)]};
    },
    depth: ['Power of a switching transistor: C V² f. Dennard et al. (1974) scaled edge, voltage and 1 / clock alike, so that power for each area stayed. Below about 1 V leakage stopped that.'],
  });
}
