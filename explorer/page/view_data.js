// My data: files of one's own, read and judged by the worker as the command line does.

views.data = {
  title: 'My data',
  lead: 'Drop a table of shapes and times (.csv), a trace of the PyTorch profiler (.json, .json.gz), a report of Nsight Compute (.csv), records of ridge (.jsonl, .jsonl.gz), a model\'s config.json or the code of a kernel (.sass). The files stay on this computer.',
  defaults: {gpu: 'h100-sxm'},

  build(root, state, change) {
    const results = el('div', {}, ownFiles.map((own) => own.section));
    const open = async (files) => {
      for (const file of files) {
        const own = await ownFile(file);
        results.prepend(own.section);
        own.answer(state.gpu);
      }
    };
    const input = el('input', {type: 'file', id: freshId(), multiple: true, onchange: () => {
      open([...input.files]);
      input.value = '';  // so that the same file can be chosen again after it has changed
    }});
    const zone = el('div', {className: 'drop', ondragover: (event) => {
      event.preventDefault();
      zone.classList.add('over');
    }, ondragleave: () => zone.classList.remove('over'), ondrop: (event) => {
      event.preventDefault();
      zone.classList.remove('over');
      open([...event.dataTransfer.files]);
    }}, labelled('Choose files, or drop them here', input), el('div', {className: 'chips'}, el('span', {className: 'hint'}, 'Without a file at hand:'), button('a table of six times', () => open([new File([document.getElementById('example').textContent], 'times.csv')]))));
    root.append(el('div', {className: 'controls row'}, gpuChoice('GPU of files that name none', state.gpu, (gpu) => change({gpu}))), zone, results);
    return () => {
      for (const own of ownFiles) own.answer(state.gpu);
    };
  },
};


// What a file can be asked, by what it holds; the first is asked at once. `page` commands write a page to -o, the others a table.
const questionsAbout = (name, head) => {
  const diagnose = {title: 'What is slow, and why', page: true, words: (gpu) => ['diagnose', name, ...gpu]};
  const trace = {title: 'The program, kernel by kernel', page: true, words: (gpu) => ['trace', name, ...gpu]};
  const validate = {title: 'How far ridge is off', words: (gpu) => ['validate', name, ...gpu], chart: (gpu) => ['plot', 'scatter', name, ...gpu]};
  const predict = {title: 'What each row should take', words: (gpu) => ['predict', '--from', name, ...gpu], needsGpu: true};
  const about = (title, words) => ({title, words: (gpu) => [...words, ...gpu], needsGpu: true});
  if (/\.jsonl$/.test(name)) return [diagnose, validate];
  if (/\.sass$/.test(name) || /Function : |\.section\s+\.text\./.test(head)) return [{...about('What the code costs', ['kernel', name]), plain: true}];
  if (/"(model_type|architectures|hidden_size)"/.test(head)) return [{...about('On how many GPUs, and how fast', ['plan', name]), page: true}, {...about('A step', ['model', name]), page: true}];
  if (/"traceEvents"|"schemaVersion"/.test(head) || /\.(json|ridge|pb)$/.test(name) || /Kernel.Name/.test(head)) return [diagnose, trace];
  const timed = /(^|[,\t])"?(measured_)?(time|duration|latency)?_?(ns|us|ms|s|time|duration|latency)"?([,\t]|\r?$)/im.test(head.split('\n')[0] || '');
  return timed ? [diagnose, validate, predict] : [predict];
};

// Why a file that the command line reads has no answer here, and what to do: [how it is known, the reason, a command of another program, ridge's command].
const refusals = [
  [/^SQLite format 3/, undefined, 'A report of Nsight Systems is a database of SQLite, which this page does not hold. The program reads it, with the same answer as for a trace:', undefined, (name) => ['trace', name]],
  [undefined, /\.nsys-rep$/, 'Only Nsight Systems reads its own reports. Write a database, which the program reads:', (name) => `nsys export --type sqlite ${name}`, (name) => ['trace', name.replace(/nsys-rep$/, 'sqlite')]],
  [undefined, /\.ncu-rep$/, 'Only Nsight Compute reads its own reports. Write its table and drop that here; where `ncu` is installed, the program does so itself:', (name) => `ncu --import ${name} --csv --page raw > ${name.replace(/ncu-rep$/, 'csv')}`, (name) => ['trace', name]],
  [/^\x7fELF/, undefined, 'Machine code in a binary needs the disassembler of the CUDA Toolkit. Write it as text and drop that here; where it is installed, the program does so itself:', (name) => `nvdisasm -hex ${name} > ${name.replace(/\.\w+$/, '')}.sass`, (name) => ['kernel', name]],
];
const refusalOf = (name, head) => {
  const found = refusals.find(([begins, ends]) => begins?.test(head) || ends?.test(name));
  if (!found) return undefined;
  const [, , why, other, own] = found;
  return [problem(why), other ? el('pre', {tabIndex: 0}, other(name)) : '', commandsNode(own(name))];
};

const ownFiles = [];  // they outlive the view

const ownFile = async (file) => {
  const name = file.name.replace(/[^\w.-]+/g, '-').replace(/\.gz$/, '');
  const old = ownFiles.findIndex((each) => each.name === name);
  if (old >= 0) ownFiles.splice(old, 1)[0].remove();
  await engine.keep(name, file);
  const head = await headOf(file).catch(() => '');
  const questions = questionsAbout(name, head);
  const refusal = refusalOf(name, head);
  const tabs = el('div', {className: 'chips', role: 'group', ariaLabel: `Questions about ${file.name}`});
  const place = el('div', {role: 'region', ariaLabel: `Answer about ${file.name}`});
  const work = workIn(place, {what: file.name, stay: true});
  const own = {name, gpu: undefined, question: undefined, section: undefined,
    remove() {
      work.cancel();
      own.section.remove();
      if (ownFiles.includes(own)) ownFiles.splice(ownFiles.indexOf(own), 1);
    },
    answer(gpu, question = own.question || questions[0]) {
      if (own.gpu === gpu && own.question === question) return;
      Object.assign(own, {gpu, question});
      for (const [i, node] of [...tabs.children].entries()) node.setAttribute('aria-pressed', String(questions[i] === question));
      if (refusal) place.replaceChildren(...refusal);
      else work.run((ask) => answerAbout(question, gpu, ask));
    }};
  if (questions.length > 1 && !refusal) tabs.append(...questions.map((question) => button(question.title, () => own.answer(own.gpu, question))));
  own.section = el('section', {className: 'own'}, el('div', {className: 'head'}, el('h2', {}, file.name), button('Remove', () => own.remove(), {ariaLabel: `Remove ${file.name}`})), questions.length > 1 ? tabs : '', place);
  ownFiles.unshift(own);
  return own;
};

// Files that name their GPU are judged on it; the chosen one is given only where the program asks for one.
const asksForGpu = (answer) => answer.code !== 0 && /give --gpu NAME|GPU is missing|gpu is missing/.test(answer.messages);

const answerAbout = async (question, gpu, ask) => {
  const form = question.page ? ['-o', 'page.html'] : question.plain ? [] : ['--format', 'md'];
  let words = question.words(question.needsGpu ? ['--gpu', gpu] : []);
  let answer = await ask([...words, ...form]);
  if (asksForGpu(answer)) {
    words = question.words(['--gpu', gpu]);
    answer = await ask([...words, ...form]);
  }
  const told = answer.page === undefined && !answer.output.trim();
  if (told) return [problem(messageOf(answer)), commandsNode(words)];
  const nodes = answer.page !== undefined ? [pageNodes(answer.page)] : question.plain ? [el('pre', {tabIndex: 0}, answer.output)] : nodesOfMarkdown(answer.output);
  const warnings = answer.messages.split('\n').filter((line) => line.trim() && !line.startsWith('wrote ')).map((line) => line.replace(/^ridge(?: [a-z]+)?: /, ''));
  if (question.chart) nodes.unshift(await chartAbout(question.chart(words.slice(question.words([]).length)), ask));
  const text = question.page ? await ask(words) : undefined;
  return [warnings.length ? el('details', {}, el('summary', {}, `${warnings.length} ${warnings.length === 1 ? 'remark' : 'remarks'} of the reader`), el('pre', {tabIndex: 0}, warnings.join('\n'))) : '',
    ...nodes, text?.output.trim() ? el('details', {}, el('summary', {}, 'As text'), el('pre', {tabIndex: 0}, text.output)) : '', commandsNode(words)];
};

// A chart of a command that writes its data to -o.
const chartAbout = async (words, ask) => {
  const answer = await ask([...words, '-o', 'chart.json']);
  if (answer.page === undefined) return '';
  const {charts, items} = JSON.parse(answer.page);
  const figure = el('figure');
  requestAnimationFrame(() => new ChartView(charts[0], items, figure));
  return figure;
};
