// A lesson: a question with a guess, a picture that follows its sliders, a chart beside it, and sentences that their figures support.
//
//   lesson('divergence', {
//     title: 'Divergent branches', question: 'Four branches in one warp: how much slower?',
//     guess: {choices: ['as fast', 'twice', 'four times'], value: (f) => f.slower, limits: [1.5, 3]},
//     controls: [{slide: 'paths', name: 'branches', low: 1, high: 32, start: 4}],
//     study: (state, model) => ({paths: ..., slower: model.time(['access', ...]) / ...}),   // figures; no drawing
//     facts: (f) => [...], claims: (f) => [...],                                            // sentences, see `whichever`
//     height: (width, f) => 240, draw(pen, f, seconds) {...}, seconds: 4, tell: (f) => 'the picture in words',
//     chart: (f) => ({...}), effect: 'divergence',
//   });
//
// A picture that shows predicted times is `timed`. `facts` rest on counting alone, and a lesson that is `counted` shows them and its picture whatever is predicted; `claims` rest on predicted times. Where a chip's kernels are known from a data sheet only,
// or not at all, the claims are left out and the lesson says so. A sentence with a comparison is made by `whichever`, which keeps
// its relations as data; tests/explorer/check_lessons.js evaluates them on every chip of the catalogue, and on altered answers.

const lessons = {};  // name -> lesson
const lesson = (name, parts) => { lessons[name] = {name, ...parts}; };

// In reading order.
const lessonParts = [
  ['Machines', ['loss', 'dennard', 'scaling', 'cpu-gpu', 'chip', 'memory-hierarchy', 'roofline', 'precision', 'loss-scaling']],
  ['Warps', ['coalescing', 'bank-conflicts', 'divergence', 'occupancy', 'constants']],
  ['Kernels', ['launch', 'fusion', 'recomputation', 'triton', 'debugging', 'profiler']],
  ['Products', ['tiling', 'wave-quantization', 'alignment', 'matmul-mystery', 'convolution', 'mlp']],
  ['Attention', ['online-softmax', 'flash-io', 'attention-vram', 'decode']],
  ['Systems', ['transfers', 'collectives', 'power', 'nanochat', 'exercises']],
];
const lessonNames = lessonParts.flatMap(([, names]) => names);

// --- figures ---

const knownAnswers = new Map();
const remembered = (words) => {
  const key = words.join('\0');
  if (!knownAnswers.has(key)) {
    if (knownAnswers.size > 20000) knownAnswers.clear();
    knownAnswers.set(key, engine.json(words));
  }
  return knownAnswers.get(key);
};

const grades = ['datasheet', 'distant', 'related', 'measured'];

// What a lesson asks about one GPU. It notes the weakest evidence of what it was told, and the first refusal.
const modelOf = (gpu) => ({
  gpu,
  grade: undefined,
  refused: undefined,
  // The answer to "matmul m=4096 ..." or undefined.
  predict(operation, on = gpu) {
    const [op, ...fields] = operation.split(' ');
    const words = fields.flatMap((field) => {
      const at = field.indexOf('=');
      return [`--${field.slice(0, at).replace(/_/g, '-')}`, field.slice(at + 1)];
    });
    return this.ask(['predict', op, ...words], on);
  },
  // The answer of a command with JSON, or undefined.
  ask(words, on = gpu) {
    let answer;
    try {
      answer = remembered([...words, '--gpu', on]);
    } catch (error) {
      answer = {error: error.message};
    }
    if (answer.error) {
      this.refused ||= answer.error;
      return undefined;
    }
    const grade = answer.evidence?.grade;
    if (grade && (!this.grade || grades.indexOf(grade) < grades.indexOf(this.grade))) this.grade = grade;
    return answer;
  },
  time(operation, on = gpu) {
    return this.predict(operation, on)?.time_us ?? NaN;
  },
  // The same without noting evidence or refusal: for charts and hints.
  maybe(operation, on = gpu) {
    return this.quietly(() => this.predict(operation, on));
  },
  quietly(work) {
    const kept = [this.grade, this.refused];
    const answer = work();
    [this.grade, this.refused] = kept;
    return answer;
  },
  get chip() {
    return remembered(['gpus', 'show', gpu]);
  },
  // The 16-bit type that its tensor cores take.
  get half() {
    return this.chip.peaks?.fp16 || !this.chip.peaks?.bf16 ? 'fp16' : 'bf16';
  },
  get title() {
    return catalogue.title(gpu);
  },
  // [x, measured] of a series of `ridge effect`; empty where nothing was measured.
  measured(effect, id) {
    if (!measuredChips.includes(gpu)) return [];
    const [study] = remembered(['effect', effect, '--gpu', gpu]);
    const series = study.figures?.flatMap((figure) => figure.series).find((each) => each.id === id);
    return (series?.points || []).filter((point) => point.measured).map((point) => [point.name ?? point.x, point.measured]);
  },
});
const measuredChips = ['h100-sxm', 'h200-sxm'];

// --- sentences ---

// Relations among figures. Two are alike ('~') if they differ by less than 5 %.
const relations = {
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
  '>=': (a, b) => a >= b,
  '<=': (a, b) => a <= b,
  '=': (a, b) => a === b,
  '~': (a, b) => Math.max(a, b) < 1.05 * Math.min(a, b) || a === b,
};
const holds = ([a, relation, b]) => relations[relation](a, b);

// The first case whose relations hold, as a claim {text, relations}: whichever([[f.slower, '>', 1.05], () => `...`], ...).
// A case is any number of relations and then a function that makes the text; without a case that holds there is no sentence.
const whichever = (...cases) => {
  for (const each of cases) {
    const given = each.slice(0, -1);
    if (given.every(holds)) return {text: each[each.length - 1](), relations: given};
  }
  return undefined;
};
const plainly = (text) => ({text, relations: []});
const fold = (ratio) => `${numberText(ratio, 3)} times`;
// Of a share so small that its digits say nothing.
const shareText = (share) => (share < 1e-5 ? '0 %' : percentOf(share));
const powerOfTwo = (exponent) => `2${superscript(exponent)}`;
// How far a loop is between two moments, from 0 to 1.
const phase = (seconds, from, to) => Math.max(0, Math.min(1, (seconds - from) / (to - from)));
const clampTo = (value, low, high) => Math.max(low, Math.min(high, Number(value) || low));

const restsOn = {
  measured: 'Evidence: such kernels were measured on this GPU.',
  related: 'Evidence: carried over from a GPU of this architecture.',
  distant: 'Evidence: carried over from another architecture.',
};

// Everything that a lesson says for a state: {figures, claims, guess, grade, refused}.
const studyOf = (it, state) => {
  const model = modelOf(state.gpu);
  const figures = it.study(state, model);
  const said = (list) => (list || []).filter(Boolean).map((each) => (typeof each === 'string' ? plainly(each) : each));
  const claims = it.counted || !model.refused ? said(it.facts?.(figures, model)) : [];
  if (model.refused) claims.push(plainly(`${model.title}: ${model.refused}.`.replace('..', '.')));
  else if (model.grade === 'datasheet') claims.push(plainly(`Of ${model.title} ridge knows only the data sheet: its kernels are not modelled, so what rests on their times is left out.`));
  else claims.push(...said(it.claims?.(figures, model)));
  const modelled = !model.refused && model.grade !== 'datasheet';
  return {figures, claims, modelled, grade: model.grade, refused: model.refused, guess: it.guess && guessOf(it.guess, figures, it.guess.counted || modelled)};
};

// Whether there is something to draw: what is counted can be drawn without a prediction, what is `timed` only where kernels are
// modelled. A chart beside a picture that is not counted shows predicted times.
const canDraw = (it, found) => !found.failed && (it.counted || (!found.refused && (found.modelled || !it.timed)));
const canChart = (it, found) => !found.failed && (it.counted || found.modelled);

// The right choice: the number of limits that its value exceeds.
const guessOf = (guess, figures, known) => {
  const value = known ? guess.value(figures) : NaN;
  if (!Number.isFinite(value)) return undefined;
  return {right: guess.limits.filter((limit) => value > limit).length, value};
};

const controlName = (control) => control.slide || control.choose || control.type;
const startsOf = (it) => Object.fromEntries((it.controls || []).map((control) => [controlName(control), String(control.start ?? control.low ?? control.of?.[0]?.[0] ?? control.of?.[0] ?? '')]));
