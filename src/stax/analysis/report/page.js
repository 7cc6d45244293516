"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures");
  const details = read("details");
  const archives = details.policies;
  const coarse = window.matchMedia("(pointer: coarse)").matches;
  const plots = [];

  // Plots

  const escaped = (words) => words.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
  const parent = (archive, row) => (archive.parent[row] < 0 ? "none" : String(archive.parent[row]));
  const hover = (archive, row) => {
    const area = archive.area[row];
    const reward = area ? `reward ${archive.reward[row]}, ${escaped(area.slice(0, 40))}` : "no reward";
    return `policy ${archive.id[row]}<br>${reward}<br>parent ${parent(archive, row)}<br>${origin(archive, row)}`;
  };
  const origin = (archive, row) =>
    archive.emitter[row] < 0 ? archive.origin[row] : `${archive.origin[row]}, emitter ${archive.emitter[row]}`;

  archives.forEach((archive, number) => {
    figures.archives.data[number].text = archive.id.map((_, row) => hover(archive, row));
  });
  for (const [name, figure] of Object.entries(figures)) {
    const place = document.getElementById(`plot-${name}`);
    // A finger that moves over a plot scrolls the page.
    if (coarse) figure.layout.dragmode = false;
    const config = {
      responsive: true,
      displaylogo: false,
      displayModeBar: coarse ? false : "hover",
      // All that there shall be: by itself Plotly offers to send the plot to its makers.
      modeBarButtons: [["toImage"], name === "archives" ? ["zoom2d", "pan2d", "select2d", "lasso2d"] : ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
      plotlyServerURL: "",
    };
    window.Plotly.newPlot(place, figure.data, figure.layout, config);
    plots.push(place);
  }

  // Paper is narrower than most windows.
  const paper = (place) => (place.classList.contains("square") ? 470 : 660);
  let inked = [];
  window.addEventListener("beforeprint", () => {
    inked = plots.filter((place) => place.clientWidth > paper(place));
    for (const place of inked) {
      const width = paper(place);
      const height = place.clientHeight * (place.classList.contains("square") ? width / place.clientWidth : 1);
      place.style.height = `${height}px`;
      window.Plotly.relayout(place, { width, height });
    }
  });
  window.addEventListener("afterprint", () => {
    for (const place of inked) {
      place.style.height = "";
      window.Plotly.relayout(place, { width: null, height: null, autosize: true });
    }
    inked = [];
  });

  // The policies that were clicked or selected

  const panel = document.getElementById("policy");
  const make = (kind, words, className) => {
    const element = document.createElement(kind);
    if (words !== undefined) element.textContent = words;
    if (className) element.className = className;
    return element;
  };
  const numbersOf = (archive, row) => {
    const facts = [
      ["archive", archive.archive.replace(" archive", "")],
      ["reward", archive.area[row] ? archive.reward[row] : "none"],
      ["reward area", archive.area[row] || "none"],
      ["ground truth", archive.ground_truth.map((column) => column[row]).join(", ")],
      ["parent", parent(archive, row)],
      ["origin", origin(archive, row)],
      ["born in chunk", archive.born[row]],
      ["steps", archive.steps[row]],
      ["novelty", archive.novelty[row]],
      ["surprise", archive.surprise[row]],
    ];
    return facts.filter(([, value]) => value !== null && value !== "");
  };
  const showOne = (archive, row) => {
    const list = make("dl");
    for (const [name, value] of numbersOf(archive, row)) list.append(make("dt", name), make("dd", String(value)));
    panel.replaceChildren(make("h3", `Policy ${archive.id[row]}`), list);
    if (details.replay) {
      const command = make("p");
      command.append(make("code", `${details.replay[0]}${archive.id[row]}${details.replay[1]}`));
      panel.append(command);
    }
    const back = make("button", "Back", "link");
    back.type = "button";
    back.addEventListener("click", forget);
    panel.append(back);
  };
  const most = 100;
  const hint = coarse
    ? "Tap a policy for its numbers."
    : "Point at a policy for its numbers. Click it to keep them here, or drag a box around several; a double click forgets them.";
  const byReward = ([a, i], [b, j]) => b.reward[j] - a.reward[i] || a.id[i] - b.id[j];
  const showMany = (rows, words) => {
    rows.sort(byReward);
    const table = make("table");
    const head = make("tr");
    for (const name of ["policy", "reward", "area", "origin"]) head.append(make("th", name));
    const body = make("tbody");
    for (const [archive, row] of rows.slice(0, most)) {
      const line = make("tr");
      const button = make("button", String(archive.id[row]), "link");
      button.type = "button";
      button.addEventListener("click", () => showOne(archive, row));
      const first = make("td");
      first.append(button);
      const area = archive.area[row];
      line.append(first, make("td", area ? String(archive.reward[row]) : "none"), make("td", area), make("td", archive.origin[row]));
      body.append(line);
    }
    const top = make("thead");
    top.append(head);
    table.append(top, body);
    panel.replaceChildren(make("p", hint, "hint"), make("h3", words), table);
  };
  const showBest = () => {
    const rows = archives.flatMap((archive) => archive.id.map((_, row) => [archive, row]).filter(([, row]) => archive.area[row]));
    const once = new Map(rows.sort(byReward).map((row) => [row[0].id[row[1]], row]));
    if (once.size) showMany([...once.values()].slice(0, 10), "The highest rewards");
    else panel.replaceChildren(make("p", hint, "hint"));
  };
  const show = (points) => {
    const chosen = points.filter((point) => point.curveNumber < archives.length).map((point) => [point.curveNumber, point.pointIndex]);
    const rows = chosen.map(([number, row]) => [archives[number], row]);
    const left = rows.length > most ? `, of which the ${most} with the highest rewards` : "";
    if (rows.length === 1) showOne(...rows[0]);
    else if (rows.length) showMany(rows, `${rows.length} policies${left}`);
    return chosen;
  };
  const ends = document.getElementById("plot-archives");
  const marked = (chosen) => {
    const points = archives.map((_, number) => (chosen ? chosen.filter(([one]) => one === number).map(([, row]) => row) : null));
    window.Plotly.restyle(ends, { selectedpoints: points }, archives.map((_, number) => number));
  };
  const forget = () => {
    marked(null);
    showBest();
  };
  ends.on("plotly_click", (event) => {
    const chosen = show(event.points.slice(0, 1));
    if (chosen.length) marked(chosen);
  });
  ends.on("plotly_selected", (event) => event && show(event.points));
  ends.on("plotly_doubleclick", forget);
  showBest();

  // Films stop and play

  for (const film of document.querySelectorAll(".film")) {
    film.addEventListener("click", () => film.setAttribute("aria-pressed", String(film.getAttribute("aria-pressed") !== "true")));
  }

  // Tables

  const valueOf = (cell) => cell.dataset.value ?? cell.textContent.trim();
  for (const table of document.querySelectorAll(".sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const numeric = head.classList.contains("number");
        const compare = (a, b) => {
          const [first, second] = [valueOf(a.cells[column]), valueOf(b.cells[column])];
          return numeric ? Number(first) - Number(second) : first.localeCompare(second, "en");
        };
        const rows = [...table.tBodies[0].rows].sort((a, b) => (up ? compare(a, b) : compare(b, a)));
        table.tBodies[0].append(...rows);
      });
    });
  }
  for (const button of document.querySelectorAll(".more")) {
    const table = document.getElementById(button.dataset.table);
    button.hidden = table.tBodies[0].rows.length <= 12;
    button.addEventListener("click", () => {
      table.classList.remove("short");
      button.hidden = true;
    });
  }
  document.documentElement.dataset.ready = "true";
})();
