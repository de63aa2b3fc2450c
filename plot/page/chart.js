// One chart of the page: drawn from its data at the available width, and redrawn when it is zoomed,
// moved or resized or when a series is switched. Everything is SVG in CSS pixels, so text has the
// same size on a phone as on a wide screen.

const svgNode = (tag, attributes = {}, text) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
};
const htmlNode = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};

const dashes = {solid: '', dashed: '7 4', dotted: '2 3', dash_dot: '9 3 2 3', long_dash: '14 4'};

const polygon = (x, y, corners, turn) => {
  const slice = (2 * Math.PI) / corners;
  const reach = Math.sqrt(slice / Math.sin(slice));
  return (r) => Array.from({length: corners}, (_, i) => [x + r * reach * Math.sin(turn + i * slice), y - r * reach * Math.cos(turn + i * slice)]);
};
const pathOf = (points, closed) => points.map(([x, y], i) => (i ? 'L' : 'M') + x.toFixed(1) + ' ' + y.toFixed(1)).join('') + (closed ? 'Z' : '');
const markerPath = (marker, x, y, r) => {
  const shapes = {square: [4, Math.PI / 4], triangle: [3, 0], diamond: [4, 0], wedge: [3, Math.PI], pentagon: [5, 0], arrow: [3, -Math.PI / 2]};
  if (marker === 'star') {
    return pathOf(Array.from({length: 10}, (_, i) => [x + r * (i % 2 ? 0.75 : 1.6) * Math.sin((i * Math.PI) / 5), y - r * (i % 2 ? 0.75 : 1.6) * Math.cos((i * Math.PI) / 5)]), true);
  }
  if (shapes[marker]) return pathOf(polygon(x, y, ...shapes[marker])(r), true);
  return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
};
const markerNode = (style, origin, x, y, r) =>
  svgNode('path', {class: `marker s-${style.color} ` + (origin === 'predicted' ? 'hollow' : 'f-' + style.color) + (origin === 'calibrated' ? ' half' : ''), d: markerPath(style.marker, x, y, r)});
const lineNode = (style, d, role = '') =>
  svgNode('path', {class: `line ${role} s-${style.color}`, 'stroke-width': style.width, 'stroke-dasharray': dashes[style.dash], d});

// Whether a segment enters a box.
const enters = ([ax, ay], [bx, by], [l, t, r, b]) => {
  let [from, to] = [0, 1];
  for (const [d, near, far] of [[bx - ax, l - ax, r - ax], [by - ay, t - ay, b - ay]]) {
    if (d === 0) {
      if (near > 0 || far < 0) return false;
      continue;
    }
    from = Math.max(from, Math.min(near / d, far / d));
    to = Math.min(to, Math.max(near / d, far / d));
  }
  return from < to;
};
const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

class ChartView {
  constructor(data, items, figure) {
    this.data = data;
    this.items = items;
    this.hidden = new Set();
    this.figure = figure;
    this.order = data.marks.map((_, i) => i).sort((a, b) => data.marks[a].x - data.marks[b].x);
    this.partner = new Map(data.links.flatMap(([a, b]) => [[a, b], [b, a]]));
    this.pointers = new Map();
    this.build();
    this.reset();
    new ResizeObserver(() => requestAnimationFrame(() => this.resize())).observe(this.plot);
  }

  // Shows other data with the same legend; a zoom and switched-off series last, and the axes grow but do not shrink, so
  // that what moves is the data.
  renew(data, items) {
    const joined = (a, b) => ({...b, range: [Math.min(a.range[0], b.range[0]), Math.max(a.range[1], b.range[1])]});
    this.data = {...data, x: joined(this.data.x, data.x), y: joined(this.data.y, data.y)};
    this.items = items;
    this.order = data.marks.map((_, i) => i).sort((a, b) => data.marks[a].x - data.marks[b].x);
    this.partner = new Map(data.links.flatMap(([a, b]) => [[a, b], [b, a]]));
    this.svg.setAttribute('aria-label', data.title + '. ' + data.description);
    if (this.zoomed) this.draw();
    else this.reset();
  }

  build() {
    const {data} = this;
    this.plot = htmlNode('div', 'plot');
    this.svg = svgNode('svg', {class: 'ridge-chart live', tabindex: 0, role: 'application', 'aria-label': data.title + '. ' + data.description});
    this.tip = htmlNode('div', 'tip');
    this.tip.hidden = true;
    this.tip.setAttribute('role', 'status');
    this.plot.append(this.svg, this.tip);
    const head = htmlNode('div', 'head');
    const words = htmlNode('div');
    words.append(htmlNode('h2', '', data.title), htmlNode('p', 'subtitle', data.subtitle));
    head.append(words, this.toolbar());
    this.figure.replaceChildren(head, this.plot, this.legend());
    for (const note of data.notes) this.figure.append(htmlNode('p', 'note', note));
    this.listen();
  }

  toolbar() {
    const bar = htmlNode('div', 'toolbar');
    const add = (text, label, action) => {
      const button = htmlNode('button', '', text);
      button.type = 'button';
      button.title = button.ariaLabel = label;
      button.addEventListener('click', action);
      bar.append(button);
    };
    add('+', 'Zoom in', () => this.zoom(1 / 1.6));
    add('−', 'Zoom out', () => this.zoom(1.6));
    add('Reset', 'Show everything', () => this.reset());
    return bar;
  }

  // Whether anything on the chart has this name, so that it can be switched.
  controls(name) {
    const {marks, curves} = this.data;
    const {sorts = []} = this.data;
    return marks.some((m) => [m.series, m.level, m.origin].includes(name)) || curves.some((c) => [c.series, c.origin].includes(name)) ||
        sorts.some((sort) => sort.series === name);
  }

  legend() {
    const list = htmlNode('div', 'legend');
    for (const entry of [...this.data.legend, ...this.data.samples]) {
      const switches = this.controls(entry.name);
      const node = htmlNode(switches ? 'button' : 'span', 'entry');
      if (entry.line || entry.origin) {
        const sample = svgNode('svg', {class: 'ridge-chart sample', width: 26, height: 14, 'aria-hidden': 'true'});
        if (entry.line) sample.append(lineNode(entry, 'M1 7L25 7'));
        if (entry.origin) sample.append(markerNode(entry, entry.origin, 13, 7, 4.2));
        node.append(sample);
      }
      node.append(htmlNode('span', '', entry.name));
      if (entry.detail) node.append(htmlNode('span', 'detail', entry.detail));
      if (switches) {
        node.type = 'button';
        node.ariaPressed = 'true';
        node.addEventListener('click', () => {
          const off = this.hidden.delete(entry.name) ? false : Boolean(this.hidden.add(entry.name));
          node.ariaPressed = String(!off);
          this.draw();
        });
      }
      list.append(node);
    }
    return list;
  }

  shown(thing) {
    return ![thing.series, thing.level, thing.origin].some((name) => name && this.hidden.has(name));
  }

  resize() {
    const width = Math.max(260, this.plot.clientWidth);
    if (width === this.width) return;
    this.width = width;
    this.height = width < 600 ? Math.max(320, width * 0.9) : Math.min(680, width * 0.6);
    if (this.data.spans) this.height = Math.min(this.height, 80 + 44 * this.data.y.names.length);
    this.draw();
  }

  reset() {
    this.view = {x: this.data.x.range.map((v) => forward(this.data.x, v)), y: this.data.y.range.map((v) => forward(this.data.y, v))};
    this.zoomed = false;
    this.width ? this.draw() : this.resize();
  }

  // Scales both axes by `factor` about a point of the frame, by default its middle.
  zoom(factor, at) {
    const {frame} = this;
    const [u, v] = at ? [(at[0] - frame[0]) / (frame[2] - frame[0]), (frame[3] - at[1]) / (frame[3] - frame[1])] : [0.5, 0.5];
    const scaled = ([low, high], where) => {
      const centre = low + where * (high - low);
      return [centre - (centre - low) * factor, centre + (high - centre) * factor];
    };
    const {spans} = this.data;
    const next = {x: scaled(this.view.x, u), y: spans ? this.view.y : scaled(this.view.y, v)};
    const span = next.x[1] - next.x[0];
    const whole = forward(this.data.x, this.data.x.range[1]) - forward(this.data.x, this.data.x.range[0]);
    if (span < whole * (spans ? 1e-6 : 1e-4) || span > whole * (spans ? 1.2 : 20)) return;
    this.view = next;
    this.zoomed = true;
    this.draw();
  }

  pan(dx, dy) {
    const {frame, view} = this;
    const by = ((view.x[1] - view.x[0]) * dx) / (frame[2] - frame[0]);
    const up = ((view.y[1] - view.y[0]) * dy) / (frame[3] - frame[1]);
    this.view = {x: view.x.map((v) => v - by), y: this.data.spans ? view.y : view.y.map((v) => v + up)};
    this.zoomed = true;
    this.draw();
  }

  pixel(x, y) {
    const {frame, view, data} = this;
    const place = (axis, [low, high], value) => (forward(axis, value) - low) / (high - low);
    return [frame[0] + place(data.x, view.x, x) * (frame[2] - frame[0]), frame[3] - place(data.y, view.y, y) * (frame[3] - frame[1])];
  }

  inFrame([x, y], slack = 0.5) {
    const {frame} = this;
    return x >= frame[0] - slack && x <= frame[2] + slack && y >= frame[1] - slack && y <= frame[3] + slack;
  }

  draw() {
    if (!this.width) return;
    cancelAnimationFrame(this.pending);
    this.hide();
    const {svg, width, height, data} = this;
    const yTicks = ticksOf(data.y, this.view.y, height / 44);
    const left = 30 + Math.max(...yTicks.map((tick) => textWidth(tick.text, 12.5)), 12);
    // Names that do not fit side by side are turned, and the frame makes room for them.
    const xTicks = ticksOf(data.x, this.view.x, (width - left) / 52);
    const widest = Math.max(...xTicks.map((tick) => textWidth(tick.text, 12.5)), 0);
    this.turned = data.x.names.length > 0 && (widest + 8) * xTicks.length > width - left - 22;
    this.frame = [left, 8, width - 22, height - 46 - (this.turned ? widest * 0.7 : 0)];
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('width', width);
    svg.setAttribute('height', height);
    svg.style.touchAction = this.zoomed ? 'none' : 'pan-y';
    const clip = svgNode('clipPath', {id: 'frame-' + data.id});
    const [l, t, r, b] = this.frame;
    clip.append(svgNode('rect', {x: l, y: t, width: r - l, height: b - t}));
    const inside = svgNode('g', {'clip-path': `url(#frame-${data.id})`});
    svg.replaceChildren(clip, svgNode('rect', {class: 'page', width, height}), inside);
    this.drawBands(inside);
    this.drawAxes(xTicks, yTicks);
    svg.append(inside);
    this.drawSpans(inside);
    this.drawCurves(inside);
    this.drawMarks();
    this.drawLabels();
  }

  drawBands(into) {
    for (const band of this.data.bands) {
      const edge = [...band.low, ...[...band.high].reverse()].map(([x, y]) => this.pixel(x, y));
      into.append(svgNode('path', {class: 'band f-' + band.color, 'fill-opacity': band.opacity, d: pathOf(edge, true)}));
    }
  }

  drawAxes(xTicks, yTicks) {
    const {svg, data} = this;
    const [l, t, r, b] = this.frame;
    let end = -Infinity;
    for (const tick of xTicks) {
      const [x] = this.pixel(tick.value, data.y.range[0]);
      svg.append(svgNode('path', {class: 'grid' + (tick.strong ? ' grid-strong' : ''), d: `M${x} ${t}L${x} ${b}`}));
      const half = textWidth(tick.text, 12.5) / 2;
      if (this.turned) {
        svg.append(svgNode('text', {class: 'font-tick', x, y: b + 14, 'text-anchor': 'end', transform: `rotate(-45 ${x} ${b + 14})`}, tick.text));
        continue;
      }
      if (!tick.text || x - half < end + 6) continue;
      end = x + half;
      svg.append(svgNode('text', {class: 'font-tick', x, y: b + 17, 'text-anchor': 'middle'}, tick.text));
    }
    for (const tick of yTicks) {
      const [, y] = this.pixel(data.x.range[0], tick.value);
      svg.append(svgNode('path', {class: 'grid' + (tick.strong ? ' grid-strong' : ''), d: `M${l} ${y}L${r} ${y}`}));
      if (tick.text) svg.append(svgNode('text', {class: 'font-tick', x: l - 6, y: y + 4.3, 'text-anchor': 'end'}, tick.text));
    }
    svg.append(svgNode('rect', {class: 'frame', x: l, y: t, width: r - l, height: b - t}));
    const name = (axis) => axis.title + (axis.unit ? ` (${axis.unit})` : '');
    const middle = (t + b) / 2;
    svg.append(
      svgNode('text', {class: 'font-axis', x: (l + r) / 2, y: this.height - 8, 'text-anchor': 'middle'}, name(data.x)),
      svgNode('text', {class: 'font-axis', x: 14, y: middle, 'text-anchor': 'middle', transform: `rotate(-90 14 ${middle})`}, name(data.y)));
  }

  drawCurves(into) {
    this.paths = [];
    for (const curve of this.data.curves) {
      if (!this.shown(curve)) continue;
      const points = curve.xy.map(([x, y]) => this.pixel(x, y));
      const node = lineNode(curve, pathOf(points), curve.role);
      into.append(node);
      this.paths.push({curve, points, node});
    }
    for (const note of this.data.annotations) {
      const [x, y] = this.pixel(note.x, note.y);
      if (note.drop) into.append(svgNode('path', {class: 'drop', d: `M${x} ${y}L${x} ${this.frame[3]}`}));
      into.append(markerNode({color: 'ink', marker: 'diamond'}, 'measured', x, y, note.drop ? 4.5 : 3.2));
    }
  }

  drawMarks() {
    const {svg, data} = this;
    this.points = new Map();
    data.marks.forEach((mark, i) => {
      const at = this.pixel(mark.x, mark.y);
      if (this.shown(mark) && this.inFrame(at)) this.points.set(i, at);
    });
    const group = svgNode('g', {'clip-path': `url(#frame-${data.id})`});
    for (const [a, b] of data.links) {
      const both = [a, b].map((i) => data.marks[i]);
      if (!both.every((mark) => this.shown(mark))) continue;
      group.append(svgNode('path', {class: 'link', d: pathOf(both.map((mark) => this.pixel(mark.x, mark.y)))}));
    }
    for (const [i, [x]] of this.points) {
      const mark = data.marks[i];
      if (mark.low === undefined) continue;
      const [low, high] = [mark.low, mark.high].map((y) => this.pixel(mark.x, y)[1]);
      group.append(svgNode('path', {class: 'error', d: `M${x} ${low}L${x} ${high}M${x - 3} ${low}L${x + 3} ${low}M${x - 3} ${high}L${x + 3} ${high}`}));
    }
    svg.append(group);
    this.nodes = new Map();
    for (const [i, [x, y]] of this.points) {
      const mark = data.marks[i];
      const node = svgNode('g', {class: 'point ' + mark.origin, 'data-i': mark.item});
      node.append(markerNode(mark, mark.origin, x, y, mark.r));
      svg.append(node);
      this.nodes.set(i, node);
    }
  }

  // Greedy: roofs along their lines, the ridge point, then names or numbers next to the marks. A
  // label that finds no free place is left to the legend, the table and the tooltip, or appears
  // after zooming in.
  drawLabels() {
    const {svg, data} = this;
    const taken = [...this.points].map(([i, [x, y]]) => {
      const r = data.marks[i].r + 0.5;
      return [x - r, y - r, x + r, y + r];
    });
    for (const note of data.annotations) {
      const [x, y] = this.pixel(note.x, note.y);
      taken.push([x - 5, y - 5, x + 5, y + 5]);
    }
    const free = (boxes) => boxes.every((box) => this.inFrame([box[0], box[1]], 0) && this.inFrame([box[2], box[3]], 0) && !taken.some((other) => meet(box, other)));
    const write = (boxes, x, y, text, classes, turn) => {
      taken.push(...boxes);
      svg.append(svgNode('text', {class: 'label ' + classes, x, y, 'text-anchor': 'middle', ...(turn ? {transform: `rotate(${turn} ${x} ${y})`} : {})}, text));
    };
    for (const {curve, points} of this.paths) {
      if (curve.label) this.labelCurve(curve, points, free, write);
    }
    const beside = (at, text, size, r, classes) => {
      const [w, h] = [textWidth(text, size) + 2, size];
      // First try a place away from all lines; otherwise use one where the outline of the letters
      // keeps them readable.
      let second;
      for (const [dx, dy] of [[1, 0], [-1, 0], [0.8, -0.9], [-0.8, -0.9], [0.8, 0.9], [-0.8, 0.9], [0, -1.1], [0, 1.1]]) {
        const x = at[0] + dx * (r + 3) + (Math.sign(dx) * w) / 2;
        const y = at[1] + dy * (r + 3) + (Math.abs(dx) === 1 ? 0 : (Math.sign(dy) * h) / 2);
        const box = [x - w / 2, y - h / 2, x + w / 2, y + h / 2];
        if (!free([box])) continue;
        const crossed = this.paths.some(({points}) => points.some((point, k) => k && enters(points[k - 1], point, box)));
        if (!crossed) {
          write([box], x, y + size * 0.34, text, classes);
          return;
        }
        second = second || [[box], x, y + size * 0.34, text, classes];
      }
      if (second) write(...second);
    };
    for (const note of data.annotations) {
      const at = this.pixel(note.x, note.y);
      if (note.text && this.inFrame(at)) beside(at, note.text, 13, 5, 'of-ridge' + (note.drop ? ' font-emphasis' : ''));
    }
    // A mark without a body is the start of a bar, which ends where the next mark in its row
    // starts.
    const fits = (mark, at) => {
      const ends = [...this.points.values()].filter(([x, y]) => y === at[1] && x > at[0]).map(([x]) => x);
      return mark.r < 1 && textWidth(mark.name, 13) + 10 < Math.min(this.frame[2], ...ends) - at[0];
    };
    // A narrow chart has room for the beginnings of a few names.
    const few = [...this.points.keys()].filter((i) => data.marks[i].labelled).length <= 12;
    for (const [i, at] of this.points) {
      const mark = data.marks[i];
      if (!mark.labelled) continue;
      if (mark.n) beside(at, String(mark.n), 11, mark.r, 'font-number of-point');
      else if (this.width >= 600 || fits(mark, at)) beside(at, mark.name, 13, mark.r, 'of-point');
      else if (few && mark.r >= 1) beside(at, shortened(mark.name, this.width / 4), 13, mark.r, 'of-point');
    }
  }

  labelCurve(curve, points, free, write) {
    const [from, to] = [points[0], points[points.length - 1]];
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const w = textWidth(curve.name, 13) + 4;
    if (length < w) return;
    const along = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
    const turn = (Math.atan2(along[1], along[0]) * 180) / Math.PI;
    const pieces = Math.max(1, Math.ceil(w / 14));
    // Above the line, or below it if the next reference line leaves more room there.
    const room = (sign) => Math.min(...this.paths.filter((each) => each.curve.role === 'reference' && curve.role === 'reference')
        .map((each) => sign * (each.points[0][1] - from[1])).filter((gap) => gap > 0));
    const sides = room(1) > room(-1) ? [1, -1] : [-1, 1];
    // If the next line needs the other side, the label may cross other lines; its outline keeps it
    // readable.
    const tight = room(sides[1]) < 36;
    let second;
    for (let step = 0; step <= 24; ++step) {
      // From the preferred place outwards, alternating between its two sides.
      const share = curve.prefer + (step % 2 ? 1 : -1) * Math.ceil(step / 2) * 0.08;
      const at = w / 2 + share * (length - w);
      if (share < 0 || share > 1) continue;
      for (const side of sides) {
        const off = side * (13 * 0.5 + 5);
        const centre = [from[0] + along[0] * at - along[1] * off, from[1] + along[1] * at + along[0] * off];
        const boxes = Array.from({length: pieces}, (_, k) => {
          const d = ((k + 0.5) / pieces - 0.5) * w;
          const [x, y] = [centre[0] + along[0] * d, centre[1] + along[1] * d];
          return [x - 7, y - 7, x + 7, y + 7];
        });
        const crossed = this.paths.some(({curve: other, points: line}) => other !== curve && other.role !== 'envelope' &&
            line.some((point, k) => k && boxes.some((box) => enters(line[k - 1], point, box))));
        if ((crossed && (!tight || side !== sides[0])) || !free(boxes)) continue;
        const drop = 13 * 0.34;
        const place = [boxes, centre[0] - along[1] * drop, centre[1] + along[0] * drop, curve.name, 'of-curve t-' + curve.color, turn];
        if (!crossed && (side === sides[0] || !second)) {
          write(...place);
          return;
        }
        if (crossed) second = second || place;
      }
    }
    if (second) write(...second);
  }
}
