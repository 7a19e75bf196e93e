// SPDX-License-Identifier: Apache-2.0
'use strict';
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  root.classList.add('js');

  // The heat map's cells are one byte each: 0 no record, else an excess on a logarithmic scale.
  const heat = byId('heat-data') ? JSON.parse(byId('heat-data').textContent) : null;
  const excessOf = (code) => heat.unit * (Math.pow(2, (code - 1) / heat.octave) - 1);

  const decode = (text) => {
    const bytes = atob(text), codes = new Uint8Array(bytes.length);
    for (let i = 0; i < bytes.length; ++i) codes[i] = bytes.charCodeAt(i);
    return codes;
  };

  const colour = (name) => {
    const hex = parseInt(getComputedStyle(root).getPropertyValue(name).trim().slice(1), 16);
    return [hex >> 16, (hex >> 8) & 255, hex & 255];
  };

  const palette = () => {
    const ramp = [0, 1, 2, 3, 4, 5].map((i) => colour('--heat' + i)), colours = new Uint8ClampedArray(256 * 4);
    for (let code = 1; code < 256; ++code) {
      const share = (excessOf(code) - heat.least) / (heat.most - heat.least);
      const at = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
      const low = Math.min(Math.floor(at), ramp.length - 2);
      for (let c = 0; c < 3; ++c) colours[4 * code + c] = ramp[low][c] + (at - low) * (ramp[low + 1][c] - ramp[low][c]);
      colours[4 * code + 3] = 255;
    }
    return colours;
  };

  // Which cells a pixel stands for: all that it covers, so that a single cell is never lost, or the one that covers it.
  const cellsOf = (pixels, cells) => {
    const spans = [];
    for (let p = 0; p < pixels; ++p) {
      if (cells <= pixels) {
        const cell = Math.min(cells - 1, Math.floor((p + 0.5) * cells / pixels));
        spans.push([cell, cell + 1]);
      } else {
        const first = Math.floor(p * cells / pixels);
        spans.push([first, Math.max(first + 1, Math.ceil((p + 1) * cells / pixels))]);
      }
    }
    return spans;
  };

  const drawHeat = (canvas) => {
    const box = canvas.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(box.width * scale)), height = Math.max(1, Math.round(box.height * scale));
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext('2d'), image = context.createImageData(width, height);
    const colours = palette(), across = cellsOf(width, heat.columns), down = cellsOf(height, heat.rows);
    const gap = height / heat.rows >= 10 * scale ? [...colour('--surface'), 255] : null;
    for (let y = 0; y < height; ++y) {
      if (gap && y > 0 && down[y][0] !== down[y - 1][0]) {
        for (let x = 0; x < width; ++x) image.data.set(gap, 4 * (y * width + x));
        continue;
      }
      for (let x = 0; x < width; ++x) {
        let code = 0;
        for (let r = down[y][0]; r < down[y][1]; ++r) {
          for (let c = across[x][0]; c < across[x][1]; ++c) code = Math.max(code, heat.codes[r * heat.columns + c]);
        }
        image.data.set(colours.subarray(4 * code, 4 * code + 4), 4 * (y * width + x));
      }
    }
    context.putImageData(image, 0, 0);
  };

  const hostOf = (rank) => {
    for (const [ranks, host] of heat.runs) {
      if (rank < ranks) return heat.hosts[host];
      rank -= ranks;
    }
    return '';
  };

  const range = (first, last) => first === last ? String(first) : first + '\u2013' + last;

  const describe = (row, column) => {
    const first = row * heat.ranks_per_row, last = Math.min(heat.ranks, first + heat.ranks_per_row) - 1;
    const step = heat.first_step + column * heat.steps_per_column;
    const end = Math.min(step + heat.steps_per_column - 1, heat.last_step);
    const hosts = hostOf(first) === hostOf(last) ? hostOf(first) : hostOf(first) + ' \u2026 ' + hostOf(last);
    const code = heat.codes[row * heat.columns + column], excess = 100 * (code ? excessOf(code) : 0);
    const found = code === 0 ? 'no record' : code === 1 ? 'not above its peers' : '+' + excess.toFixed(1) + ' % over its peers';
    return (first === last ? 'rank ' : 'ranks ') + range(first, last) + (hosts ? ' on ' + hosts : '') + ', ' +
      (step === end ? 'step ' : 'steps ') + range(step, end) + ': ' + found;
  };

  const startHeat = () => {
    const canvas = byId('heat'), readout = byId('heat-readout'), idle = readout.textContent;
    heat.codes = decode(heat.codes);
    canvas.addEventListener('pointermove', (event) => {
      const box = canvas.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top) / box.height * heat.rows);
      const column = Math.floor((event.clientX - box.left) / box.width * heat.columns);
      if (row < 0 || column < 0 || row >= heat.rows || column >= heat.columns) return;
      readout.textContent = describe(row, column);
    });
    canvas.addEventListener('pointerleave', () => { readout.textContent = idle; });
    drawHeat(canvas);
    new ResizeObserver(() => drawHeat(canvas)).observe(canvas);
  };

  const startTheme = () => {
    const button = byId('theme'), dark = window.matchMedia('(prefers-color-scheme: dark)');
    const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark' : dark.matches;
    const show = () => {
      button.textContent = isDark() ? 'Light' : 'Dark';
      if (heat) drawHeat(byId('heat'));
    };
    button.addEventListener('click', () => {
      root.dataset.theme = isDark() ? 'light' : 'dark';
      show();
    });
    dark.addEventListener('change', show);
    show();
  };

  // Says the value of the nearest point while the pointer is over a chart.
  const startChart = (figure) => {
    const svg = figure.querySelector('svg'), output = figure.querySelector('output');
    const cross = figure.querySelector('.cross');
    const steps = svg.dataset.steps.split(',').map(Number), values = svg.dataset.values.split(',').map(Number);
    const [left, right, first, last] = svg.dataset.x.split(',').map(Number);
    svg.addEventListener('pointermove', (event) => {
      const box = svg.getBoundingClientRect();
      const at = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      const step = first + (at - left) / (right - left) * (last - first);
      let best = 0;
      for (let i = 1; i < steps.length; ++i) if (Math.abs(steps[i] - step) < Math.abs(steps[best] - step)) best = i;
      const x = last > first ? left + (steps[best] - first) / (last - first) * (right - left) : (left + right) / 2;
      cross.setAttribute('x1', x);
      cross.setAttribute('x2', x);
      cross.setAttribute('visibility', 'visible');
      output.textContent = 'step ' + steps[best] + ': ' + Number(values[best].toPrecision(4)).toLocaleString('en');
    });
    svg.addEventListener('pointerleave', () => {
      cross.setAttribute('visibility', 'hidden');
      output.textContent = '';
    });
  };

  const keyOf = (row, column) => {
    const text = row.cells[column].dataset.value ?? row.cells[column].textContent;
    const value = text === '' ? NaN : Number(text);
    return Number.isNaN(value) ? text : value;
  };

  const sortTable = (table, column) => {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    const down = heads[column].getAttribute('aria-sort') !== 'descending';
    const rows = [...body.rows].map((row) => [keyOf(row, column), row]);
    const missing = (key) => key === '' ? 1 : 0;
    rows.sort(([a], [b]) => missing(a) - missing(b) || (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    heads.forEach((head, i) => i === column ? head.setAttribute('aria-sort', down ? 'descending' : 'ascending')
                                            : head.removeAttribute('aria-sort'));
    body.append(...rows.map(([, row]) => row));
  };

  const startTable = (table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener('click', () => sortTable(table, column));
    });
  };

  if (heat) startHeat();
  startTheme();
  document.querySelectorAll('figure.chart').forEach(startChart);
  document.querySelectorAll('table.sortable').forEach(startTable);
})();
