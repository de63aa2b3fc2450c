// Bits that flip cost energy, and a power limit turns energy into a lower clock.
{
  const product = (half) => `matmul m=8192 n=8192 k=8192 dtype=${half}`;
  const bit = (i, step) => {
    const mixed = Math.imul(i * 977 + step * 131 + 7, 0x9e3779b1);
    const again = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
    return ((again ^ (again >>> 13)) & 1) === 1;
  };

  const draw = (pen, f, t) => {
    const [columns, rows] = [24, 10];
    const width = pen.narrow ? pen.w : pen.w * 0.55;
    const cell = width / columns;
    const high = Math.min(cell, 17);
    const step = Math.floor(t * 4 * f.clockShare);
    pen.text(0, 16, f.zeros ? 'all zeros: no wire flips' : 'random numbers: half of the wires flip', {size: 13, fit: width});
    for (let i = 0; i < columns * rows; ++i) {
      const on = !f.zeros && bit(i, step);
      const flips = on !== (!f.zeros && bit(i, step + 1));
      pen.box((i % columns) * cell, 26 + Math.floor(i / columns) * high, cell - 1.5, high - 1.5, {fill: flips ? 'orange' : on ? 'blue' : 'quiet', round: 1});
    }
    const x = pen.narrow ? 0 : width + 40;
    const y0 = pen.narrow ? 26 + rows * high + 26 : 30;
    const room = pen.w - x;
    [['power', f.watts / f.most, `${numberText(f.watts, 3)} W of ${numberText(f.cap, 3)} W`, 'orange'], ['clock', f.clockShare, `${numberText(f.clock, 4)} MHz`, 'green'], ['speed', f.rateShare, rateOf(f.rate, 'FLOP/s'), 'blue']].forEach(([name, share, text, fill], i) => {
      const y = y0 + i * 60;
      pen.text(x, y, name, {size: 13, bold: true});
      pen.text(x + room, y, text, {size: 13, align: 'right'});
      pen.box(x, y + 8, room, 18, {fill: 'quiet', round: 3});
      pen.box(x, y + 8, room * Math.min(1, share), 18, {fill, round: 3});
      if (name === 'power') pen.path([[x + (room * f.cap) / f.most, y + 4], [x + (room * f.cap) / f.most, y + 30]], {stroke: 'ink', width: 2});
    });
  };

  lesson('power', {
    title: 'Power and data',
    question: 'Half of the watts: how much slower is a large product?',
    timed: true,
    guess: {choices: ['under a third slower', 'about half as fast', 'a quarter as fast'], limits: [1.5, 3], value: (f) => f.halved, told: (value) => `${fold(value)} as long with half of the power`},
    controls: [
      {slide: 'percent', name: 'power limit, % of the chip\'s', low: 40, high: 100, start: 100},
      {choose: 'data', name: 'Numbers', of: [['random', 'random'], ['zeros', 'all zeros']], start: 'random'},
    ],
    study(state, model) {
      const percent = clampTo(state.percent, 40, 100);
      const free = model.predict(product(model.half));
      if (!free || !free.power_w) {
        model.refused ||= 'its power is not modelled';
        return {};
      }
      const limit = remembered(['gpus', 'show', model.gpu]).power_limit_w || (free.steady?.limited_by === 'power' ? free.power_w / 0.985 : free.power_w);
      const most = Math.round(limit);
      const cap = Math.round((most * percent) / 100);
      const at = (watts) => model.maybe(product(model.half), watts >= most ? model.gpu : `${model.gpu}@${watts}W`);
      const now = at(cap) || free;
      const half = at(Math.round(most / 2));
      const timed = (answer) => answer?.steady?.period_us || answer?.time_us;
      const rate = (answer) => (answer.flop / timed(answer)) * 1e6;
      const points = [40, 55, 70, 85, 100].map((share) => [Math.round((most * share) / 100), at(Math.round((most * share) / 100))]).filter(([, answer]) => answer).map(([watts, answer]) => [watts, rate(answer) / 1e12, answer.power_w]);
      return {percent, zeros: state.data === 'zeros', most, cap, watts: Math.min(now.power_w, cap), clock: now.steady?.clock_mhz || 0, clockShare: (now.steady?.clock_mhz || 1) / (Math.max(...points.map(() => free.steady?.clock_mhz || 1), 1)), rate: rate(now), rateShare: rate(now) / rate(free), perJoule: rate(now) / now.power_w, perJouleFree: rate(free) / free.power_w, halved: half ? timed(half) / timed(free) : NaN, points, time: timed(now), timeFree: timed(free)};
    },
    claims: (f) => [
      whichever(
        [[f.time, '>', 1.05 * f.timeFree], () => `At ${f.cap} W a product of 8192³ takes ${timeOf(f.time)} instead of ${timeOf(f.timeFree)}: ${fold(f.time / f.timeFree)} as long.`],
        [[f.time, '>', 0], () => `At ${f.cap} W a product of 8192³ takes ${timeOf(f.time)}.`]),
      whichever(
        [[f.perJoule, '>', 1.05 * f.perJouleFree], () => `Each joule does ${fold(f.perJoule / f.perJouleFree)} as much work: ${rateOf(f.perJoule, 'FLOP')} instead of ${rateOf(f.perJouleFree, 'FLOP')}.`],
        [[f.perJoule, '>', 0], () => `Each joule does ${rateOf(f.perJoule, 'FLOP')}.`]),
      f.zeros ? 'Zeros flip no wires and draw less, so benchmarks with them look too fast; the bars are for random numbers.' : undefined,
    ],
    height: (width) => (width < 520 ? 420 : 230), seconds: 30, draw,
    tell: (f) => `Wires that flip, and bars of power, clock and speed at a limit of ${f.cap} W.`,
    chart: (f) => (f.points?.length ? {title: '8192³, TFLOP/s', x: {title: 'power limit, W'}, y: {}, here: [f.cap, f.rate / 1e12], series: [{points: f.points.map(([watts, rate]) => [watts, rate])}]} : undefined),
    effect: 'power',
    depth: ['Dynamic power is C V² f: at a lower clock the voltage falls too, so the last watts buy little. On an H100 a product of zeros was measured at 1800 MHz, one of random numbers at 1610.'],
    commands: (state) => [['predict', 'matmul', '--m', '8192', '--n', '8192', '--k', '8192', '--gpu', `${state.gpu}@400W`]],
  });
}
