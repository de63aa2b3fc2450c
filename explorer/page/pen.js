// Drawing for lessons: a canvas in units of CSS pixels, with the palette of the page, and charts on it.
//
//   const pen = penOf(canvas, height);
//   pen.box(10, 10, 40, 20, {fill: 'blue', round: 3});
//   pen.text(12, 24, 'SM 0', {size: 12, fill: 'ink'});

const palettes = {
  light: {ink: '#1a1a1a', soft: '#5a5a5a', paper: '#ffffff', quiet: '#ececec', line: '#b9b9b9', blue: '#0060a0', sky: '#a9cfe8', orange: '#d55e00', sand: '#f6cfa8', green: '#00805c', mint: '#b3dfcf', purple: '#a0478a', lilac: '#e6c3dc', yellow: '#c98a00', cream: '#f7e3a6'},
  dark: {ink: '#ececec', soft: '#b3b6bc', paper: '#16181c', quiet: '#2a2e35', line: '#50555e', blue: '#6ab7f0', sky: '#22506f', orange: '#f0924a', sand: '#6b3d18', green: '#3fc79b', mint: '#1d5745', purple: '#dd8ec9', lilac: '#5b2f50', yellow: '#e8b339', cream: '#574516'},
};
const darkQuery = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : {matches: false};
const paletteNow = () => (darkQuery.matches ? palettes.dark : palettes.light);

const fontOf = (size, bold) => `${bold ? 'bold ' : ''}${size}px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif`;

const penOf = (canvas, height) => {
  const width = canvas.clientWidth || canvas.parentNode?.clientWidth || 600;
  const ratio = globalThis.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return pens(context, width, height, paletteNow());
};

const pens = (context, w, h, palette) => {
  const colour = (name) => palette[name] || name;
  const stroked = ({stroke, width = 1, dash}) => {
    if (!stroke) return;
    context.strokeStyle = colour(stroke);
    context.lineWidth = width;
    context.setLineDash(dash || []);
    context.stroke();
  };
  return {
    w, h, context, colour,
    narrow: w < 520,
    faded(share, work) {
      context.globalAlpha = Math.max(0, Math.min(1, share));
      work();
      context.globalAlpha = 1;
    },
    box(x, y, width, height, {fill, round = 0, ...line} = {}) {
      context.beginPath();
      if (round) context.roundRect(x, y, Math.max(0, width), Math.max(0, height), Math.min(round, Math.abs(width) / 2, Math.abs(height) / 2));
      else context.rect(x, y, width, height);
      if (fill) {
        context.fillStyle = colour(fill);
        context.fill();
      }
      stroked(line);
    },
    text(x, y, text, {size = 13, align = 'left', fill = 'ink', bold = false, fit} = {}) {
      context.fillStyle = colour(fill);
      context.textAlign = align;
      context.textBaseline = 'alphabetic';
      context.font = fontOf(size, bold);
      if (fit) context.fillText(text, x, y, fit);
      else context.fillText(text, x, y);
    },
    wide(text, size = 13, bold = false) {
      context.font = fontOf(size, bold);
      return context.measureText(text).width;
    },
    path(points, {fill, close = false, ...line} = {}) {
      context.beginPath();
      points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
      if (close) context.closePath();
      if (fill) {
        context.fillStyle = colour(fill);
        context.fill();
      }
      stroked({stroke: fill ? undefined : 'ink', ...line});
    },
    dot(x, y, r, {fill = 'blue', ...line} = {}) {
      context.beginPath();
      context.arc(x, y, r, 0, 2 * Math.PI);
      context.fillStyle = colour(fill);
      context.fill();
      stroked(line);
    },
    arrow(x1, y1, x2, y2, {stroke = 'soft', width = 1.5, head = 6, dash} = {}) {
      const angle = Math.atan2(y2 - y1, x2 - x1);
      context.beginPath();
      context.moveTo(x1, y1);
      context.lineTo(x2 - head * 0.8 * Math.cos(angle), y2 - head * 0.8 * Math.sin(angle));
      stroked({stroke, width, dash});
      context.beginPath();
      context.moveTo(x2, y2);
      for (const turn of [2.7, -2.7]) context.lineTo(x2 + head * Math.cos(angle + turn), y2 + head * Math.sin(angle + turn));
      context.closePath();
      context.fillStyle = colour(stroke);
      context.fill();
    },
  };
};

// --- charts ---

// {title, x: {title, log, ticks}, y: {title, log, zero, text}, series: [{name, points: [[x, y]], fill, dots, dash}], here: [x, y], limits: [[text, y]], drag: control}
// or {title, bars: [{name, value, text, fill}]}.
const drawChart = (pen, chart) => (chart.bars ? drawBars(pen, chart) : drawLines(pen, chart));

const chartHeight = (chart, width) => (chart.bars ? 34 + chart.bars.length * 34 : Math.max(200, Math.min(300, width * 0.62)) + 18 * Math.ceil(chart.series.filter((each) => each.name).length / 2));

const drawBars = (pen, {title, bars}) => {
  pen.text(0, 16, title, {bold: true});
  const most = Math.max(...bars.map((bar) => bar.value || 0), Number.MIN_VALUE);
  bars.forEach((bar, i) => {
    const y = 32 + i * 34;
    pen.text(0, y + 9, bar.name, {size: 12, bold: bar.lit});
    pen.text(pen.w, y + 9, bar.text, {size: 12, align: 'right', bold: bar.lit});
    pen.box(0, y + 14, pen.w, 9, {fill: 'quiet', round: 2});
    pen.box(0, y + 14, Math.max(1.5, (pen.w * (bar.value || 0)) / most), 9, {fill: bar.fill || (bar.lit ? 'orange' : 'blue'), round: 2});
  });
};

const chartFrame = (pen, {x, y, series, here, limits = []}) => {
  const points = series.flatMap((each) => each.points).concat(here ? [here] : []).filter(([, value]) => Number.isFinite(value) && (!y.log || value > 0));
  const xs = points.map((point) => point[0]);
  const ys = points.map((point) => point[1]).concat(limits.map((limit) => limit[1]));
  const range = {x: [Math.min(...xs), Math.max(...xs)], y: [y.log || y.zero === false ? Math.min(...ys) : 0, Math.max(...ys)]};
  if (range.x[0] === range.x[1]) range.x[1] = range.x[0] * 1.01 + 1e-9;
  if (range.y[0] === range.y[1]) range.y[1] = range.y[0] * 1.1 + 1e-9;
  if (y.log) range.y = [range.y[0] / 1.25, range.y[1] * 1.25];
  else if (y.zero === false) range.y = [range.y[0] - 0.08 * (range.y[1] - range.y[0]), range.y[1] + 0.08 * (range.y[1] - range.y[0])];
  else range.y[1] *= 1.08;
  const left = 50;
  const names = series.filter((each) => each.name).length;
  const [top, bottom] = [30, pen.h - 38 - 18 * Math.ceil(names / 2)];
  const along = (axis, [low, high], value) => (axis.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
  return {
    left, top, bottom, range,
    at: ([px, py]) => [left + along(x, range.x, px) * (pen.w - left - 10), bottom - along(y, range.y, py) * (bottom - top)],
    back: (px) => {
      const share = Math.max(0, Math.min(1, (px - left) / (pen.w - left - 10)));
      return x.log ? range.x[0] * (range.x[1] / range.x[0]) ** share : range.x[0] + share * (range.x[1] - range.x[0]);
    },
  };
};

const penTicks = (axis, [low, high], most) => {
  if (axis.ticks) return axis.ticks.filter(([value]) => value >= low * 0.999 && value <= high * 1.001);
  if (!axis.log) {
    const step = stepAtLeast((high - low) / most);
    const out = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); ++i) out.push([i * step, axis.text ? axis.text(i * step) : numberText(Number((i * step).toPrecision(12)), 4)]);
    return out;
  }
  const decades = Math.log10(high / low);
  const factor = decades > most ? 10 ** Math.ceil(decades / most) : decades > most / 2 ? 10 : decades > most / 4 ? Math.sqrt(10) : 2;
  const out = [];
  for (let value = 10 ** Math.floor(Math.log10(low)); value <= high * 1.0001; value *= factor) {
    const round = factor === 2 ? value : Number(value.toPrecision(1));
    if (round >= low * 0.999 && round <= high * 1.001) out.push([round, axis.text ? axis.text(round) : numberText(round, 3)]);
  }
  return out;
};

const drawLines = (pen, chart) => {
  const {title, x, y, series, here, limits = []} = chart;
  const frame = (chart.frame = chartFrame(pen, chart));
  const {left, top, bottom, range, at} = frame;
  pen.text(0, 16, y.title ? `${title}, ${y.title}` : title, {bold: true, fit: pen.w});
  for (const [value, text] of penTicks(y, range.y, 4)) {
    const [, py] = at([range.x[0], value]);
    pen.path([[left, py], [pen.w - 10, py]], {stroke: 'quiet'});
    pen.text(left - 6, py + 4, text, {size: 12, align: 'right', fill: 'soft', fit: left - 6});
  }
  for (const [value, text] of penTicks(x, range.x, pen.w < 380 ? 4 : 6)) {
    const half = pen.wide(text, 12) / 2;
    pen.text(Math.min(pen.w - half, at([value, range.y[0]])[0]), bottom + 16, text, {size: 12, align: 'center', fill: 'soft'});
  }
  pen.path([[left, bottom], [pen.w - 10, bottom]], {stroke: 'line'});
  pen.text((left + pen.w - 10) / 2, bottom + 32, x.title, {size: 12, align: 'center', fill: 'soft'});
  for (const [text, value] of limits) {
    const [, py] = at([range.x[0], value]);
    pen.path([[left, py], [pen.w - 10, py]], {stroke: 'soft', dash: [4, 3]});
    pen.text(pen.w - 12, py - 4, text, {size: 12, align: 'right', fill: 'soft'});
  }
  for (const each of series) drawSeries(pen, each, at, y);
  if (here && Number.isFinite(here[1])) {
    const [px, py] = at(here);
    pen.path([[px, top], [px, bottom]], {stroke: 'orange', dash: [2, 3]});
    pen.dot(px, py, 6, {fill: 'orange', stroke: 'paper', width: 2});
  }
  drawLegend(pen, series, bottom + 50);
};

const drawSeries = (pen, {points, fill = 'blue', dots, dash, colours}, at, y) => {
  const drawn = points.filter(([, value]) => Number.isFinite(value) && (!y.log || value > 0)).map(at);
  if (!dots && drawn.length) pen.path(drawn, {stroke: fill, width: 2, dash});
  if (dots) drawn.forEach(([px, py], i) => pen.dot(px, py, dots, {fill: colours ? colours[i] : fill, stroke: 'paper', width: dots > 3 ? 1.2 : 0}));
};

const drawLegend = (pen, series, from) => {
  let column = 0;
  let y = from;
  for (const {name, fill = 'blue', dots, dash} of series.filter((each) => each.name)) {
    const x = 50 + (column * (pen.w - 50)) / 2;
    if (dots) pen.dot(x + 8, y - 4, Math.max(3, Math.min(4, dots)), {fill});
    else pen.path([[x, y - 4], [x + 16, y - 4]], {stroke: fill, width: 2, dash});
    pen.text(x + 22, y, name, {size: 12, fit: pen.w / 2 - 50});
    column = 1 - column;
    if (!column) y += 18;
  }
};
