// Exercises of the course's notebooks: a number is asked, and checked against what the chip's own figures give.
{
  const exercises = [
    {name: 'Intensity of ReLU', ask: 'ReLU reads and writes one fp16 number of 2 bytes and does one operation. FLOP per byte?', of: () => 1 / 4, hint: '1 FLOP over 2 + 2 bytes'},
    {name: 'Ridge point', ask: (model) => `Peak ${rateOf(peakOf(model), 'FLOP/s')} over bandwidth ${rateOf(bandwidthOf(model), 'B/s')}: FLOP per byte at the ridge?`, of: (model) => peakOf(model) / bandwidthOf(model), hint: 'peak / bandwidth'},
    {name: 'A product of 4096³', ask: 'FLOP of a product with m = n = k = 4096, in GFLOP?', of: () => (2 * 4096 ** 3) / 1e9, hint: '2 m n k'},
    {name: 'Scores of attention', ask: 'Scores of 32 heads over 8192 tokens in 2 bytes: how many GiB?', of: () => (32 * 8192 ** 2 * 2) / 2 ** 30, hint: 'heads × n² × 2 bytes'},
    {name: 'Waves', ask: (model) => `${tilesAsked} equal tiles, one on each of ${model.chip.sm_count} SMs at a time: how many waves?`, of: (model) => Math.ceil(tilesAsked / model.chip.sm_count), hint: 'round up tiles / SMs'},
    {name: 'Sectors', ask: '32 threads read fp32 numbers with a stride of 4. How many sectors of 32 bytes?', of: () => 16, hint: '32 × 4 × 4 bytes span 512 bytes, every sector is touched'},
    {name: 'Passes of a fused chain', ask: 'gelu(x + y) in two kernels passes tensors 5 times. How often in one kernel?', of: () => 3, hint: 'read x, read y, write once'},
    {name: 'Training state', ask: 'AdamW in fp32 keeps weight, gradient and two moments: bytes for each parameter?', of: () => 16, hint: '4 numbers of 4 bytes'},
    {name: 'A decode step', ask: (model) => `Weights of 16 GB are read once at ${rateOf(bandwidthOf(model), 'B/s')}: at least how many ms?`, of: (model) => (16e9 / bandwidthOf(model)) * 1000, hint: 'bytes / bandwidth'},
    {name: 'A ring', ask: 'All-reduce of 1 GB in a ring of 8 GPUs: how many GB leave each GPU?', of: () => (2 * 7) / 8, hint: '2 (n − 1) / n'},
  ];
  const tilesAsked = 500;
  const bandwidthOf = (model) => (model.chip.memory || []).slice(-1)[0]?.bytes_per_s || 1e12;
  const peakOf = (model) => {
    const peak = model.chip.peaks?.[model.half];
    return peak?.tensor_flop_per_s || peak?.vector_flop_per_s || model.chip.peaks?.fp32?.vector_flop_per_s || 1e12;
  };
  const solved = new Set();

  const draw = (pen, f) => {
    const gap = pen.w / f.count;
    for (let i = 0; i < f.count; ++i) {
      const x = gap * (i + 0.5);
      pen.dot(x, 30, Math.min(18, gap * 0.38), {fill: f.solved.has(i) ? 'green' : i === f.at ? 'orange' : 'quiet', stroke: i === f.at ? 'ink' : 'line', width: i === f.at ? 2 : 1});
      pen.text(x, 35, f.solved.has(i) ? '✓' : String(i + 1), {align: 'center', fill: f.solved.has(i) || i === f.at ? 'paper' : 'soft', bold: true});
    }
    pen.text(0, 84, f.name, {bold: true, size: 17});
    // The question, wrapped.
    const words = f.ask.split(' ');
    let line = '';
    let y = 112;
    for (const word of words) {
      if (pen.wide(`${line} ${word}`, 15) > pen.w) {
        pen.text(0, y, line, {size: 15});
        y += 22;
        line = word;
      } else line = line ? `${line} ${word}` : word;
    }
    pen.text(0, y, line, {size: 15});
    // Where the answer lies between a tenth and ten times the right one.
    if (Number.isFinite(f.given) && f.given > 0) {
      const share = Math.max(0, Math.min(1, 0.5 + Math.log10(f.given / f.right) / 2));
      pen.box(0, 196, pen.w, 14, {fill: 'quiet', round: 7});
      pen.box(pen.w * 0.49, 190, pen.w * 0.02, 26, {fill: 'green', round: 4});
      pen.dot(pen.w * share, 203, 8, {fill: f.correct ? 'green' : 'orange', stroke: 'paper', width: 2});
      pen.text(0, 236, 'a tenth', {size: 12, fill: 'soft'});
      pen.text(pen.w, 236, 'ten times', {size: 12, fill: 'soft', align: 'right'});
    }
  };

  lesson('exercises', {
    title: 'Exercises',
    question: 'Ten small calculations with the numbers of your chip. Are you within 5 %?',
    controls: [
      {choose: 'exercise', name: 'Exercise', of: exercises.map((each, i) => [String(i), `${i + 1}. ${each.name}`]), start: '0'},
      {type: 'answer', name: 'Your answer'},
    ],
    counted: true,
    study(state, model) {
      const at = Math.min(exercises.length - 1, Number(state.exercise) || 0);
      const each = exercises[at];
      const right = each.of(model);
      const given = parseFloat(String(state.answer ?? '').replace(',', '.'));
      const correct = Math.abs(given / right - 1) <= 0.05;
      if (correct) solved.add(at);
      return {at, name: each.name, ask: typeof each.ask === 'function' ? each.ask(model) : each.ask, right, given, correct, hint: each.hint, count: exercises.length, solved: new Set(solved)};
    },
    facts: (f) => [
      !Number.isFinite(f.given) ? 'Type your answer; 5 % off is near enough.' : f.correct ? `Right: ${numberText(f.right, 4)}.` : `Not yet. Think of: ${f.hint}.`,
      whichever([[f.solved.size, '>', 0], () => `${f.solved.size} of ${f.count} solved.`]),
    ],
    height: () => 244, draw,
    tell: (f) => `Exercise ${f.at + 1} of ${f.count}: ${f.ask}`,
  });
}
