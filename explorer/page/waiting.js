// Work of the worker as a place in the page: progress and a button that cancels, then the answer.
//
//   const work = workIn(place, {what: 'trace.json', stay: true});
//   work.run(async (ask) => pageOrProblem(await ask(['plan', 'llama-3.1-8b', '-o', 'plan.html'])));
//
// The function asks the worker as often as it needs and returns nodes. A new `run` takes the place of the one before. With `stay`, the last answer remains, pale, until the next is there.

const stepTexts = {unpacking: 'Unpacking', reading: 'Reading', judging: 'Working', waiting: 'Waiting for its turn', working: 'Working'};

const workIn = (place, {what = '', stay = false} = {}) => {
  let current;
  const run = async (nodesOf) => {
    current?.abort();
    const control = current = new AbortController();
    const note = waitingNote(what, () => control.abort());
    // What answers at once shows no progress.
    const show = setTimeout(() => {
      if (stay) place.prepend(note.node);
      else place.replaceChildren(note.node);
    }, 200);
    if (stay) place.classList.add('stale');
    let nodes;
    try {
      nodes = await nodesOf((words) => engine.later(words, {progress: note.tell, signal: control.signal}));
    } catch (error) {
      if (control !== current) return;  // another took its place
      nodes = [error.name === 'AbortError' ? el('p', {className: 'hint'}, 'Cancelled. ', button('Start again', () => run(nodesOf))) : problem(error.message)];
    } finally {
      clearTimeout(show);
      note.end();
    }
    if (control !== current) return;
    place.replaceChildren(...[nodes].flat(Infinity).filter(Boolean));
    place.classList.remove('stale');
    place.dataset.answered = String(Number(place.dataset.answered || 0) + 1);  // for tests
  };
  return {run, cancel: () => current?.abort()};
};

const waitingNote = (what, cancel) => {
  const start = performance.now();
  const bar = el('progress', {ariaLabel: what ? `Progress of ${what}` : 'Progress'});
  const text = el('span', {});
  let step = 'working';
  const write = () => {
    const seconds = Math.round((performance.now() - start) / 1000);
    text.textContent = `${stepTexts[step] || step}${what ? ` on ${what}` : ''}${bar.hasAttribute('value') ? `, ${Math.round(100 * bar.value)} %` : ''}${seconds ? `, ${seconds} s` : ''}`;
  };
  const clock = setInterval(write, 500);
  write();
  return {
    node: el('div', {className: 'waiting'}, bar, text, button('Cancel', cancel)),
    tell(told) {
      step = told.step;
      if (told.share === undefined) bar.removeAttribute('value');
      else bar.value = Math.min(1, told.share);
      write();
    },
    end() {
      clearInterval(clock);
      this.node.remove();
    },
  };
};

// The answer of a command that writes a page, as nodes; its message where there is no page.
const pageOrProblem = (answer) => {
  if (answer.page === undefined) throw new Error(messageOf(answer));
  return [pageNodes(answer.page)];
};

// Tables of Markdown as tables of the page; other lines as paragraphs.
const nodesOfMarkdown = (text) => {
  const nodes = [];
  let rows = [];
  const flush = () => {
    if (!rows.length) return;
    const cells = rows.map((row) => row.replace(/^\|\s?|\s?\|\s*$/g, '').split(/(?<!\\)\s?\|\s?/).map((cell) => cell.replace(/\\\|/g, '|').trim()));
    const numeric = cells[1].map((cell) => cell.endsWith(':'));
    const row = (kind, list) => el('tr', {}, list.map((cell, i) => el(kind, {className: numeric[i] ? 'number' : '', ...(kind === 'th' ? {scope: 'col'} : {})}, cell)));
    nodes.push(el('div', {className: 'table', tabIndex: 0}, el('table', {}, el('thead', {}, row('th', cells[0])), el('tbody', {}, cells.slice(2).map((list) => row('td', list))))));
    rows = [];
  };
  let words = [];
  const say = () => {
    if (words.length) nodes.push(el('p', {className: 'hint'}, words.join(' ')));
    words = [];
  };
  for (const line of text.split('\n')) {
    if (line.startsWith('|')) {
      say();
      rows.push(line);
      continue;
    }
    flush();
    if (line.trim()) words.push(line.trim());
    else say();
  }
  flush();
  say();
  return nodes;
};
