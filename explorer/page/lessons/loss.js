// Loss against compute: the scaling law of Hoffmann et al. (2022), "Training Compute-Optimal Large Language Models", equation 10.
{
  const law = {floor: 1.69, a: 406.4, alpha: 0.34, b: 410.7, beta: 0.28};
  const share = 0.4;  // of the peak that a training run reaches, assumed
  const bestOf = (flop) => {
    const balance = ((law.alpha * law.a) / (law.beta * law.b)) ** (1 / (law.alpha + law.beta));
    const parameters = balance * (flop / 6) ** (law.beta / (law.alpha + law.beta));
    const tokens = flop / 6 / parameters;
    const [small, short] = [law.a / parameters ** law.alpha, law.b / tokens ** law.beta];
    return {parameters, tokens, small, short, loss: law.floor + small + short};
  };

  const cube = (pen, x, floor, side, [front, other]) => {
    const d = side * 0.4;
    pen.path([[x, floor - side], [x + d, floor - side - d * 0.7], [x + side + d, floor - side - d * 0.7], [x + side, floor - side]], {fill: other, close: true});
    pen.path([[x + side, floor - side], [x + side + d, floor - side - d * 0.7], [x + side + d, floor - d * 0.7], [x + side, floor]], {fill: other, close: true});
    pen.box(x, floor - side, side, side, {fill: front});
  };

  const draw = (pen, f) => {
    const left = pen.narrow ? 0 : 20;
    const column = Math.min(110, pen.w * 0.22);
    const unit = 60;
    const floor = 272;
    const parts = [['text itself', law.floor, 'line'], ['model too small', f.small, 'blue'], ['too few tokens', f.short, 'orange']];
    let y = floor;
    for (const [name, value, fill] of parts) {
      const height = value * unit;
      pen.box(left, y - height, column, height - 1, {fill});
      if (height > 12 || name !== 'text itself') pen.text(left + column + 8, y - height / 2 + 4, `${name} ${numberText(value, 2)}`, {size: 12});
      y -= height;
    }
    pen.text(left, y - 8, `loss ${numberText(f.loss, 3)}`, {bold: true, size: 15});
    // Parameters and tokens as cubes; one of parameters is 20 of tokens.
    const x = left + column + (pen.narrow ? 120 : 170);
    const room = pen.w - x;
    const sideOf = (value) => Math.max(4, Math.min(room * 0.3, 120) * Math.cbrt(Math.min(1, value / 1e13)));
    const [p, q] = [sideOf(f.parameters * 20), sideOf(f.tokens)];
    cube(pen, x, 190, p, ['blue', 'sky']);
    pen.text(x, 208, pen.narrow ? countOf(f.parameters) : `${countOf(f.parameters)} parameters`, {size: 13});
    cube(pen, x + room * 0.5, 190, q, ['orange', 'sand']);
    pen.text(x + room * 0.5, 208, pen.narrow ? countOf(f.tokens) : `${countOf(f.tokens)} tokens`, {size: 13});
    if (pen.narrow) pen.text(x, 226, 'parameters, tokens', {size: 12, fill: 'soft'});
    // GPU-years as squares.
    const years = f.years;
    const count = Math.min(400, Math.max(1, Math.round(years)));
    const cell = 9;
    const perRow = Math.floor((pen.w - x) / cell);
    for (let i = 0; i < Math.min(count, perRow * 4); ++i) pen.box(x + (i % perRow) * cell, 234 + Math.floor(i / perRow) * cell, cell - 2, cell - 2, {fill: 'green'});
    pen.text(x, 290, years < 1 ? `${numberText(years * 365, 3)} GPU-days` : `${numberText(years, 3)} GPU-years${count > perRow * 4 ? ' (not all drawn)' : ''}`, {size: 12, fit: pen.w - x});
  };

  lesson('loss', {
    title: 'Loss against compute',
    question: 'Ten times the compute, spent well: how far does the loss of a language model fall?',
    guess: {choices: ['by a tenth or so', 'by half', 'to a tenth'], limits: [0.25, 0.7], counted: true, value: (f) => 1 - f.tenfold / f.base, told: (value) => `by ${percentOf(value)}, from ${numberText(bestOf(1e21).loss, 3)} to ${numberText(bestOf(1e22).loss, 3)}`},
    controls: [{slide: 'power', name: 'compute: 10 to the power of … FLOP', low: 17, high: 26, start: 21}],
    counted: true,
    study(state, model) {
      const power = clampTo(state.power, 17, 26);
      const flop = 10 ** power;
      const peaks = model.chip.peaks || {};
      const peak = (peaks.bf16 || peaks.fp16)?.tensor_flop_per_s || peaks.fp32?.vector_flop_per_s || 1e13;
      const now = bestOf(flop);
      return {power, flop, ...now, more: bestOf(flop * 10).loss, base: bestOf(1e21).loss, tenfold: bestOf(1e22).loss, peak, years: flop / (share * peak) / 86400 / 365, title: model.title};
    },
    facts: (f) => [
      `10^${f.power} FLOP are best spent on ${countOf(f.parameters)} parameters and ${countOf(f.tokens)} tokens: loss ${numberText(f.loss, 3)}.`,
      whichever([[f.more, '<', f.loss], () => `Ten times as much brings ${numberText(f.more, 3)}: each step costs more and gains less.`]),
      `At ${percentOf(share)} of the peak of ${f.title}, assumed, that is ${f.years < 1 ? `${numberText(f.years * 365, 3)} GPU-days` : `${numberText(f.years, 3)} GPU-years`}.`,
    ],
    height: () => 300, draw,
    tell: (f) => `A column of the loss, and cubes for ${countOf(f.parameters)} parameters and ${countOf(f.tokens)} tokens.`,
    chart: (f) => ({title: 'Loss', x: {title: 'FLOP, power of ten'}, y: {zero: false}, drag: 'power', here: [f.power, f.loss], limits: [['the text itself', law.floor]], series: [{points: Array.from({length: 37}, (_, i) => 17 + i / 4).map((power) => [power, bestOf(10 ** power).loss])}]}),
    depth: ['L = 1.69 + 406.4 / N^0.34 + 410.7 / D^0.28 with N parameters and D tokens, and 6 N D FLOP (Hoffmann et al., 2022). The law was fitted to models of up to 16 billion parameters.'],
  });
}
