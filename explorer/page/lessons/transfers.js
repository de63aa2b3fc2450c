// Messages over the links of a GPU: a start, then bytes at the rate of the link.
{
  const ways = [
    ['to another GPU', 'green', (bytes) => `send bytes=${bytes} impl=copy_engine`],
    ['from host memory, pinned', 'blue', (bytes) => `host_to_device bytes=${bytes}`],
    ['from host memory, pageable', 'orange', (bytes) => `host_to_device bytes=${bytes} impl=pageable`],
  ];
  const within = (bytes) => `copy elements=${bytes / 4} dtype=fp32`;

  const draw = (pen, f, t) => {
    const left = 96;
    const width = pen.w - left - (pen.narrow ? 10 : 40);
    const known = f.times.filter((time) => Number.isFinite(time));
    if (!known.length) return pen.text(0, 40, 'The links of this chip are not known.');
    const most = Math.max(...known);
    const now = phase(t, 0, 4.5) * most;
    pen.box(0, 30, 70, 220, {fill: 'quiet', stroke: 'line', round: 5});
    pen.text(35, 146, 'GPU', {align: 'center', bold: true, size: 16});
    f.ways.forEach(([name, fill], i) => {
      const time = f.times[i];
      const y = 40 + i * 80;
      pen.text(left, y, pen.narrow ? name.replace('from host memory, ', 'host, ') : name, {size: 13, bold: true});
      pen.text(left + width, y, Number.isFinite(time) ? timeOf(time) : 'no such link', {size: 13, align: 'right', bold: true});
      if (!Number.isFinite(time)) return;
      // As thick as the link is fast.
      const thick = 6 + 24 * Math.sqrt(Math.min(1, f.rates[i] / 4.5e11));
      pen.box(left, y + 26 - thick / 2, width, thick, {fill: 'quiet', round: 3});
      const done = Math.min(1, now / time);
      pen.box(left + width * (1 - done), y + 26 - thick / 2, width * done, thick, {fill, round: 3});
      pen.text(left, y + 54, done < 1 ? `${percentOf(done)} there` : 'all there', {size: 12, fill: done < 1 ? 'soft' : fill});
    });
  };

  lesson('transfers', {
    title: 'Links',
    question: 'A cache of 1 GiB from the host instead of from another GPU: how much longer does it take?',
    timed: true,
    guess: {choices: ['2 times', 'about 7 times', '30 times'], limits: [4, 15], value: (f) => f.ratio, told: (value) => `${fold(value)} as long over PCIe as over the link between GPUs`},
    controls: [{slide: 'bytes', name: 'message, KiB', low: 1, high: 1048576, start: 1024, doubling: true}],
    study(state, model) {
      const bytes = clampTo(state.bytes, 1, 1048576) * 1024;
      const large = 2 ** 30;
      const linked = model.chip.link_bytes_per_s_per_direction;
      const times = ways.map(([, , of], i) => (i === 0 && !linked ? NaN : model.time(of(bytes))));
      const tops = ways.map(([, , of], i) => (i === 0 && !linked ? NaN : model.quietly(() => model.time(of(large)))));
      const small = ways.map(([, , of], i) => (i === 0 && !linked ? NaN : model.quietly(() => model.time(of(1024)))));
      const [link, pinned, pageable] = times;
      return {bytes, ways, times, rates: tops.map((time) => (large / time) * 1e6), link, pinned, pageable, start: small[1], rate: (bytes / pinned) * 1e6, top: (large / tops[1]) * 1e6, ratio: tops[1] / tops[0], copy: model.maybe(within(bytes))?.time_us};
    },
    claims: (f) => [
      whichever(
        [[f.rate, '<', 0.5 * f.top], () => `${bytesOf(f.bytes)} from pinned memory takes ${timeOf(f.pinned)}, most of it start: ${rateOf(f.rate, 'B/s')} of the ${rateOf(f.top, 'B/s')} that large messages reach.`],
        [[f.rate, '>', 0], () => `${bytesOf(f.bytes)} from pinned memory takes ${timeOf(f.pinned)}: ${rateOf(f.rate, 'B/s')}.`]),
      whichever(
        [[f.pinned, '>', 1.05 * f.link], () => `Another GPU sends it in ${timeOf(f.link)}, ${fold(f.pinned / f.link)} as fast.`],
        [[f.link, '>', 0], () => `Another GPU sends it in ${timeOf(f.link)}.`]),
      whichever([[f.pageable, '>', 1.05 * f.pinned], () => `Pageable memory takes ${timeOf(f.pageable)}: the driver copies it first.`]),
    ],
    height: () => 276, seconds: 5.5, poster: 3, draw,
    tell: (f) => `A message of ${bytesOf(f.bytes)} over the links of the GPU, each as thick as it is fast.`,
    chart: (f, model) => {
      const sizes = Array.from({length: 11}, (_, i) => 1024 * 4 ** i);
      const lines = ways.map(([name, fill, of], i) => ({name: name.replace('from host memory, ', ''), fill, points: i === 0 && !model.chip.link_bytes_per_s_per_direction ? [] : sizes.map((bytes) => [bytes, model.maybe(of(bytes))?.time_us ?? NaN])}));
      return {title: 'Time', x: {title: 'message', log: true, ticks: [[1024, '1 KiB'], [2 ** 20, '1 MiB'], [2 ** 30, '1 GiB']]}, y: {title: 'µs', log: true}, series: lines.filter((line) => line.points.length), here: [f.bytes, f.pinned]};
    },
    effect: 'transfers',
    depth: ['time = start + bytes / rate. Small messages are all start, so gather them; pinned memory can be copied by the engine while kernels run.'],
  });
}
