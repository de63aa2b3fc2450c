// FlashAttention block by block: a block of queries stays on chip, keys and values stream past it, and m, l and O are updated.
{
  const heads = 16;
  const dim = 64;
  const tokens = 65536;  // in all: 64 sequences of 1024 tokens, the paper's setting
  const blocks = 4;
  // Greatest scores of each block and its sums, as an example that can be followed.
  const scores = [[2, 1.6], [4, 1.9], [3, 1.4], [6, 1.2]];
  const walk = () => {
    let [m, l, o] = [-Infinity, 0, 0];
    return scores.map(([top, sum]) => {
      const next = Math.max(m, top);
      const scale = m === -Infinity ? 0 : Math.exp(m - next);
      const add = sum * Math.exp(top - next);
      const before = {m, l, o};
      l = l * scale + add;
      o = o * scale + add;
      m = next;
      return {m, l, o, scale, add, before};
    });
  };
  const states = walk();
  const shape = (seq, direction) => `attention batch=${tokens / seq} heads=${heads} seq=${seq} head_dim=${dim}${direction === 'backward' ? ' direction=backward' : ''}`;

  // Bytes that pass DRAM: the paper's count of tensors T = tokens x heads x dim and scores S = tokens x seq x heads, 2 bytes each.
  const bytesOf = (seq, direction) => {
    const [t, s] = [tokens * heads * dim * 2, tokens * heads * seq * 2];
    return direction === 'backward' ? {standard: 7 * s + 8 * t, flash: 8 * t} : {standard: 4 * s + 4 * t, flash: 4 * t};
  };

  // What a block of the backward pass computes: the scores once more, then five gradients' parts.
  const products = [['S', 'Q Kᵀ', 'scores, once more'], ['P', 'exp(S − L)', 'L: the saved log of the sum'], ['dV', '+ Pᵀ dO', ''], ['dP', 'dO Vᵀ', ''], ['dS', 'P (dP − D)', 'D: row sums of dO O'], ['dQ', '+ dS K', 'leaves for memory'], ['dK', '+ dSᵀ Q', '']];
  const drawProducts = (pen, x, y, share, q, kv) => {
    const now = Math.min(products.length - 1, Math.floor(share * products.length));
    pen.text(x, y + 10, `Q${q + 1} with K${kv + 1} V${kv + 1}:`, {bold: true});
    products.forEach(([name, how, why], i) => {
      const top = y + 16 + i * 18;
      if (i === now) pen.box(x - 4, top, pen.w - x + 2, 18, {fill: 'mint', round: 3});
      pen.text(x, top + 13, name, {size: 12, bold: true, fill: i <= now ? 'ink' : 'soft'});
      pen.text(x + 28, top + 13, how, {size: 12, fill: i <= now ? 'ink' : 'soft'});
      pen.text(x + 108, top + 13, why, {size: 12, fill: 'soft', fit: pen.w - x - 112});
    });
  };

  // Bytes through memory, as far as the loop has come.
  const drawBytes = (pen, f, x, y, share) => {
    [['three kernels', f.bytes.standard, 'orange'], ['FlashAttention', f.bytes.flash, 'blue']].forEach(([name, bytes, fill], i) => {
      const by = y + i * 44;
      pen.text(x, by, `${name}: ${trafficOf(bytes * share)}`, {size: 13});
      pen.box(x, by + 6, pen.w - x - 4, 12, {fill: 'quiet', round: 2});
      pen.box(x, by + 6, Math.max(1.5, ((pen.w - x - 4) * bytes * share) / f.bytes.standard), 12, {fill, round: 2});
    });
  };

  const draw = (pen, f, seconds) => {
    const total = blocks * blocks;
    const beat = f.backward ? 2.1 : 0.9;
    const t = seconds % (total * beat + 0.8);
    const at = Math.min(total - 1, Math.floor(t / beat));
    const [outer, inner] = [Math.floor(at / blocks), at % blocks];
    const [q, kv] = f.backward ? [inner, outer] : [outer, inner];
    const side = pen.narrow ? 40 : 52;
    const [gx, gy] = [86, 60];
    pen.text(0, 16, f.backward ? 'backward: keys stay, queries stream' : 'forward: queries stay, keys and values stream', {size: 13, bold: true, fit: pen.w});
    for (let i = 0; i < blocks; ++i) {
      pen.box(gx - 40, gy + i * side, 30, side - 4, {fill: i === q ? 'blue' : 'sky', round: 3});
      pen.text(gx - 25, gy + i * side + side / 2 + 3, `Q${i + 1}`, {align: 'center', size: 12, fill: i === q ? 'paper' : 'ink'});
      pen.box(gx + i * side, gy - 34, side - 4, 26, {fill: i === kv ? 'orange' : 'sand', round: 3});
      pen.text(gx + i * side + side / 2 - 2, gy - 17, `K${i + 1} V${i + 1}`, {align: 'center', size: 12, fill: i === kv ? 'paper' : 'ink', fit: side - 6});
      for (let j = 0; j < blocks; ++j) {
        const order = f.backward ? j * blocks + i : i * blocks + j;
        pen.box(gx + j * side, gy + i * side, side - 4, side - 4, {fill: order < at ? 'quiet' : order === at ? 'green' : 'paper', stroke: order === at ? 'green' : 'line', dash: order > at ? [3, 3] : undefined, round: 2});
      }
      pen.box(gx + blocks * side + 10, gy + i * side, 30, side - 4, {fill: f.backward ? 'quiet' : i < outer || (i === q && inner === blocks - 1) ? 'green' : i === q ? 'mint' : 'quiet', round: 3});
      pen.text(gx + blocks * side + 25, gy + i * side + side / 2 + 3, f.backward ? `dQ${i + 1}` : `O${i + 1}`, {align: 'center', size: 12});
    }
    pen.text(gx, gy + blocks * side + 18, 'a block of scores lives on chip only', {size: 12, fill: 'soft'});
    // m, l and O of the block of queries in work.
    const x = pen.narrow ? 4 : gx + blocks * side + 76;
    const y = pen.narrow ? gy + blocks * side + 44 : 34;
    const state = states[inner];
    const part = phase(t - at * beat, 0, 0.6);
    if (f.backward) {
      drawProducts(pen, x, y, phase(t - at * beat, 0, beat), q, kv);
      if (!pen.narrow) drawBytes(pen, f, x, y + 170, (at + 1) / total);
      return;
    }
    pen.text(x, y + 14, `Q${q + 1} after K${kv + 1}:`, {bold: true});
    pen.text(x, y + 34, `m = ${numberText(state.m, 3)}   l = ${numberText(state.l, 3)}`);
    pen.text(x, y + 54, inner === 0 ? 'O starts' : state.scale < 1 ? `O × ${numberText(state.scale, 2)}: new maximum` : 'O × 1: same maximum', {fill: state.scale < 1 && inner ? 'orange' : 'soft'});
    const width = Math.min(190, pen.w - x - 6);
    const unit = width / 2.6;
    const kept = state.before.o * (1 + (state.scale - 1) * part) || 0;
    pen.box(x, y + 64, width, 22, {stroke: 'line'});
    pen.box(x, y + 64, Math.min(width, kept * unit), 22, {fill: 'green'});
    pen.box(x + Math.min(width, kept * unit), y + 64, Math.min(width - kept * unit, state.add * part * unit), 22, {fill: 'orange'});
    pen.text(x, y + 104, 'O so far (green) + this block (orange)', {size: 12, fill: 'soft', fit: pen.w - x});
    if (!pen.narrow) drawBytes(pen, f, x, y + 142, (at + 1) / total);
  };

  lesson('flash-io', {
    title: 'FlashAttention',
    question: '64 sequences of 1024 tokens, 16 heads: how much less does attention move if the scores never leave the chip?',
    guess: {choices: ['half', 'about a tenth or less', 'a hundredth'], limits: [4, 60], counted: true, value: (f) => f.saving1024, told: (value) => `${fold(value)} less`},
    controls: [
      {slide: 'seq', name: 'tokens of a sequence', low: 256, high: 8192, start: 1024, doubling: true},
      {choose: 'direction', name: 'Pass', of: [['forward', 'forward'], ['backward', 'backward']], start: 'forward'},
    ],
    study(state, model) {
      const seq = 2 ** Math.round(Math.log2(clampTo(state.seq, 256, 8192)));
      const backward = state.direction === 'backward';
      const ask = (impl) => model.predict(`${shape(seq, state.direction)} dtype=${model.half}${impl}`);
      const [stored, streamed] = [ask(' impl=standard'), ask('')];
      const counted = bytesOf(seq, state.direction);
      const bytes = {standard: stored?.dram_bytes ?? counted.standard, flash: streamed?.dram_bytes ?? counted.flash};
      const [standard, flash] = [stored?.time_us, streamed?.time_us];
      const paper = bytesOf(1024, 'forward');
      return {seq, backward, direction: state.direction, bytes, saving: bytes.standard / bytes.flash, saving1024: paper.standard / paper.flash, standard, flash};
    },
    facts: (f) => [whichever([[f.bytes.standard, '>', 1.05 * f.bytes.flash], () => `${tokens / f.seq} × ${heads} heads of ${f.seq} tokens: ${trafficOf(f.bytes.flash)} through memory instead of ${trafficOf(f.bytes.standard)}, ${fold(f.saving)} less.`])],
    claims: (f) => [whichever(
      [[f.standard, '~', f.flash], () => `The ${f.direction} pass takes ${timeOf(f.flash)}; with stored scores ${timeOf(f.standard)}, about the same.`],
      [[f.standard, '>', f.flash], () => `The ${f.direction} pass takes ${timeOf(f.flash)} instead of ${timeOf(f.standard)}: ${fold(f.standard / f.flash)} as fast.`],
      [[f.standard, '<', f.flash], () => `The ${f.direction} pass takes ${timeOf(f.flash)}, with stored scores ${timeOf(f.standard)}.`])],
    height: (width) => (width < 520 ? 400 : 300), seconds: 34.4, step: 0.9, poster: 5.7, draw,
    tell: (f) => `The blocks of queries, keys and values in the ${f.direction} loop; the output of a block is rescaled when its maximum grows.`,
    chart: (f, model) => {
      const seqs = [256, 512, 1024, 2048, 4096, 8192];
      const line = (name, fill, impl) => ({name, fill, points: seqs.map((seq) => [seq, (model.maybe(`${shape(seq, f.direction)} dtype=${model.half}${impl}`)?.time_us ?? NaN) / 1000])});
      return {title: `${f.direction} pass, 65,536 tokens`, x: {title: 'tokens of a sequence', log: true, ticks: seqs.map((n) => [n, String(n)])}, y: {title: 'ms', log: true}, here: [f.seq, f.flash / 1000], drag: 'seq', series: [line('scores stored', 'orange', ' impl=standard'), line('FlashAttention', 'blue', '')]};
    },
    effect: 'flash-io',
    depth: ['Standard: scores S are written and read four times forward and seven backward, beside the tensors Q, K, V and O. FlashAttention moves the tensors only; each block update is O ← O exp(m − m′) + P V, and O is divided by l once at the end.', 'The paper counts 40.3 GB against 4.4 GB for both passes of this setting on an A100, with dropout and mask, by its first version, which passes over the queries once for each block of keys.'],
    commands: (state) => [['predict', 'attention', '--batch', '64', '--heads', '16', '--seq', '1024', '--head-dim', '64', '--dtype', 'fp16', '--gpu', state.gpu]],
  });
}
