// The address of the page is its state: #VIEW?NAME=VALUE&... A view is
//
//   {title, lead, defaults: {name: value}, build(root, state, change) -> draw}
//
// `build` makes the controls once, and `draw` answers for the state. `change({name: value})` writes
// the address and draws with the next frame; with `rebuild` the controls are made anew.

const views = {};

const explorer = {
  name: undefined,
  state: {},
  draw: () => {},
  drawn: 0,     // draws so far, for tests
  lastMs: 0,    // time from the start of the last draw to its end
  pending: 0,
  writing: undefined,

  read(address = location.hash) {
    clearTimeout(this.writing);
    const [name, query] = address.slice(1).split('?');
    this.name = views[name] ? name : Object.keys(views)[0];
    this.state = {...views[this.name].defaults, ...Object.fromEntries(new URLSearchParams(query || ''))};
  },

  address() {
    const usual = views[this.name].defaults;
    const words = new URLSearchParams(Object.entries(this.state).filter(([name, value]) => value !== undefined && value !== (usual[name] ?? '')));
    const query = words.toString();
    return `#${this.name}${query ? '?' + query : ''}`;
  },

  change(values, {rebuild = false} = {}) {
    Object.assign(this.state, values);
    // Browsers ignore addresses that are written more than a few times a second.
    clearTimeout(this.writing);
    this.writing = setTimeout(() => history.replaceState(null, '', this.address()), 200);
    if (rebuild) this.show();
    else this.request();
  },

  request() {
    if (!this.pending) this.pending = requestAnimationFrame(() => this.redraw());
  },

  redraw() {
    this.pending = 0;
    const start = performance.now();
    this.draw();
    this.lastMs = performance.now() - start;
    ++this.drawn;
  },

  show() {
    const view = views[this.name];
    const root = document.getElementById('view');
    document.title = `${view.title}: ridge explorer`;
    for (const link of document.querySelectorAll('#views a')) {
      if (link.hash.slice(1) === this.name) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    const focused = document.activeElement?.id;
    root.replaceChildren(el('h1', {}, view.title), el('p', {className: 'lead'}, view.lead));
    idsGiven = 0;
    this.draw = view.build(root, this.state, (values, options) => this.change(values, options));
    if (focused) document.getElementById(focused)?.focus();
    this.redraw();
  },
};

// Runs `work` and puts what it returns into `place`; a refusal of the program becomes its message.
const fill = (place, work) => {
  try {
    place.replaceChildren(...[work()].flat(Infinity).filter(Boolean));
    place.classList.remove('stale');
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    place.replaceChildren(problem(error.message));
  }
};

// A chart page of the program, as nodes that live in this page.
const pageNodes = (html) => {
  const page = new DOMParser().parseFromString(html, 'text/html');
  const holder = el('div', {className: 'page'}, ...page.querySelector('main').childNodes);
  const data = page.getElementById('data');
  requestAnimationFrame(() => data && enliven(JSON.parse(data.textContent), holder));
  return holder;
};

const begin = async () => {
  const nav = document.getElementById('views');
  for (const [name, view] of Object.entries(views)) nav.append(el('a', {href: `#${name}`}, view.title));
  await engine.start();
  addEventListener('hashchange', () => {
    explorer.read();
    explorer.show();
  });
  explorer.read();
  explorer.show();
  document.documentElement.classList.add('ready');
};
