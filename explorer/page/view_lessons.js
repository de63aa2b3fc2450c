// The view of lessons: the list of all, or one lesson with its question, picture, sliders, chart and sentences.

views.lessons = {
  title: 'Lessons',
  lead: 'Why GPUs are fast or slow, one question at a time. Guess, then move a slider.',
  defaults: {gpu: 'h100-sxm', lesson: ''},

  build(root, state, change) {
    const it = lessons[state.lesson];
    return it ? buildLesson(root, it, state, change) : buildList(root, state, change);
  },
};

const linkToLesson = (name, gpu, text) => el('a', {href: `#lessons?lesson=${name}${gpu === 'h100-sxm' ? '' : `&gpu=${gpu}`}`}, text);

const buildList = (root, state, change) => {
  root.append(el('div', {className: 'lesson-bar'}, gpuChoice('GPU', state.gpu, (gpu) => change({gpu}, {rebuild: true}))),
    el('div', {className: 'lesson-list'}, lessonParts.map(([part, names]) => el('section', {}, el('h2', {}, part),
      el('ul', {}, names.filter((name) => lessons[name]).map((name) => el('li', {}, linkToLesson(name, state.gpu, lessons[name].title), el('span', {}, lessons[name].question))))))));
  return () => {};
};

const buildLesson = (root, it, state, change) => {
  root.querySelector('.lead')?.remove();
  for (const [name, value] of Object.entries(startsOf(it))) state[name] ??= value;
  const shown = lessonNames.filter((name) => lessons[name]);
  const at = shown.indexOf(it.name);
  const others = Object.fromEntries([...Object.keys(startsOf(it)), 'guess'].map((name) => [name, undefined]));
  const go = (name) => change({...others, lesson: name}, {rebuild: true});
  const touch = (values) => change({...values, guess: state.guess ?? 'moved'});
  const place = (className) => el('div', {className});
  const [guess, sentences, numbers] = [place('guess'), place('sentences'), place('numbers')];
  const stage = stageOf(it, state, touch);
  root.append(
    el('div', {className: 'lesson-bar'},
      groupedChoice('Lesson', it.name, go),
      gpuChoice('GPU', state.gpu, (gpu) => change({gpu})),
      el('div', {className: 'steps'}, button('‹', () => go(shown[(at + shown.length - 1) % shown.length]), {ariaLabel: 'Previous lesson'}), button('›', () => go(shown[(at + 1) % shown.length]), {ariaLabel: 'Next lesson'}), el('a', {href: '#lessons'}, 'All'))),
    el('div', {className: 'lesson'},
      el('h2', {className: 'question'}, it.question), guess,
      el('div', {className: 'lesson-stage'},
        el('div', {className: 'picture-side'}, stage.picture, controlsOf(it, state, touch, stage), numbers),
        el('div', {className: 'chart-side'}, stage.chart, sentences)),
      depthOf(it, state)));
  return () => {
    const found = lessonFound(it, state);
    fillGuess(guess, it, state, change);
    fillSentences(sentences, it, found, state);
    numbers.replaceChildren(...(it.numbers ? [figuresOf(it.numbers(found.figures))] : []));
    stage.show(found);
  };
};

const lessonFound = (it, state) => {
  try {
    return studyOf(it, state);
  } catch (error) {
    if (!(error instanceof Error) || error instanceof TypeError || error instanceof ReferenceError) throw error;
    return {claims: [plainly(error.message)], failed: true};
  }
};

const groupedChoice = (label, value, change) => {
  const select = el('select', {id: freshId(), onchange: () => change(select.value)}, lessonParts.map(([part, names]) => {
    const group = el('optgroup', {label: part}, names.filter((name) => lessons[name]).map((name) => el('option', {value: name, selected: name === value}, lessons[name].title)));
    return group;
  }));
  return labelled(label, select);
};

// The guess: buttons until one is chosen, then what is right for this chip.
const fillGuess = (place, it, state, change) => {
  const {guess} = it;
  const right = guess && lessonFound(it, {...state, ...startsOf(it)}).guess;
  const chosen = /^\d+$/.test(state.guess || '') ? Number(state.guess) : undefined;
  if (!right) return place.replaceChildren();
  if (state.guess === undefined) {
    return place.replaceChildren(el('div', {className: 'chips', role: 'group', ariaLabel: 'Your guess'}, guess.choices.map((text, i) => button(text, () => change({guess: String(i)})))));
  }
  const isRight = chosen === right.right;
  place.replaceChildren(el('p', {className: `reveal ${isRight ? 'right' : ''}`, role: 'status'},
    chosen === undefined ? '' : isRight ? '✓ Right: ' : `✗ Not ${guess.choices[chosen]}: `, el('strong', {}, guess.told ? guess.told(right.value) : guess.choices[right.right]), '.'));
};

const fillSentences = (place, it, found, state) => {
  const hidden = state.guess === undefined && it.guess && found.guess;
  place.replaceChildren(...(hidden ? [el('p', {className: 'hint'}, 'Guess above, or move a slider.')] : found.claims.map((claim) => el('p', {}, claim.text))),
    ...(found.modelled && found.grade && !hidden ? [el('p', {className: 'hint'}, restsOn[found.grade])] : []));
};

const controlsOf = (it, state, touch, stage) => {
  const one = (control) => {
    const name = controlName(control);
    if (control.type) return textBox(control.name, state[name], (value) => touch({[name]: value}));
    if (control.slide) {
      const make = control.doubling ? slider : fineSlider;
      return make(control.name, state[name], {low: control.low, high: control.high, change: (value) => touch({[name]: value}), help: control.help, size: control.text ? (value) => control.text(value) : String});
    }
    return choice(control.name, state[name], control.of, (value) => touch({[name]: value}));
  };
  return el('div', {className: 'lesson-controls', role: 'group', ariaLabel: 'Controls of the picture'}, stage.player, (it.controls || []).map(one));
};

// A slider on which every whole number has its step.
const fineSlider = (name, value, {low, high, change, size = String}) => {
  const box = el('input', {type: 'text', inputMode: 'numeric', className: 'exact', id: freshId(), value, spellcheck: false, autocomplete: 'off'});
  const range = el('input', {type: 'range', min: low, max: high, step: 1, value});
  range.setAttribute('aria-label', `${name}, slider`);
  const say = () => range.setAttribute('aria-valuetext', size(Number(box.value)));
  say();
  range.addEventListener('input', () => {
    box.value = range.value;
    say();
    change(range.value);
  });
  box.addEventListener('input', () => {
    range.value = box.value;
    change(box.value.trim());
  });
  return el('div', {className: 'control sliding'}, el('label', {htmlFor: box.id}, name), box, range);
};

// Picture and chart of a lesson, drawn anew when a figure changes, and with every frame while the picture moves.
const stageOf = (it, state, touch) => {
  const canvas = el('canvas', {className: 'lesson-picture', role: 'img'});
  const chart = el('canvas', {className: 'lesson-chart', role: 'img'});
  const still = typeof matchMedia === 'function' && matchMedia('(prefers-reduced-motion: reduce)').matches;
  const clock = {seconds: it.poster ?? 0, moving: Boolean(it.seconds) && !still, last: 0};
  let found;
  const draw = () => {
    if (!found || !canvas.isConnected) return;
    canvas.hidden = !canDraw(it, found);
    if (canvas.hidden) return;
    const width = canvas.clientWidth || 600;
    it.draw(penOf(canvas, it.height(width, found.figures)), found.figures, clock.seconds);
  };
  const frame = (now) => {
    if (!canvas.isConnected) return;
    if (clock.moving) {
      clock.seconds = (clock.seconds + Math.min(0.1, (now - (clock.last || now)) / 1000)) % it.seconds;
      draw();
    }
    clock.last = now;
    requestAnimationFrame(frame);
  };
  const redraw = () => {
    draw();
    drawChartOf(chart, it, found, state, touch);
  };
  if (typeof ResizeObserver === 'function') new ResizeObserver(redraw).observe(canvas);
  darkQuery.addEventListener?.('change', redraw);
  requestAnimationFrame(frame);
  return {
    picture: canvas, chart, player: it.seconds ? playerOf(it, clock, draw) : '',
    show(next) {
      found = next;
      if (canDraw(it, found)) canvas.setAttribute('aria-label', it.tell(found.figures));
      redraw();
    },
  };
};

const drawChartOf = (canvas, it, found, state, touch) => {
  const chart = found && canChart(it, found) && it.chart?.(found.figures, modelOf(state.gpu));
  canvas.hidden = !chart;
  if (!chart || !canvas.isConnected) return;
  canvas.setAttribute('aria-label', `Chart: ${chart.title}`);
  const width = canvas.clientWidth || 400;
  drawChart(penOf(canvas, chartHeight(chart, width)), chart);
  canvas.classList.toggle('draggable', Boolean(chart.drag));
  if (!chart.drag) return;
  const move = (event) => {
    if (event.type === 'pointermove' && !event.buttons) return;
    const value = String(Math.round(chart.frame.back(event.offsetX)));
    const control = it.controls.find((each) => each.slide === chart.drag);
    const box = document.querySelector(`.lesson-controls [aria-label="${control.name}, slider"]`).closest('.control').querySelector('.exact');
    box.value = String(Math.min(control.high, Math.max(control.low, value)));
    box.dispatchEvent(new Event('input'));
    touch({[chart.drag]: box.value});
  };
  canvas.onpointerdown = move;
  canvas.onpointermove = move;
};

// Plays and stops the picture; a slider steps through it.
const playerOf = (it, clock, draw) => {
  const text = () => (clock.moving ? '❚❚ Pause' : '▶ Play');
  const play = button(text(), () => {
    clock.moving = !clock.moving;
    play.textContent = text();
  }, {className: 'play'});
  const step = button('Step', () => {
    clock.moving = false;
    play.textContent = text();
    clock.seconds = (clock.seconds + (it.step || it.seconds / 24)) % it.seconds;
    draw();
  });
  return el('div', {className: 'player'}, play, step);
};

const depthOf = (it, state) => {
  const body = el('div', {className: 'depth-body'});
  const fillIt = () => {
    const words = [it.effect && ['effect', it.effect, '--gpu', state.gpu], ...(it.commands?.(state) || [])].filter(Boolean);
    body.replaceChildren(...(it.depth || []).map((text) => (Array.isArray(text) ? el('pre', {tabIndex: 0}, text.join('\n')) : el('p', {}, text))), ...words.map(commandsNode));
  };
  const details = el('details', {className: 'depth', ontoggle: () => details.open && fillIt()}, el('summary', {}, 'More'), body);
  return it.depth || it.effect || it.commands ? details : '';
};
