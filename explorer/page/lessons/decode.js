// A decode step reads all weights and the whole cache to make one token of each sequence.
{
  const models = [['llama-3.1-8b', 'Llama 3.1 8B: 8 key heads'], ['llama-2-7b', 'Llama 2 7B: 32 key heads'], ['qwen3-30b-a3b', 'Qwen3 30B: experts']];
  const stepOf = (model, name, batch, seq) => model.ask(['model', name, '--phase', 'decode', '--batch', String(batch), '--seq', String(seq), '--dtype', model.half, '--software', 'serving']);

  const draw = (pen, f, t) => {
    const most = 16;
    const rows = Math.min(most, f.batch);
    const left = pen.narrow ? 84 : 150;
    const columns = 48;
    const cell = (pen.w - left - 8) / columns;
    const height = Math.min(18, 250 / most);
    const filled = Math.min(columns - 1, Math.max(1, Math.round((columns - 1) * Math.sqrt(f.seq / 131072))));
    const read = phase(t % 2, 0.15, 1.3);
    // weights on the left, read in every step
    const tall = Math.max(10, 250 * Math.min(1, Math.sqrt(f.weights / 80e9)));
    pen.text(0, 16, 'weights', {bold: true});
    pen.box(0, 28, left - 40, tall, {fill: 'sky', stroke: 'blue'});
    pen.box(0, 28, left - 40, tall * read, {fill: 'blue'});
    pen.text(0, 28 + tall + 18, bytesOf(f.weights), {size: 12});
    pen.text(left, 16, 'cache: one row a sequence', {bold: true, fit: pen.w - left});
    for (let row = 0; row < rows; ++row) {
      const y = 28 + row * (height + 1);
      for (let i = 0; i < columns; ++i) {
        const has = i < filled;
        const now = has && i / filled < read;
        pen.box(left + i * cell, y, cell - 1, height - 2, {fill: now ? 'orange' : has ? 'sand' : 'quiet'});
      }
      if (t % 2 > 1.4) pen.box(left + filled * cell, y, cell - 1, height - 2, {fill: 'green'});
    }
    pen.text(left, 28 + rows * (height + 1) + 16, `${f.batch > most ? `${most} of ${f.batch} rows, ` : ''}${bytesOf(f.cache)} in all; green: the new token`, {size: 12, fill: 'soft', fit: pen.w - left});
  };

  lesson('decode', {
    title: 'A decode step and its cache',
    question: '16 conversations of 2048 tokens on an 8-billion model: what does one step mostly read?',
    guess: {choices: ['mostly the cache', 'half and half', 'mostly the weights'], limits: [0.8, 1.6], counted: true, value: (f) => f.weights / f.cache, told: (value) => (value > 1.6 ? `the weights: ${fold(value)} the cache` : value < 0.8 ? 'the cache' : 'both alike')},
    controls: [
      {slide: 'seq', name: 'tokens in each cache', low: 16, high: 131072, start: 2048, doubling: true},
      {slide: 'batch', name: 'sequences', low: 1, high: 256, start: 16, doubling: true},
      {choose: 'model', name: 'Model', of: models, start: 'llama-3.1-8b'},
    ],
    study(state, model) {
      const [seq, batch] = [clampTo(state.seq, 16, 131072), clampTo(state.batch, 1, 256)];
      const name = state.model || 'llama-3.1-8b';
      const answer = stepOf(model, name, batch, seq);
      const twice = stepOf(model, name, Math.min(256, batch * 2), seq);
      if (answer?.not_modelled) model.refused ||= `${answer.not_modelled} of the step's kernels are not modelled`;
      const capacity = (model.chip.memory || []).slice(-1)[0]?.bytes;
      const weights = answer?.weights_bytes ?? 16e9;
      const cache = answer?.kv_cache_bytes ?? seq * batch * 131072;
      return {seq, batch, name, weights, cache, capacity, fits: !capacity || weights + cache < capacity, time: answer?.wall_us, rate: answer && (batch / answer.wall_us) * 1e6, twice: twice && (Math.min(256, batch * 2) / twice.wall_us) * 1e6, read: weights + cache};
    },
    facts: (f) => [whichever(
      [[f.weights, '>', 1.05 * f.cache], () => `Each step reads ${bytesOf(f.weights)} of weights and ${bytesOf(f.cache)} of cache.`],
      [[f.cache, '>', 0], () => `Each step reads ${bytesOf(f.cache)} of cache and ${bytesOf(f.weights)} of weights.`]),
      f.fits ? undefined : 'That is more than the memory of this chip: the times suppose that it fits.'],
    claims: (f) => [
      `A step takes ${timeOf(f.time)}: ${numberText(f.rate, 3)} tokens a second in all, ${numberText(1e6 / f.time, 3)} for each user.`,
      f.batch > 128 ? undefined : whichever(
        [[f.twice, '>', 1.7 * f.rate], () => `Twice the sequences would bring ${numberText(f.twice, 3)} tokens a second: the weights are read once for all.`],
        [[f.twice, '>', 1.05 * f.rate], () => `Twice the sequences would bring ${numberText(f.twice, 3)} tokens a second, less than double.`],
        [[f.twice, '~', f.rate], () => 'Twice the sequences would bring about the same rate.']),
    ],
    height: () => 340, seconds: 16, poster: 0.9, draw,
    tell: (f) => `A decode step reads ${bytesOf(f.weights)} of weights and the caches of ${f.batch} sequences, then adds one token to each.`,
    chart: (f, model) => {
      const lengths = [16, 128, 1024, 4096, 16384, 65536, 131072];
      const points = lengths.map((seq) => [seq, model.quietly(() => stepOf(model, f.name, f.batch, seq))?.wall_us / 1000]);
      return {title: 'One step', x: {title: 'tokens in each cache', log: true, ticks: [[16, '16'], [1024, '1 Ki'], [16384, '16 Ki'], [131072, '128 Ki']]}, y: {title: 'ms', log: true}, drag: 'seq', here: [f.seq, f.time / 1000], series: [{points}]};
    },
    depth: ['The cache of a token: 2 × layers × key heads × head size × bytes. Grouped heads make it smaller, a batch shares the weights, and both raise the FLOP for each byte.'],
    commands: (state) => [['model', state.model, '--phase', 'decode', '--batch', state.batch, '--seq', state.seq, '--software', 'serving', '--gpu', state.gpu]],
  });
}
