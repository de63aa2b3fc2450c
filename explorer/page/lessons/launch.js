// Host and GPU side by side: eight small kernels launched one by one, as one compiled kernel, and as a graph.
{
  const count = 8;
  const one = (elements, how) => `elementwise expr=relu(x) dtype=fp32 elements=${elements} ${how}`;
  const chain = Array.from({length: count}).reduce((inner) => `tanh(${inner})`, 'x');

  // When the host has issued each kernel, and when the GPU runs it: [from, to] in microseconds.
  const timeline = (kernels, host, kernel, graph) => {
    const out = {host: [], gpu: []};
    let [issued, free] = [0, 0];
    if (graph) {
      out.host.push([0, host]);
      free = host;
      for (let i = 0; i < kernels; ++i) out.gpu.push([free, (free += kernel)]);
    } else {
      for (let i = 0; i < kernels; ++i) {
        out.host.push([issued, (issued += host)]);
        const from = Math.max(issued, free);
        out.gpu.push([from, (free = from + kernel)]);
      }
    }
    out.end = Math.max(issued, free);
    return out;
  };

  const draw = (pen, f, t) => {
    if (!f.ways) return pen.text(0, 40, 'The launches of this chip are not modelled.');
    const most = Math.max(...f.ways.map((way) => way.line.end));
    const left = pen.narrow ? 40 : 60;
    const scale = (pen.w - left - 4) / most;
    const now = phase(t, 0, 5) * most;
    f.ways.forEach((way, i) => {
      const y = 10 + i * 102;
      pen.text(0, y + 12, way.name, {bold: true});
      pen.text(pen.w, y + 12, timeOf(way.line.end), {align: 'right', bold: true});
      for (const [lane, spans, fill, at] of [['host', way.line.host, 'orange', 22], ['GPU', way.line.gpu, 'blue', 52]]) {
        pen.text(0, y + at + 16, lane, {size: 12, fill: 'soft'});
        pen.box(left, y + at, way.line.end * scale, 24, {fill: 'quiet'});
        for (const [from, to] of spans) {
          if (from > now) continue;
          pen.box(left + from * scale, y + at, Math.max(1.5, (Math.min(to, now) - from) * scale - 1), 24, {fill, round: 2});
        }
      }
    });
    pen.path([[left + now * scale, 26], [left + now * scale, 300]], {stroke: 'ink', dash: [3, 3]});
  };

  lesson('launch', {
    title: 'Host and GPU: eager, compiled, graph',
    question: 'Eight pointwise operations on 16,384 numbers, called one by one in PyTorch: what share of the time does the GPU work?',
    timed: true,
    guess: {choices: ['under a fifth', 'about half', 'nearly all'], limits: [0.2, 0.7], value: (f) => 1 - f.idle, told: (value) => `${percentOf(value)} of it`},
    controls: [{slide: 'elements', name: 'elements', low: 256, high: 268435456, start: 16384, doubling: true}],
    study(state, model) {
      const elements = clampTo(state.elements, 256, 268435456);
      const kernel = model.time(one(elements, 'impl=torch'));
      const call = model.time(one(elements, 'impl=torch launch=stream'));
      const node = model.time(one(elements, 'impl=torch launch=graph'));
      const fused = model.time(`elementwise expr=${chain} dtype=fp32 elements=${elements} impl=compiled`);
      if (![kernel, call, node, fused].every(Number.isFinite)) return {};
      const host = Math.max(0.5, call - kernel);
      const ways = [
        {name: 'eager: eight calls', line: timeline(count, host, kernel)},
        {name: 'compiled: one fused kernel', line: timeline(1, host, fused)},
        {name: 'graph: one launch, eight kernels', line: timeline(count, host, Math.max(node, kernel), true)},
      ];
      const [eager, compiled, graph] = ways.map((way) => way.line.end);
      return {elements, host, kernel, ways, eager, compiled, graph, idle: 1 - (count * kernel) / eager};
    },
    claims: (f) => [
      whichever(
        [[f.host, '>', 1.05 * f.kernel], () => `A call costs the host ${timeOf(f.host)}, the kernel ${timeOf(f.kernel)}: the GPU waits ${percentOf(f.idle)} of the time.`],
        [[f.kernel, '>', 1.05 * f.host], () => `A kernel takes ${timeOf(f.kernel)}, a call ${timeOf(f.host)} of the host: the host is ahead and the GPU never waits after the first.`],
        [[f.host, '>', 0], () => `A call costs the host ${timeOf(f.host)}, about as long as the kernel.`]),
      whichever(
        [[f.eager, '>', 1.05 * f.graph], [f.eager, '>', 1.05 * f.compiled], () => `A graph takes ${timeOf(f.graph)} and one fused kernel ${timeOf(f.compiled)} instead of ${timeOf(f.eager)}.`],
        [[f.eager, '>', 1.05 * f.compiled], () => `A graph does not help here (${timeOf(f.graph)}); one fused kernel takes ${timeOf(f.compiled)} instead of ${timeOf(f.eager)}.`],
        [[f.eager, '>', 0], () => `Eager ${timeOf(f.eager)}, compiled ${timeOf(f.compiled)}, graph ${timeOf(f.graph)}.`]),
    ],
    height: () => 316, seconds: 6.5, poster: 5, draw,
    tell: (f) => (f.ways ? f.ways.map((way) => `${way.name}: ${timeOf(way.line.end)}`).join('; ') : 'not modelled'),
    chart: (f, model) => {
      if (!f.ways) return undefined;
      const sizes = Array.from({length: 11}, (_, i) => 256 * 4 ** i);
      const seriesOf = (name, fill, how) => ({name, fill, points: sizes.map((size) => [size, model.maybe(one(size, how))?.time_us ?? NaN])});
      const measured = (id, fill) => model.measured('launch', id).map(([x, y]) => [x, y * 1e6]);
      return {
        title: 'One operation', x: {title: 'elements', log: true, ticks: [[256, '256'], [16384, '16 Ki'], [1048576, '1 Mi'], [67108864, '64 Mi']]}, y: {title: 'µs', log: true}, here: [f.elements, f.kernel],
        series: [seriesOf('kernel', 'blue', 'impl=torch'), seriesOf('eager call', 'orange', 'impl=torch launch=stream'), ...(measured('eager').length ? [{name: 'measured', fill: 'ink', dots: 3, points: measured('eager')}] : [])],
      };
    },
    effect: 'launch',
    depth: ['The host runs ahead of the GPU as long as kernels take longer than calls. With small kernels it is the host that sets the pace, whatever the GPU.', 'torch.compile makes one kernel of the chain; a CUDA graph replays all launches at once. The cost of a call is what ridge predicts for a call in a stream beyond its kernel.'],
  });
}
