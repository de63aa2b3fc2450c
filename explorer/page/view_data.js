// My data: files of one's own, read and judged by the worker as the command line does.

views.data = {
  title: 'My data',
  lead: 'Drop a trace of the PyTorch profiler (.json or .json.gz), a report of Nsight Compute (.csv), records of ridge (.jsonl or .jsonl.gz) or a table of shapes and times (.csv). The files stay on this computer.',
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
    }}, labelled('Choose files, or drop them here', input), el('div', {className: 'chips'}, el('span', {className: 'hint'}, 'Without a file at hand:'), button('a table of six times', () => open([new File([exampleTimes], 'example.csv')]))));
    root.append(el('div', {className: 'controls row'}, gpuChoice('GPU of files that name none', state.gpu, (gpu) => change({gpu}))), zone, results);
    return () => {
      for (const own of ownFiles) own.answer(state.gpu);
    };
  },
};

const exampleTimes = `name,op,m,n,k,seq,heads,kv_heads,head_dim,rows,cols,dtype,time_us,calls
qkv,matmul,4096,6144,4096,,,,,,,bf16,281,32
gate and up,matmul,4096,28672,4096,,,,,,,bf16,1280,32
down,matmul,4096,4096,14336,,,,,,,bf16,1340,32
attention,attention,,,,4096,32,8,128,,,bf16,418,32
norm,rmsnorm,,,,,,,,4096,4096,bf16,26,64
scores in fp32,softmax,,,,,,,,32768,4096,fp32,900,2
`;

// What a file can be asked, by what it holds; the first is asked at once. `page` commands write a page to -o, the others a table.
const questionsAbout = (name, head) => {
  const diagnose = {title: 'What is slow, and why', page: true, words: (gpu) => ['diagnose', name, ...gpu]};
  const trace = {title: 'The program, kernel by kernel', page: true, words: (gpu) => ['trace', name, ...gpu]};
  const validate = {title: 'How far ridge is off', words: (gpu) => ['validate', name, ...gpu], chart: (gpu) => ['plot', 'scatter', name, ...gpu]};
  const predict = {title: 'What each row should take', words: (gpu) => ['predict', '--from', name, ...gpu], needsGpu: true};
  if (/\.jsonl$/.test(name)) return [diagnose, validate];
  if (/"traceEvents"|"schemaVersion"/.test(head) || /\.(json|ridge)$/.test(name) || /Kernel Name/.test(head)) return [diagnose, trace];
  const timed = /(^|[,\t])"?(measured_)?(time|duration|latency)?_?(ns|us|ms|s|time|duration|latency)"?([,\t]|\r?$)/im.test(head.split('\n')[0] || '');
  return timed ? [diagnose, validate, predict] : [predict];
};

// Why a file that the command line reads has no answer here.
const refusalOf = (name, head) => {
  if (!/^SQLite format 3/.test(head)) return undefined;
  return [problem('A report of Nsight Systems is a database of SQLite, which this page does not hold. The program reads it, with the same answer as for a trace:'), commandsNode(['trace', name])];
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
const asksForGpu = (answer) => answer.code !== 0 && /give --gpu NAME/.test(answer.messages);

const answerAbout = async (question, gpu, ask) => {
  const form = question.page ? ['-o', 'page.html'] : ['--format', 'md'];
  let words = question.words([]);
  let answer = await ask([...words, ...form]);
  if (asksForGpu(answer)) {
    words = question.words(['--gpu', gpu]);
    answer = await ask([...words, ...form]);
  }
  const told = answer.page === undefined && !answer.output.trim();
  if (told) return [problem(messageOf(answer)), commandsNode(words)];
  const nodes = answer.page !== undefined ? [pageNodes(answer.page)] : nodesOfMarkdown(answer.output);
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
