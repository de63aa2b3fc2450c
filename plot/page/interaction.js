// Pointer, keyboard and tooltip of a chart: methods of ChartView, kept separate from its drawing.

const measuring = document.createElement('canvas').getContext('2d');
const textWidth = (text, size) => {
  measuring.font = `${size}px "Helvetica Neue",Helvetica,Arial,"Liberation Sans",sans-serif`;
  return measuring.measureText(text).width;
};

// As much of a name as is not wider, by whole words where one fits.
const shortened = (name, width) => {
  if (textWidth(name, 13) <= width) return name;
  let end = name.length - 1;
  while (end > 1 && textWidth(name.slice(0, end) + '\u2026', 13) > width) --end;
  const word = name.lastIndexOf(' ', end);
  return name.slice(0, word > 2 ? word : end).trimEnd() + '\u2026';
};

const distanceTo = ([x, y], [ax, ay], [bx, by]) => {
  const [dx, dy] = [bx - ax, by - ay];
  const along = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - ax - along * dx, y - ay - along * dy);
};

Object.assign(ChartView.prototype, {
  listen() {
    const {svg} = this;
    svg.addEventListener('pointerdown', (event) => this.press(event));
    svg.addEventListener('pointermove', (event) => this.move(event));
    for (const name of ['pointerup', 'pointercancel']) svg.addEventListener(name, (event) => this.release(event));
    svg.addEventListener('pointerleave', (event) => event.pointerType === 'mouse' && this.hide());
    svg.addEventListener('dblclick', () => this.reset());
    svg.addEventListener('wheel', (event) => {
      // Without Ctrl the wheel scrolls the page, unless the chart was clicked.
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== svg) return;
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004), this.place(event));
    }, {passive: false});
    svg.addEventListener('keydown', (event) => this.key(event));
    svg.addEventListener('blur', () => this.hide());
  },

  place(event) {
    const box = this.svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  },

  press(event) {
    this.pointers.set(event.pointerId, this.place(event));
    this.moved = 0;
  },

  // One pointer moves the chart, two zoom it; without a pressed pointer, nearby items are shown.
  move(event) {
    const at = this.place(event);
    const last = this.pointers.get(event.pointerId);
    if (!last) {
      this.hover(at, event.pointerType === 'touch' ? 28 : 14);
      return;
    }
    this.moved += Math.hypot(at[0] - last[0], at[1] - last[1]);
    if (this.moved < 4) return;
    if (!this.svg.hasPointerCapture(event.pointerId)) this.svg.setPointerCapture(event.pointerId);
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId);
    this.pointers.set(event.pointerId, at);
    if (others.length === 0) {
      this.pan(at[0] - last[0], at[1] - last[1]);
    } else {
      const [, other] = others[0];
      const spread = (p) => Math.max(10, Math.hypot(p[0] - other[0], p[1] - other[1]));
      this.zoom(spread(last) / spread(at), [(at[0] + other[0]) / 2, (at[1] + other[1]) / 2]);
    }
  },

  release(event) {
    const pressed = this.pointers.delete(event.pointerId);
    if (pressed && this.moved < 4) this.hover(this.place(event), event.pointerType === 'mouse' ? 14 : 28);
  },

  key(event) {
    const order = this.order.filter((i) => this.points.has(i));
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (event.key === 'Escape') this.hide();
    else if (event.key === '+') this.zoom(1 / 1.6);
    else if (event.key === '-') this.zoom(1.6);
    else if (event.key === '0') this.reset();
    else if (step && order.length) {
      const at = order.indexOf(this.current);
      this.show(order[at < 0 ? 0 : (at + step + order.length) % order.length]);
    } else return;
    event.preventDefault();
  },

  // The nearest mark within reach, otherwise the nearest roof or reference line.
  hover(at, reach) {
    let best;
    let distance = reach;
    for (const [i, point] of this.points) {
      const d = Math.hypot(point[0] - at[0], point[1] - at[1]);
      if (d < distance) [best, distance] = [i, d];
    }
    if (best !== undefined) {
      this.show(best);
      return;
    }
    const bar = this.inFrame(at) && this.barAt(at, reach);
    if (bar) {
      this.showBar(bar, at);
      return;
    }
    let near;
    distance = reach / 2;
    for (const path of this.inFrame(at) ? this.paths : []) {
      if (path.curve.item === undefined) continue;
      for (let k = 1; k < path.points.length; ++k) {
        const d = distanceTo(at, path.points[k - 1], path.points[k]);
        if (d < distance) [near, distance] = [path, d];
      }
    }
    if (near) this.showItem(near.curve.item, at, [near.node]);
    else this.hide();
  },

  show(i) {
    if (this.current === i) return;
    const lit = [i, this.partner.get(i)].map((k) => this.nodes.get(k)).filter(Boolean);
    this.showItem(this.data.marks[i].item, this.points.get(i), lit);
    this.current = i;
  },

  showItem(index, at, lit) {
    if (this.item !== index) this.fill(this.items[index]);
    this.unlight();
    this.item = index;
    this.lit = lit;
    for (const node of lit) node.classList.add('lit');
    this.tip.hidden = false;
    this.placeTip(at);
  },

  fill(item) {
    const list = htmlNode('dl');
    for (const term of item.terms) list.append(htmlNode('dt', '', term[0]), htmlNode('dd', '', term[1]));
    const kind = [item.series !== item.name && item.series, item.level, item.kind].filter(Boolean).join(', ');
    this.tip.replaceChildren(htmlNode('strong', '', item.name), htmlNode('span', 'kind', kind), list);
  },

  // Next to the point if the tooltip covers no other mark there, otherwise below the frame.
  placeTip(at) {
    const {tip, width, height} = this;
    tip.style.left = tip.style.top = '0';
    const [w, h] = [tip.offsetWidth, tip.offsetHeight];
    const below = [[Math.max(0, Math.min(width - w, at[0] - w / 2)), height - 6]];
    const beside = [];
    for (const gap of this.width < 600 ? [] : [14, 40, 80, 140]) {
      for (const [dx, dy] of [[1, 0.3], [-1, 0.3], [1, -0.7], [-1, -0.7], [0, -1], [0, 1]]) {
        beside.push([at[0] + (dx > 0 ? gap : dx < 0 ? -gap - w : -w / 2), dx ? at[1] + dy * h - h * 0.15 : dy > 0 ? at[1] + gap : at[1] - gap - h]);
      }
    }
    const inside = ([x, y]) => x >= 0 && x + w <= width && y >= -40 && y + h <= height + 60;
    const partner = this.data.marks.findIndex((mark) => mark.item === this.item);
    const covers = ([x, y]) => {
      let count = 0;
      for (const [i, [px, py]] of this.points) {
        const r = this.data.marks[i].r + 2;
        if (i !== partner && px + r > x && px - r < x + w && py + r > y && py - r < y + h) ++count;
      }
      return count;
    };
    const place = beside.filter(inside).find((candidate) => covers(candidate) === 0) || below[0];
    tip.style.left = place[0] + 'px';
    tip.style.top = place[1] + 'px';
  },

  unlight() {
    for (const node of this.lit || []) node.classList.remove('lit');
    this.lit = [];
    this.current = undefined;
  },

  hide() {
    this.unlight();
    this.tip.hidden = true;
    this.item = undefined;
  },
});
