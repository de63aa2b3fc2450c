// The table below the charts: sorted by clicking a heading. If it would be wider than the page, or
// a column so narrow that its text takes six lines, each row becomes a card, so that no word is
// broken and nothing leaves the page. A long table shows its first rows until more are requested;
// on paper it shows all.

const compareText = new Intl.Collator('en', {numeric: true}).compare;

const rowsAtOnce = 25;
const cardsAtOnce = 10;
const tallestRow = 112;  // px: five lines; more means a column of only a few words

// Two buttons below a long table; returns the function that hides the rows not yet requested.
const pagedRows = (table) => {
  const body = table.tBodies[0];
  const holder = table.parentElement;
  const bar = htmlNode('p', 'more');
  const [next, all] = ['', ''].map(() => {
    const button = htmlNode('button');
    button.type = 'button';
    bar.append(button);
    return button;
  });
  holder.append(bar);
  let asked = 0;
  const step = () => (holder.classList.contains('cards') ? cardsAtOnce : rowsAtOnce);
  const page = () => {
    const rows = [...body.rows];
    const wanted = Math.max(asked, step());
    const shown = rows.length - wanted > step() / 2 ? wanted : rows.length;
    rows.forEach((row, i) => row.classList.toggle('later', i >= shown));
    bar.hidden = shown === rows.length;
    next.textContent = `${Math.min(step(), rows.length - shown)} more`;
    all.textContent = `All ${rows.length}`;
  };
  next.addEventListener('click', () => {
    asked = Math.max(asked, step()) + step();
    page();
  });
  all.addEventListener('click', () => {
    asked = body.rows.length;
    page();
  });
  return page;
};

const sortable = (table) => {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  const page = pagedRows(table);
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
  };
  // Empty cells come last in either direction.
  const compare = (column, sign) => (a, b) => {
    const [x, y] = [valueOf(a, column), valueOf(b, column)];
    if (x === '' || y === '') return (x === '') - (y === '');
    return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : compareText(String(x), String(y)));
  };
  headings.forEach((heading, column) => {
    const button = htmlNode('button', '', heading.textContent);
    button.type = 'button';
    heading.replaceChildren(button);
    button.addEventListener('click', () => {
      const down = heading.ariaSort === 'ascending';
      for (const other of headings) other.ariaSort = null;
      heading.ariaSort = down ? 'descending' : 'ascending';
      body.append(...[...body.rows].sort(compare(column, down ? -1 : 1)));
      page();
    });
  });
  for (const row of body.rows) {
    [...row.cells].forEach((cell, column) => (cell.dataset.label = headings[column].textContent));
  }
  const holder = table.parentElement;
  const fit = () => {
    holder.classList.remove('cards');
    page();
    const squeezed = [...table.tBodies[0].rows].some((row) => row.offsetHeight > tallestRow);
    holder.classList.toggle('cards', squeezed || table.scrollWidth > holder.clientWidth);
    page();
  };
  let width = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth === width) return;
    width = holder.clientWidth;
    requestAnimationFrame(fit);
  }).observe(holder);
  fit();
};

// A row highlights its mark, and a click on it scrolls the mark into view.
const joinRows = (views, root) => {
  for (const row of root.querySelectorAll('tbody tr[data-i]')) {
    const index = Number(row.dataset.i);
    const view = views.find((each) => each.data.marks.some((mark) => mark.item === index));
    if (!view) continue;
    const i = view.data.marks.findIndex((mark) => mark.item === index);
    row.addEventListener('pointerenter', () => view.nodes.get(i)?.classList.add('lit'));
    row.addEventListener('pointerleave', () => view.nodes.get(i)?.classList.remove('lit'));
    row.addEventListener('click', () => {
      if (!view.points.has(i)) return;
      view.figure.scrollIntoView({block: 'nearest'});
      view.show(i);
    });
  }
};

// Brings the charts and tables within `root` to life; returns the views of the charts.
let chartsSoFar = 0;
const enliven = (page, root) => {
  const figures = [...root.querySelectorAll('figure')];
  const views = page.charts.map((data, i) => new ChartView({...data, id: chartsSoFar++}, page.items, figures[i]));
  root.querySelectorAll('table').forEach(sortable);
  joinRows(views, root);
  return views;
};
