"use strict";
(() => {
  const root = document.documentElement;
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  const button = document.getElementById("mode");
  const drawn = new Set();
  const chosen = new Map();
  const known = new Map();

  // ---- colours: names of the palette become those of the present mode

  const COLOURED = new Set(["color", "fillcolor", "colorscale", "bgcolor", "bordercolor", "gridcolor", "linecolor", "zerolinecolor"]);

  function colour(token) {
    const [name, alpha] = token.slice(1).split("/");
    const found = getComputedStyle(root).getPropertyValue(`--${name}`).trim();
    if (!alpha) return found;
    const part = [1, 3, 5].map((at) => parseInt(found.slice(at, at + 2), 16));
    return `rgba(${part.join(",")},${alpha})`;
  }

  function painted(node, key) {
    if (typeof node === "string") return COLOURED.has(key) && node.startsWith("@") ? colour(node) : node;
    if (Array.isArray(node)) return COLOURED.has(key) || ["annotations", "shapes"].includes(key) ? node.map((item) => painted(item, key)) : node;
    if (node === null || typeof node !== "object") return node;
    return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, painted(value, name)]));
  }

  // ---- charts

  function merged(base, more) {
    const result = { ...base };
    for (const [key, value] of Object.entries(more)) {
      const both = value && typeof value === "object" && !Array.isArray(value) && key in base;
      result[key] = both ? merged(base[key], value) : value;
    }
    return result;
  }

  function layout(more, view) {
    const axis = {
      gridcolor: "@grid", linecolor: "@soft", zeroline: false, automargin: true, exponentformat: "SI",
      fixedrange: touch, title: { standoff: 8, font: { size: 13 } }, tickfont: { size: 12, color: "@ink" },
    };
    return merged({
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: "@ink" },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 48, r: 14, t: 10, b: 40 },
      xaxis: axis, yaxis: axis,
      legend: { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", font: { size: 12 }, traceorder: "normal" },
      hoverlabel: { bgcolor: "@card", bordercolor: "@soft", font: { color: "@ink" }, align: "left" },
      dragmode: touch ? false : "zoom", hovermode: "closest", showlegend: false,
      uirevision: view, // while it is the same, a chart that is drawn again stays zoomed
    }, more);
  }

  function states(trace) {
    // a heat map of states comes as one string a row, one character a state
    if (!trace.states) return trace;
    const z = trace.states.map((row) => Array.from(row, Number));
    const { states: _, names, ...rest } = trace;
    return { ...rest, z, text: z.map((row) => row.map((state) => names[state])) };
  }

  function views(plot) {
    if (!known.has(plot)) known.set(plot, JSON.parse(document.getElementById(`${plot.id}-data`).textContent));
    return known.get(plot);
  }

  function draw(plot) {
    const found = views(plot);
    const view = found[chosen.get(plot.id)] ?? Object.values(found)[0];
    const traces = view.traces.map((trace) => painted(states(trace), ""));
    const config = { displayModeBar: false, responsive: true, plotlyServerURL: "", showTips: false };
    drawn.add(plot);
    const caption = document.getElementById(`${plot.id}-says`);
    if (caption.textContent !== view.says) caption.textContent = view.says;
    return Plotly.react(plot, traces, painted(layout(view.layout, chosen.get(plot.id) ?? ""), ""), config);
  }

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      if (!drawn.has(entry.target)) draw(entry.target);
    }
  }, { rootMargin: "500px" });

  // ---- switches: radio buttons that choose the view of charts

  function choose(fieldset) {
    const value = fieldset.querySelector("input:checked").value;
    for (const id of fieldset.dataset.charts.split(" ")) {
      chosen.set(id, value);
      const plot = document.getElementById(id);
      if (drawn.has(plot)) draw(plot);
    }
  }

  // ---- dark and light

  const MODE = "fedradio-theme";

  function remembered() {
    try { return localStorage.getItem(MODE); } catch { return null; }
  }

  function show(mode) {
    root.dataset.theme = mode;
    button.setAttribute("aria-pressed", String(mode === "dark"));
    drawn.forEach(draw);
  }

  button.addEventListener("click", () => {
    const mode = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem(MODE, mode); } catch { /* not allowed here: for this visit only */ }
    show(mode);
  });
  prefers.addEventListener("change", () => remembered() ?? show(prefers.matches ? "dark" : "light"));

  // ---- copying and saving

  const status = document.body.appendChild(Object.assign(document.createElement("div"), { className: "unseen" }));
  status.setAttribute("role", "status");

  async function copy(one) {
    const text = one.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(text.textContent);
      status.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(text);
      status.textContent = "Selected; copy it with your keyboard.";
    }
    const words = one.textContent;
    one.textContent = status.textContent === "Copied." ? "Copied" : "Selected";
    setTimeout(() => { one.textContent = words; status.textContent = ""; }, 2000);
  }

  async function save(one) {
    const plot = document.getElementById(one.dataset.chart);
    if (!drawn.has(plot)) await draw(plot);
    Plotly.downloadImage(plot, { format: "svg", filename: plot.id, width: plot.clientWidth, height: plot.clientHeight });
  }

  // ---- paper is light and shows everything

  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    all(".plot").forEach((plot) => drawn.add(plot));
    show("light");
  });
  addEventListener("afterprint", () => show(before));

  // ---- a page that reloads itself: what was scrolled to, chosen and unfolded before is so again

  const PLACE = `fedradio-place ${location.pathname}`;
  const all = (selector) => [...document.querySelectorAll(selector)];

  function keep() {
    const place = { top: scrollY, chosen: all("input:checked").map((one) => one.id), open: all("details").map((one) => one.open) };
    try { sessionStorage.setItem(PLACE, JSON.stringify(place)); } catch { /* not allowed here: the page begins at its top */ }
  }

  function kept() {
    try {
      const place = JSON.parse(sessionStorage.getItem(PLACE));
      sessionStorage.removeItem(PLACE);
      return place;
    } catch { return null; }
  }

  if (document.querySelector("meta[http-equiv=refresh]")) addEventListener("pagehide", keep);
  const place = kept();
  all("input[type=radio]").forEach((one) => { if (place?.chosen.includes(one.id)) one.checked = true; });
  all("details").forEach((one, at) => { one.open = place?.open[at] ?? one.open; });

  // ---- all of the page

  show(root.dataset.theme);
  all(".copy").forEach((one) => one.addEventListener("click", () => copy(one)));
  all(".save").forEach((one) => one.addEventListener("click", () => save(one)));
  for (const fieldset of all(".switch")) {
    fieldset.addEventListener("change", () => choose(fieldset));
    choose(fieldset);
  }
  all(".plot").forEach((plot) => near.observe(plot));
  if (place) scrollTo({ top: place.top, behavior: "instant" });
})();
