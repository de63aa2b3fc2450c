// The question of a view as a command line and as a call from Python.

const quotedForShell = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`);
const shellText = (words) => ['ridge', ...words].map(quotedForShell).join(' ');

const pythonValue = (text) => (/^-?\d+$/.test(text) ? text : JSON.stringify(text));

// {words: before the options, options: [[name, value or true], ...]}
const parsedWords = (words) => {
  const out = {words: [], options: new Map()};
  for (let i = 0; i < words.length; ++i) {
    if (!words[i].startsWith('-')) {
      out.words.push(words[i]);
      continue;
    }
    const name = words[i] === '-o' ? 'output' : words[i].slice(2).replace(/-/g, '_');
    const value = i + 1 < words.length && !words[i + 1].startsWith('--') ? words[++i] : true;
    out.options.set(name, [...(out.options.get(name) || []), value]);
  }
  return out;
};

// Commands that are functions of the package, called with the same names.
const directCalls = ['predict', 'vram', 'model', 'trace', 'plan', 'diagnose', 'validate', 'effect', 'occupancy', 'compare', 'serve', 'kernel'];

const pythonText = (words) => {
  const {words: [command, ...names], options} = parsedWords(words);
  const argument = (value) => (value === true ? 'True' : pythonValue(value));
  const keywords = [...options].map(([name, values]) =>
    `${name}=${values.length > 1 ? `[${values.map(argument).join(', ')}]` : argument(values[0])}`);
  const direct = directCalls.includes(command) && names.length === 1 && !options.has('output') && !options.has('from');
  const places = (direct ? names : [command, ...names]).map((name) => JSON.stringify(name));
  return `ridge.${direct ? command : 'command'}(${[...places, ...keywords].join(', ')})`;
};

// A button that opens both texts, each with a button that copies it.
const commandsNode = (words) => {
  const line = (name, text) => {
    const copy = button('Copy', async () => {
      await navigator.clipboard?.writeText(text);
      copy.textContent = 'Copied';
    }, {ariaLabel: `Copy ${name}`});
    return el('div', {className: 'command'}, el('span', {}, name), el('code', {}, text), copy);
  };
  return el('details', {className: 'commands'}, el('summary', {}, 'As a command and in Python'),
    line('command', shellText(words)), line('Python', `import ridge; ${pythonText(words)}`));
};
