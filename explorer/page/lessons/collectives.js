// All-reduce in a ring and in a tree: what each GPU holds after each step, and what the steps cost.
{
  // Steps of a ring: n - 1 to add up, n - 1 to spread. held[step][gpu][piece]: how many contributions.
  const ringSteps = (n) => {
    let held = Array.from({length: n}, () => Array.from({length: n}, () => 1));
    const out = [{held, moves: []}];
    for (let step = 0; step < 2 * (n - 1); ++step) {
      const next = held.map((row) => [...row]);
      const moves = [];
      for (let g = 0; g < n; ++g) {
        const piece = step < n - 1 ? (g - step + 2 * n) % n : (g + 1 - (step - (n - 1)) + 2 * n) % n;
        const to = (g + 1) % n;
        next[to][piece] = step < n - 1 ? next[to][piece] + held[g][piece] : held[g][piece];
        moves.push([g, to, piece]);
      }
      // Each GPU adds what its neighbour had: the sums above read the state before the step.
      held = next;
      out.push({held, moves});
    }
    return out;
  };
  const treeSteps = (n) => {
    const levels = Math.ceil(Math.log2(n));
    let held = Array.from({length: n}, () => 1);
    const out = [{held: held.map((each) => [each]), moves: []}];
    for (let k = 0; k < levels; ++k) {
      const moves = [];
      const next = [...held];
      for (let g = 0; g + 2 ** k < n; g += 2 ** (k + 1)) {
        moves.push([g + 2 ** k, g, 0]);
        next[g] += held[g + 2 ** k];
      }
      held = next;
      out.push({held: held.map((each) => [each]), moves});
    }
    for (let k = levels - 1; k >= 0; --k) {
      const moves = [];
      const next = [...held];
      for (let g = 0; g + 2 ** k < n; g += 2 ** (k + 1)) {
        moves.push([g, g + 2 ** k, 0]);
        next[g + 2 ** k] = held[g];
      }
      held = next;
      out.push({held: held.map((each) => [each]), moves});
    }
    return out;
  };

  const draw = (pen, f, t) => {
    const {steps, n} = f;
    const at = Math.min(steps.length - 1, Math.floor(t / 0.9));
    const next = steps[Math.min(steps.length - 1, at + 1)];
    const part = phase(t - at * 0.9, 0.1, 0.75);
    const [cx, cy, r] = [pen.w / 2, 166, 118];
    const place = (g) => (f.ring ? [cx + r * 1.35 * Math.sin((2 * Math.PI * g) / n), cy - r * Math.cos((2 * Math.PI * g) / n)] : treePlace(g));
    const depthOf = (g) => {
      let k = 0;
      while (k < 6 && g % 2 ** (k + 1) === 0) ++k;
      return g === 0 ? Math.ceil(Math.log2(n)) : k;
    };
    const treePlace = (g) => [pen.w * ((g + 0.5) / n), 280 - (230 / Math.max(1, Math.ceil(Math.log2(n)))) * depthOf(g)];
    const pieces = f.ring ? n : 1;
    const size = Math.min(34, (pen.w / n) * 0.7);
    for (const [from, to] of at < steps.length - 1 ? next.moves : []) {
      const [x1, y1] = place(from);
      const [x2, y2] = place(to);
      pen.path([[x1, y1], [x2, y2]], {stroke: 'line', width: 2});
      pen.dot(x1 + (x2 - x1) * part, y1 + (y2 - y1) * part, f.ring ? 5 : 8, {fill: 'orange'});
    }
    for (let g = 0; g < n; ++g) {
      const [x, y] = place(g);
      pen.box(x - size / 2 - 3, y - size / 2 - 3, size + 6, size + 6, {fill: 'paper', stroke: 'soft', round: 5});
      for (let p = 0; p < pieces; ++p) {
        const share = Math.min(1, steps[at].held[g][p] / n);
        pen.box(x - size / 2 + (p * size) / pieces, y - size / 2, size / pieces - (pieces > 1 ? 0.8 : 0), size, {fill: 'quiet'});
        pen.box(x - size / 2 + (p * size) / pieces, y + size / 2 - size * share, size / pieces - (pieces > 1 ? 0.8 : 0), size * share, {fill: share === 1 ? 'green' : 'blue'});
      }
    }
    pen.text(0, 16, `step ${at} of ${steps.length - 1}`, {bold: true});
    pen.text(pen.w, 16, f.ring ? `each message: 1/${n} of the data` : 'each message: all the data', {align: 'right', size: 13});
    pen.text(0, 332, 'blue: part of the sum, green: the whole sum', {size: 12, fill: 'soft', fit: pen.w});
  };

  lesson('collectives', {
    title: 'Ring and tree',
    question: 'Eight GPUs add up 1 GiB instead of two GPUs: how much longer in a ring?',
    guess: {choices: ['under 2 times', 'about 4 times', '7 times'], limits: [2, 5.5], counted: true, value: () => (2 * 7) / 8 / 1, told: (value) => `${fold(value)} as many bytes cross each link`},
    controls: [
      {slide: 'gpus', name: 'GPUs', low: 2, high: 16, start: 8},
      {choose: 'shape', name: 'Shape', of: [['ring', 'ring'], ['tree', 'tree']], start: 'ring'},
      {slide: 'bytes', name: 'message, KiB', low: 1, high: 1048576, start: 65536, doubling: true},
    ],
    study(state, model) {
      const n = clampTo(state.gpus, 2, 16);
      const ring = state.shape !== 'tree';
      const bytes = clampTo(state.bytes, 1, 1048576) * 1024;
      const link = model.chip.link_bytes_per_s_per_direction || model.chip.pcie_bytes_per_s_per_direction;
      if (!link) {
        model.refused = 'its links are not known';
        return {};
      }
      const start = 2;  // microseconds of a step, assumed
      const costs = (size) => ({ring: 2 * (n - 1) * (start + (size / n / link) * 1e6), tree: 2 * Math.ceil(Math.log2(n)) * (start + (size / link) * 1e6)});
      const predicted = model.maybe(`all_reduce bytes=${bytes} gpus=${n}`);
      return {n, ring, bytes, link, steps: ring ? ringSteps(n) : treeSteps(n), costs, now: costs(bytes), predicted: predicted?.time_us, grade: predicted?.evidence?.grade, onLink: ring ? (2 * (n - 1)) / n : 2 * Math.ceil(Math.log2(n))};
    },
    facts: (f) => (f.n ? [
      `${f.n} GPUs in a ${f.ring ? 'ring' : 'tree'}: ${f.steps.length - 1} steps, and ${numberText(f.onLink, 3)} × the data over the busiest link.`,
      whichever(
        [[f.now.ring, '~', f.now.tree], () => `For ${bytesOf(f.bytes)} ring (${timeOf(f.now.ring)}) and tree (${timeOf(f.now.tree)}) cost about the same.`],
        [[f.now.ring, '<', f.now.tree], () => `For ${bytesOf(f.bytes)} the ring is better: ${timeOf(f.now.ring)} instead of ${timeOf(f.now.tree)}, by bytes over links of ${rateOf(f.link, 'B/s')} and 2 µs a step.`],
        [[f.now.ring, '>', f.now.tree], () => `For ${bytesOf(f.bytes)} the tree is better: ${timeOf(f.now.tree)} instead of ${timeOf(f.now.ring)}; it has fewer starts.`]),
      f.predicted && f.grade !== 'datasheet' ? `NCCL, which pipelines and has other shapes too, is predicted at ${timeOf(f.predicted)}.` : undefined,
    ] : []),
    height: () => 344, seconds: 14, step: 0.9, poster: 3.1, draw: (pen, f, t) => draw(pen, f, t % (f.steps.length * 0.9 + 1)),
    tell: (f) => `${f.n} GPUs in a ${f.ring ? 'ring' : 'tree'}; each fills with the sum over ${f.steps.length - 1} steps.`,
    chart: (f) => {
      const sizes = Array.from({length: 11}, (_, i) => 1024 * 4 ** i);
      return {title: 'By bytes and steps', x: {title: 'message', log: true, ticks: [[1024, '1 KiB'], [2 ** 20, '1 MiB'], [2 ** 30, '1 GiB']]}, y: {title: 'µs', log: true}, here: [f.bytes, f.ring ? f.now.ring : f.now.tree], series: [{name: 'ring', fill: 'blue', points: sizes.map((size) => [size, f.costs(size).ring])}, {name: 'tree', fill: 'orange', points: sizes.map((size) => [size, f.costs(size).tree])}]};
    },
    effect: 'transfers',
    depth: ['Ring: 2 (n − 1) steps of 1/n of the data, so each link carries 2 (n − 1) / n of it, nearly twice for any n. Tree: 2 log₂ n steps of all the data; real trees cut it into pieces that follow each other, and use two trees so that every link is busy. A switch that adds on the way (NVLS) needs only one pass.'],
    commands: (state) => [['predict', 'all_reduce', '--bytes', String(Number(state.bytes) * 1024), '--gpus', state.gpus, '--gpu', state.gpu]],
  });
}
