// A chain of pointwise operations as a graph: fused nodes keep their results in registers, and the arrows through memory vanish.
{
  // Nodes in order: [name, inputs]; letters are tensors in memory.
  const chains = {
    'sin²+cos²': {expr: 'sin(x)^2+cos(x)^2', nodes: [['sin', ['x']], ['square', [0]], ['cos', ['x']], ['square', [2]], ['add', [1, 3]]]},
    'gelu(x+y)': {expr: 'gelu(x+y)', nodes: [['add', ['x', 'y']], ['gelu', [0]]]},
    'swish(x)·y': {expr: 'x*sigmoid(x)*y', nodes: [['sigmoid', ['x']], ['times x', [0, 'x']], ['times y', [1, 'y']]]},
  };
  const elements = 67108864;

  // The last `fused` + 1 nodes are one kernel. Tensors read and written by all kernels.
  const passesOf = (nodes, fused) => {
    const group = (i) => (i >= nodes.length - 1 - fused ? nodes.length - 1 : i);
    let passes = 0;
    const kernels = new Map();
    nodes.forEach(([, inputs], i) => {
      const of = group(i);
      if (!kernels.has(of)) kernels.set(of, new Set());
      for (const input of inputs) if (typeof input === 'string' || group(input) !== of) kernels.get(of).add(input);
    });
    for (const inputs of kernels.values()) passes += inputs.size;
    nodes.forEach((_, i) => {
      const used = i === nodes.length - 1 || nodes.some(([, inputs], j) => inputs.includes(i) && group(j) !== group(i));
      if (used) ++passes;
    });
    return {passes, kernels: kernels.size, group};
  };

  const draw = (pen, f, t) => {
    const {nodes, group} = f;
    const memory = 236;
    const step = pen.w / (nodes.length + 1);
    const at = (i) => [(i + 1) * step, 90];
    pen.box(0, memory, pen.w, 44, {fill: 'sand', round: 4});
    pen.text(10, memory + 27, 'memory', {bold: true});
    const fusedFrom = nodes.findIndex((_, i) => group(i) === nodes.length - 1);
    if (nodes.length - fusedFrom > 1) {
      const [x] = at(fusedFrom);
      pen.box(x - 44, 40, at(nodes.length - 1)[0] - x + 88, 100, {fill: 'mint', stroke: 'green', round: 14, width: 2});
      pen.text(x - 34, 58, 'one kernel', {size: 12, fill: 'green', bold: true});
    }
    nodes.forEach(([name, inputs], i) => {
      const [x, y] = at(i);
      inputs.forEach((input, k) => {
        const inside = typeof input === 'number' && group(input) === group(i);
        if (inside) {
          const [fx] = at(input);
          const over = i - input > 1 ? 34 : 0;
          pen.path([[fx + 22, y - over / 2 - (over ? 20 : 0)], [x - 22, y - over / 2 - (over ? 20 : 0)]], {stroke: 'green', width: 3});
        } else {
          const ax = x - 12 - k * 9;
          pen.arrow(ax, memory, ax, y + 26, {stroke: 'orange', width: 2.5});
          const share = (t * 0.7 + i * 0.13 + k * 0.4) % 1;
          pen.box(ax - 4, memory - (memory - y - 26) * share - 4, 8, 8, {fill: 'orange'});
          pen.text(ax - 3, memory - 8, typeof input === 'string' ? input : '', {size: 12, align: 'right'});
        }
      });
      const out = i === nodes.length - 1 || nodes.some(([, uses], j) => uses.includes(i) && group(j) !== group(i));
      if (out) {
        pen.arrow(x + 12, y + 26, x + 12, memory, {stroke: 'orange', width: 2.5});
        const share = (t * 0.7 + i * 0.13) % 1;
        pen.box(x + 8, y + 26 + (memory - y - 26) * share - 4, 8, 8, {fill: 'orange'});
      }
      pen.dot(x, y, 26, {fill: group(i) === nodes.length - 1 && fusedFrom < nodes.length - 1 ? 'green' : 'blue'});
      pen.text(x, y + 5, name, {align: 'center', fill: 'paper', size: 12, bold: true, fit: 48});
    });
    pen.text(0, 20, `${f.kernels} kernel${f.kernels > 1 ? 's' : ''}, ${f.passes} tensors through memory`, {bold: true});
  };

  lesson('fusion', {
    title: 'Fused kernels',
    question: 'sin(x)² + cos(x)² as five kernels or as one: how much faster is the one?',
    guess: {choices: ['not at all', '2 to 3 times', 'about 5 times'], limits: [1.2, 3.5], value: (f) => f.gain, told: (value) => `${fold(value)} as fast`},
    controls: [
      {choose: 'chain', name: 'Chain', of: Object.keys(chains), start: 'sin²+cos²'},
      {slide: 'fused', name: 'nodes merged into the last', low: 0, high: 4, start: 0},
    ],
    study(state, model) {
      const {expr, nodes} = chains[state.chain] || chains['sin²+cos²'];
      const fused = Math.min(nodes.length - 1, clampTo(state.fused, 0, 4));
      const now = passesOf(nodes, fused);
      const [most, least] = [passesOf(nodes, 0).passes, passesOf(nodes, nodes.length - 1).passes];
      const timeOfWay = (how) => model.time(`elementwise expr=${expr} elements=${elements} dtype=fp32 impl=${how}`);
      const [unfused, one] = [timeOfWay('unfused'), timeOfWay('fused')];
      const quiet = (how) => model.maybe(`elementwise expr=${expr} elements=${elements} dtype=fp32 impl=${how}`)?.time_us;
      return {expr, nodes, fused, ...now, most, least, unfused, one, gain: unfused / one, ratio: most / least, eager: quiet('torch'), compiled: quiet('compiled'), bytes: now.passes * elements * 4, chain: state.chain};
    },
    facts: (f) => [`${f.kernels} kernel${f.kernels > 1 ? 's' : ''}: ${f.passes} passes over a tensor, ${trafficOf(f.bytes)} for 67 million numbers in fp32.`],
    claims: (f) => [whichever(
      [[f.gain, '~', 1], () => `One kernel takes ${timeOf(f.one)}, all apart ${timeOf(f.unfused)}: about the same.`],
      [[f.gain, '~', f.ratio], () => `One kernel takes ${timeOf(f.one)} instead of ${timeOf(f.unfused)}: ${fold(f.gain)} as fast, for ${fold(f.ratio)} less traffic.`],
      [[f.gain, '<', f.ratio], [f.gain, '>', 1.05], () => `One kernel takes ${timeOf(f.one)} instead of ${timeOf(f.unfused)}: ${fold(f.gain)} as fast. The traffic is ${fold(f.ratio)} less; arithmetic takes up part of the gain.`],
      [[f.gain, '>', f.ratio], () => `One kernel takes ${timeOf(f.one)} instead of ${timeOf(f.unfused)}: ${fold(f.gain)} as fast, more than the traffic's ${numberText(f.ratio, 3)}.`],
      [[f.gain, '<', 1], () => `One kernel takes ${timeOf(f.one)} here, more than all apart (${timeOf(f.unfused)}): its arithmetic is the limit.`])],
    height: () => 284, seconds: 10, draw,
    tell: (f) => `A chain of ${f.nodes.length} operations in ${f.kernels} kernels; ${f.passes} arrows go through memory.`,
    chart: (f, model) => {
      const measured = (id) => model.measured('fusion', id).find(([x]) => x === 'sin^2+cos^2')?.[1];
      const name = f.chain === 'sin²+cos²';
      return {title: '67 million numbers', bars: [['one kernel each', f.unfused, 'unfused'], ['fused', f.one, 'fused'], ['eager PyTorch', f.eager, 'eager'], ['compiled PyTorch', f.compiled, 'compiled']]
        .filter(([, time]) => time).map(([text, time, id]) => ({name: text, value: time, text: timeOf(time) + (name && measured(id) ? ` (measured ${timeOf(measured(id) * 1e6)})` : '')}))};
    },
    effect: 'fusion',
    depth: ['A pointwise operation does a few FLOP for every 8 bytes, so its traffic sets its time. Fusion needs no new mathematics: count the tensors that no longer pass through memory.', 'A bias is a vector and costs almost nothing to read: gelu(x + bias) is 4 passes apart and 2 fused.'],
  });
}
