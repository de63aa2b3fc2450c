// Bars of a timeline: drawn as far as they can be distinguished, named if there is room, and found
// under the pointer. These are methods of ChartView.

const nanoseconds = {s: 1e9, ms: 1e6, 'µs': 1e3, us: 1e3, ns: 1};
const timeText = (ns) => {
  const [unit, size] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]].find(([, scale]) => ns >= scale) || ['ns', 1];
  return numberText(ns / size, 4) + ' ' + unit;
};
// Bars of a timeline have a start and a duration; bars of something else, such as GiB, a size.
const barTerms = (from, to, unit) => unit in nanoseconds
  ? [['start', timeText(from * nanoseconds[unit])], ['duration', timeText((to - from) * nanoseconds[unit])]]
  : [['size', numberText(to - from, 4) + ' ' + unit]];

Object.assign(ChartView.prototype, {
  // Neighbours of one colour that are closer than half a pixel share a bar; their number is kept
  // for the tooltip.
  drawSpans(into) {
    const {data} = this;
    this.bars = [];
    if (!data.spans) return;
    const last = new Map();
    const paths = new Map();
    const [left, , right] = this.frame;
    data.spans.forEach(([from, to, lane, sort], i) => {
      const {color} = data.sorts[sort];
      if (!this.shown(data.sorts[sort])) return;
      const [x0, y0] = this.pixel(from, lane + 0.36);
      const [x1, y1] = this.pixel(to, lane - 0.36);
      if (x1 < left || x0 > right) return;
      const end = Math.max(x1, x0 + 0.5);
      const before = last.get(lane + color);
      if (before && x0 < before.x1 + 0.25 && (x1 - x0 < 2 || before.x1 - before.x0 < 2)) {
        before.x1 = Math.max(before.x1, end);
        ++before.count;
        return;
      }
      const bar = {x0, x1: end, y0, y1, i, color, count: 1};
      last.set(lane + color, bar);
      this.bars.push(bar);
    });
    for (const {x0, x1, y0, y1, color} of this.bars) {
      const d = `M${Math.max(x0, left - 9).toFixed(2)} ${y0.toFixed(1)}H${Math.min(x1 - (x1 - x0 > 3 ? 0.6 : 0), right + 9).toFixed(2)}V${y1.toFixed(1)}H${Math.max(x0, left - 9).toFixed(2)}Z`;
      paths.set(color, (paths.get(color) || '') + d);
    }
    for (const [color, d] of paths) into.append(svgNode('path', {class: 'span f-' + color, d}));
    for (const bar of this.bars) this.nameBar(into, bar);
  },

  nameBar(into, {x0, x1, y0, y1, i, count}) {
    const [left, , right] = this.frame;
    const [from, to] = [Math.max(x0, left), Math.min(x1, right)];
    if (count > 1 || to - from < 34) return;
    const {name, series} = this.data.sorts[this.data.spans[i][3]];
    if (name === series) return;
    let text = name;
    const room = to - from - 8;
    if (textWidth(text, 12) > room) {
      let length = Math.floor((text.length * room) / textWidth(text, 12));
      while (length > 2 && textWidth(text.slice(0, length) + '…', 12) > room) --length;
      if (length < 3) return;
      text = text.slice(0, length) + '…';
    }
    into.append(svgNode('text', {class: 'label of-span', x: (from + to) / 2, y: (y0 + y1) / 2 + 4, 'text-anchor': 'middle'}, text));
  },

  // The bar under the pointer, otherwise the nearest bar of its lane within reach.
  barAt([x, y], reach) {
    let best;
    let distance = reach / 2;
    for (const bar of this.bars) {
      if (y < bar.y0 || y > bar.y1) continue;
      const d = Math.max(bar.x0 - x, x - bar.x1, 0);
      if (d < distance || (d === 0 && distance === 0)) [best, distance] = [bar, d];
    }
    return best;
  },

  showBar(bar, at) {
    const key = 'bar ' + bar.i;
    if (this.item !== key) {
      const {data} = this;
      const [from, to, lane, sort] = data.spans[bar.i];
      const {name, series, terms} = data.sorts[sort];
      const times = barTerms(from, to, data.x.unit);
      const more = bar.count > 1 ? [['here', bar.count + ' bars; zoom in to tell them apart']] : [];
      this.fill({name, series, level: data.y.names[lane - 1], kind: '', terms: [...times, ...more, ...terms]});
    }
    this.unlight();
    this.item = key;
    this.tip.hidden = false;
    this.placeTip([Math.min(Math.max(at[0], this.frame[0]), this.frame[2]), bar.y1 + 6]);
  },
});
