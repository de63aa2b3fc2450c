// Every lesson of the explorer on every chip of the catalogue, with several settings of its controls: each sentence holds.
//
// - The relations of a sentence hold among its figures, evaluated here again.
// - A sentence that compares ("times as long", "instead of", "falls by") states a relation. Its numbers are in its figures' direction:
//   nothing is "1.00 times" or "0.98 times" as long.
// - A sentence about times is not said of a chip whose kernels are known from a data sheet only; the lesson says so instead.
// - No sentence has undefined, NaN or null in it, and pictures and charts are drawn without an error.
// - The same with answers whose times are altered at random: no sentence rests on luck.
//
// Usage: node check_lessons.js ANSWER_QUESTIONS ROOT [LESSON ...]   The first program answers questions of the command line (answer_questions.cpp).
'use strict';

const {execFileSync, spawn} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const vm = require('vm');

const [program, root, ...only] = process.argv.slice(2);

// Questions and answers pass through two pipes in the file system, which can be read while a script waits.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ridge-lessons-'));
const [asked, answered] = ['asked', 'answered'].map((name) => path.join(folder, name));
execFileSync('mkfifo', [asked, answered]);
const child = spawn('sh', ['-c', 'exec "$0" <"$1" >"$2"', program, asked, answered], {stdio: 'ignore'});
const [to, from] = [fs.openSync(asked, 'w'), fs.openSync(answered, 'r')];
let rest = Buffer.alloc(0);
const lineOf = () => {
  const parts = [rest];
  for (;;) {
    const last = parts[parts.length - 1];
    const end = last.indexOf(10);
    if (end >= 0) {
      rest = last.subarray(end + 1);
      parts[parts.length - 1] = last.subarray(0, end);
      return Buffer.concat(parts).toString();
    }
    const part = Buffer.alloc(1 << 16);
    const size = fs.readSync(from, part);
    if (size === 0) throw new Error('the program ended');
    parts.push(part.subarray(0, size));
  }
};
const known = new Map();
const ask = (words) => {
  const line = words.join('\t');
  if (!known.has(line)) {
    fs.writeSync(to, line + '\n');
    known.set(line, JSON.parse(lineOf()));
  }
  return known.get(line);
};

// mulberry32
let seed = 7;
const random = () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};

// Times of an answer, multiplied by a factor of its own.
let altering = false;
const altered = (answer) => {
  if (!altering || !answer || answer.error || !answer.time_us) return answer;
  const factor = Math.exp(2 * (random() - 0.5));
  return {...answer, time_us: answer.time_us * factor, wall_us: answer.wall_us && answer.wall_us * factor};
};

const engine = {
  ask,
  json(words) {
    const answer = ask([...words, '--format', 'json']);
    if (!answer.output.trim()) throw new Error(answer.messages.split('\ntry: ')[0].trim() || `exit code ${answer.code}`);
    return altered(JSON.parse(answer.output));
  },
};

// A canvas that accepts every stroke and refuses places that are no numbers.
const strokes = new Proxy({}, {
  get: (_, name) => (name === 'measureText' ? (text) => ({width: 6 * String(text).length})
    : (...values) => values.forEach((value) => {
      if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${String(name)} is asked to draw at ${value}`);
      if (name === 'fillText' && /undefined|NaN|null/.test(String(value))) throw new Error(`the picture says "${value}"`);
    })),
  set: () => true,
});

const scope = vm.createContext({engine, console, performance, URLSearchParams, addEventListener: () => {}, location: {hash: ''}});
const page = (name) => fs.readFileSync(path.join(root, name), 'utf8');
const scripts = ['plot/page/axes.js', ...['controls', 'catalogue', 'pen', 'lesson'].map((name) => `explorer/page/${name}.js`),
  ...fs.readdirSync(path.join(root, 'explorer/page/lessons')).sort().map((name) => `explorer/page/lessons/${name}`)];
vm.runInContext([...scripts.map(page), 'globalThis.parts = {lessons, lessonNames, studyOf, canDraw, canChart, controlName, startsOf, modelOf, pens, palettes, drawChart, chartHeight, catalogue, knownAnswers};'].join('\n'), scope);
const {lessons, lessonNames, studyOf, canDraw, canChart, controlName, startsOf, modelOf, pens, palettes, drawChart, chartHeight, catalogue, knownAnswers} = scope.parts;

const failures = [];
let sentences = 0;
let compared = 0;
const fail = (where, what) => failures.length < 40 && failures.push(`${where}: ${what}`);

// By other code than that which chose the sentence.
const holds = ([a, relation, b]) => {
  if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
  switch (relation) {
    case '>': return a > b;
    case '<': return a < b;
    case '>=': return a >= b;
    case '<=': return a <= b;
    case '=': return a === b;
    case '~': return a === b || Math.max(a, b) / Math.min(a, b) < 1.05;
    default: return false;
  }
};

// Words that compare two figures.
const comparing = /\btimes (as|less|more|faster|slower|longer|the)\b|\binstead of\b|\bfalls? by\b|\b(faster|slower|shorter|longer|cheaper|fewer) than\b|\babout (as long|the same)\b|\bdoes not (help|pay)\b|\bless time\b/;

const checkClaims = (where, found) => {
  for (const {text, relations} of found.claims) {
    ++sentences;
    if (/undefined|NaN|null|Infinity|\[object/.test(text)) fail(where, text);
    for (const relation of relations) if (!holds(relation)) fail(where, `'${text}' does not hold: ${relation}`);
    if (!comparing.test(text)) continue;
    ++compared;
    if (!relations.length) fail(where, `'${text}' compares without a relation`);
    for (const [all, number] of text.matchAll(/(\d+(?:\.\d+)?) times (?:as long|as fast|less|more|faster|slower|longer)/g)) {
      if (Number(number) < 1.05) fail(where, `'${all}' is no difference: ${text}`);
    }
  }
  const told = found.claims.some(({text}) => /data sheet/.test(text));
  if (found.grade === 'datasheet' && !found.refused && !told) fail(where, 'nothing says that only the data sheet is known');
  if (found.claims.length === 0) fail(where, 'says nothing');
};

const drawn = (it, found, where, model) => {
  for (const width of [380, 760]) {
    for (const share of [0, 0.37, 0.99]) {
      if (!canDraw(it, found)) break;
      const pen = pens(strokes, width, it.height(width, found.figures), palettes.light);
      try {
        it.draw(pen, found.figures, share * (it.seconds || 1));
      } catch (error) {
        fail(where, `picture: ${error.message}`);
      }
    }
  }
  try {
    if (canDraw(it, found) && /undefined|NaN/.test(it.tell(found.figures))) fail(where, it.tell(found.figures));
    const chart = canChart(it, found) && it.chart?.(found.figures, model);
    if (chart) drawChart(pens(strokes, 400, chartHeight(chart, 400), palettes.light), chart);
  } catch (error) {
    fail(where, `chart: ${error.message}`);
  }
};

// The start, each slider at its ends and in between, each choice.
const statesOf = (it) => {
  const starts = startsOf(it);
  const states = [starts];
  for (const control of it.controls || []) {
    const name = controlName(control);
    const values = control.type ? ['1', '16', 'x'] : control.slide ? [control.low, control.high, control.doubling ? Math.round(Math.sqrt(control.low * control.high)) : Math.round((control.low + control.high) / 2)] : control.of.map((each) => (Array.isArray(each) ? each[0] : each));
    for (const value of values) states.push({...starts, [name]: String(value)});
  }
  return states;
};

const check = (it, gpu, state, draws) => {
  const where = `${it.name} on ${gpu}${altering ? ', altered,' : ''} with ${JSON.stringify(state)}`;
  try {
    const found = studyOf(it, {...state, gpu});
    checkClaims(where, found);
    if (draws) drawn(it, found, where, modelOf(gpu));
    if (found.guess && !it.guess.choices[found.guess.right]) fail(where, 'no choice is right');
    if (found.guess && it.guess.told && /undefined|NaN/.test(it.guess.told(found.guess.value))) fail(where, it.guess.told(found.guess.value));
  } catch (error) {
    fail(where, error.stack.split('\n').slice(0, 4).join(' '));
  }
};

const start = Date.now();
const gpus = catalogue.gpus.map((gpu) => gpu.name);
const chosen = only.length ? only : Object.keys(lessons);
for (const name of lessonNames) if (!lessons[name] && !only.length) fail(name, 'is listed and does not exist');
for (const name of Object.keys(lessons)) if (!lessonNames.includes(name)) fail(name, 'is not listed');
for (const name of chosen) {
  const began = Date.now();
  const it = lessons[name];
  for (const gpu of gpus) {
    const own = gpu === 'h100-sxm';
    statesOf(it).forEach((state, i) => check(it, gpu, state, own || i === 0));
    altering = true;
    for (let i = 0; i < 3; ++i) {
      knownAnswers.clear();
      check(it, gpu, startsOf(it), false);
    }
    altering = false;
    knownAnswers.clear();
  }
  if (only.length) console.log(`${name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
fs.closeSync(to);
child.kill();
fs.rmSync(folder, {recursive: true});
for (const failure of failures) console.log('FAILED:', failure);
console.log(`${chosen.length} lessons on ${gpus.length} chips: ${sentences} sentences, ${compared} of them comparisons, ${failures.length} failures; ${((Date.now() - start) / 1000).toFixed(0)} s`);
if (!only.length && compared < 1000) throw new Error('too few comparisons');
process.exit(failures.length ? 1 : 0);
