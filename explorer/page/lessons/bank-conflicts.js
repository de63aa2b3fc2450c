// 32 threads read a column of a matrix in shared memory; each of the 32 banks serves one word at a time.
{
  const lanes = Array.from({length: 32}, (_, lane) => lane);
  const timeOfWays = (model, ways) => model.time(`access pattern=bank_conflict ways=${ways} elements=16777216 dtype=fp32`);

  const draw = (pen, f, t) => {
    const cell = (pen.w - 2) / 32;
    const floor = 250;
    const step = Math.min(22, 220 / f.turns);
    // One turn takes the same time whatever their number, so that more turns take longer.
    const served = Math.floor(phase(t, 0.6, 4.4) * f.turns * 0.999);
    const place = Array.from({length: 32}, () => 0);
    for (const lane of lanes) {
      const bank = (lane * f.pitch) % 32;
      const level = place[bank]++;
      const done = t > 0.6 && level < served;
      const now = t > 0.6 && level === served;
      const y = floor - (level + 1) * step;
      pen.box(bank * cell + 1, y, cell - 2, step - 2, {fill: now ? 'orange' : done ? 'quiet' : 'blue', round: 2});
      if (step >= 13 && cell > 16) pen.text(bank * cell + cell / 2, y + step / 2 + 4, String(lane), {size: 12, align: 'center', fill: done ? 'soft' : 'paper'});
    }
    for (const bank of lanes) {
      const busy = place[bank] > 0;
      pen.box(bank * cell + 1, floor + 4, cell - 2, 16, {fill: busy ? 'sky' : 'quiet', stroke: busy ? 'blue' : 'line', round: 2});
      if (cell > 18 || bank % 4 === 0) pen.text(bank * cell + cell / 2, floor + 36, String(bank), {size: 12, align: 'center', fill: 'soft'});
    }
    pen.text(0, floor + 56, 'banks of shared memory', {size: 13});
    pen.text(pen.w, floor + 56, `turn ${t > 0.6 ? Math.min(f.turns, served + 1) : 0} of ${f.turns}`, {bold: true, align: 'right'});
    pen.text(0, 14, 'threads waiting for their bank', {size: 13});
  };

  lesson('bank-conflicts', {
    title: 'Bank conflicts',
    question: '32 threads read a column in shared memory. The matrix has 32 words in a row; what does a 33rd, unused, change?',
    guess: {choices: ['nothing', 'a bit slower', 'far faster'], limits: [0.9, 1.3], counted: true, value: (f) => f.turns / f.padded, told: (value) => `far faster: one turn instead of ${numberText(value, 3)}`},
    controls: [{slide: 'pitch', name: 'words in a row', low: 1, high: 64, start: 32}],
    study(state, model) {
      const pitch = clampTo(state.pitch, 1, 64);
      const turnsOf = (words) => {
        const banks = Array.from({length: 32}, () => 0);
        for (const lane of lanes) ++banks[(lane * words) % 32];
        return Math.max(...banks);
      };
      const turns = turnsOf(pitch);
      const [now, best] = [timeOfWays(model, turns), timeOfWays(model, 1)];
      return {pitch, turns, padded: turnsOf(pitch + 1), now, best, slower: now / best};
    },
    facts: (f) => [whichever(
      [[f.turns, '=', 1], () => `A row of ${f.pitch} words sends the 32 threads to 32 banks: one turn.`],
      [[f.turns, '>', 1], () => `A row of ${f.pitch} words sends ${f.turns} threads to one bank, which serves them one after another: ${f.turns} turns.`])],
    claims: (f) => [whichever(
      [[f.turns, '=', 1], () => `16.8 million words take ${timeOf(f.now)}.`],
      [[f.slower, '~', 1], () => `16.8 million words take ${timeOf(f.now)}; without conflicts ${timeOf(f.best)}, about the same, because other limits are longer.`],
      [[f.slower, '>', 1.05], () => `16.8 million words take ${timeOf(f.now)} instead of ${timeOf(f.best)}: ${fold(f.slower)} as long.`])],
    height: () => 314, seconds: 5, poster: 2.2, draw,
    tell: (f) => `32 banks of shared memory and the threads that wait for each: the fullest serves ${f.turns}.`,
    chart: (f, model) => ({
      title: 'Time of 16.8 million words', x: {title: 'words in a row'}, y: {title: 'µs'}, drag: 'pitch', here: [f.pitch, f.now],
      series: [{points: Array.from({length: 64}, (_, i) => i + 1).map((pitch) => {
        const gcd = (a, b) => (b ? gcd(b, a % b) : a);
        return [pitch, model.maybe(`access pattern=bank_conflict ways=${gcd(pitch, 32)} elements=16777216 dtype=fp32`)?.time_us ?? NaN];
      })}],
    }),
    effect: 'bank-conflicts',
    depth: ['Word i lies in bank i mod 32. Threads that read the same word do not conflict: the bank sends it to all of them. Any odd width of a row avoids conflicts along a column.'],
  });
}
