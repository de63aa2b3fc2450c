// Nodes and controls from which the views are built. Each control has a visible label and reports
// a new value as text.

const el = (tag, properties = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'role' || name.startsWith('aria')) node.setAttribute(name.replace(/^aria/, 'aria-').toLowerCase(), value);
    else node[name] = value;
  }
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== ''));
  return node;
};

let idsGiven = 0;
const freshId = () => `c${++idsGiven}`;

const labelled = (label, control, help) =>
  el('div', {className: 'control'}, el('label', {htmlFor: control.id, title: help || ''}, label), control);

// `options`: texts, or [value, text] pairs.
const choice = (label, value, options, change, help) => {
  const select = el('select', {id: freshId(), onchange: () => change(select.value)},
    options.map((option) => {
      const [name, text] = Array.isArray(option) ? option : [option, option];
      return el('option', {value: name, selected: name === value}, text);
    }));
  return labelled(label, select, help);
};

const tick = (label, on, change, help) => {
  const box = el('input', {type: 'checkbox', id: freshId(), checked: on, onchange: () => change(box.checked)});
  return el('div', {className: 'control tick'}, box, el('label', {htmlFor: box.id, title: help || ''}, label));
};

const textBox = (label, value, change, {help, placeholder} = {}) => {
  const box = el('input', {type: 'text', id: freshId(), value, placeholder: placeholder || '', spellcheck: false, autocomplete: 'off', oninput: () => change(box.value.trim())});
  return labelled(label, box, help);
};

// A logarithmic slider beside a box for the exact value. Sixteen steps double the value; below 256
// every whole number has its step.
const slider = (label, value, {low = 1, high = 1 << 20, change, help, size = String}) => {
  const stepsPerDoubling = 16;
  const whole = 256;
  const placeOf = (count) => (count <= whole ? count : whole + Math.log2(count / whole) * stepsPerDoubling);
  const countAt = (place) => (place <= whole ? place : Math.round(whole * 2 ** ((place - whole) / stepsPerDoubling)));
  const box = el('input', {type: 'text', inputMode: 'numeric', className: 'exact', id: freshId(), value, spellcheck: false, autocomplete: 'off'});
  const range = el('input', {type: 'range', min: Math.round(placeOf(low)), max: Math.round(placeOf(high)), step: 'any', value: placeOf(Number(value) || low)});
  range.setAttribute('aria-label', `${label}, slider`);
  range.setAttribute('aria-valuetext', size(Number(value)));
  range.addEventListener('input', () => {
    box.value = String(countAt(Math.round(Number(range.value))));
    range.setAttribute('aria-valuetext', size(Number(box.value)));
    change(box.value);
  });
  range.addEventListener('keydown', (event) => {
    const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: stepsPerDoubling, PageDown: -stepsPerDoubling}[event.key];
    if (!step) return;
    event.preventDefault();
    range.value = Math.round(Number(range.value)) + step;
    range.dispatchEvent(new Event('input'));
  });
  box.addEventListener('input', () => {
    if (/^\d+$/.test(box.value)) range.value = placeOf(Number(box.value));
    change(box.value.trim());
  });
  return el('div', {className: 'control sliding'}, el('label', {htmlFor: box.id, title: help || ''}, label), box, range);
};

const button = (text, action, properties = {}) => el('button', {type: 'button', onclick: action, ...properties}, text);

const times = [['s', 1e6], ['ms', 1e3], ['µs', 1], ['ns', 1e-3]];
const timeOf = (us) => scaledText(us, times);
const bytesOf = (bytes) => scaledText(bytes, [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10], ['B', 1]]);
const trafficOf = (bytes) => scaledText(bytes, [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3], ['B', 1]]);
const rateOf = (rate, unit) => scaledText(rate, [['P', 1e15], ['T', 1e12], ['G', 1e9], ['M', 1e6], ['k', 1e3], ['', 1]].map(([prefix, size]) => [prefix + unit, size]));
const countOf = (count) => scaledText(count, [['×10¹²', 1e12], ['billion', 1e9], ['million', 1e6], ['', 1]]).trim();
const percentOf = (share) => (share > 0 && share < 0.0005 ? 'under 0.1 %' : numberText(100 * share, 3) + ' %');
const scaledText = (value, scales) => {
  const [unit, size] = scales.find(([, scale]) => Math.abs(value) >= scale * 0.9995) || scales[scales.length - 1];
  return numberText(value / size, 3) + ' ' + unit;
};

// The headline numbers of an answer: pairs of a name and a text.
const figuresOf = (pairs) =>
  el('dl', {className: 'figures'}, pairs.filter((pair) => pair && pair[1] !== undefined).map(([name, text]) => el('div', {}, el('dt', {}, name), el('dd', {}, text))));

// Horizontal bars: {name, value, text, note, lit, low, high}; low and high are the ends of a whisker. `line` marks a value across all bars.
const barsOf = (caption, bars, {line, lineText} = {}) => {
  const most = Math.max(...bars.map((bar) => Math.max(bar.value, bar.high || 0)), line || 0, Number.MIN_VALUE);
  const share = (value) => `${(100 * value) / most}%`;
  return el('table', {className: 'bars'}, el('caption', {}, caption, lineText ? el('span', {className: 'key'}, lineText) : ''),
    el('tbody', {}, bars.map((bar) => el('tr', {className: bar.lit ? 'lit' : ''},
      el('th', {scope: 'row'}, bar.name),
      el('td', {className: 'track'}, barNode(bar, share), bar.high ? whiskerNode(share(bar.low), share(bar.high)) : '', line ? lineNodeAt(share(line)) : ''),
      el('td', {className: 'number'}, bar.text),
      el('td', {className: 'note'}, bar.note || '')))));
};
const barNode = (bar, share) => {
  const node = el('div', {className: 'fill'});
  node.style.width = share(bar.value);
  return node;
};
const whiskerNode = (from, to) => {
  const node = el('div', {className: 'whisker'});
  node.style.left = from;
  node.style.width = `${parseFloat(to) - parseFloat(from)}%`;
  return node;
};
const lineNodeAt = (left) => {
  const node = el('div', {className: 'line-at'});
  node.style.left = left;
  return node;
};

const problem = (text) => el('p', {className: 'problem', role: 'alert'}, text);
