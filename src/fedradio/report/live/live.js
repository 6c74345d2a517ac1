"use strict";
(() => {
  const PARTS = "header.top > div, nav.contents, main > section";
  const FOCUSABLE = "a, button, input, summary, [tabindex]";
  const RETRY_MS = 2000;
  const line = document.getElementById("live");
  const sent = new Map(); // the markup of every part as the server sent it last; the page itself is changed by its charts
  let version = line.dataset.version;

  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  function say(text, state) {
    if (line.textContent !== text) line.textContent = text;
    line.dataset.state = state;
  }

  async function ask(path) {
    const answer = await fetch(path, { cache: "no-store" });
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return answer;
  }

  // What the reader has done to a part: unfolded, chosen, scrolled, focused. It is done again to the part in its place.
  function habits(part) {
    const all = (selector) => [...part.querySelectorAll(selector)];
    const open = all("details").map((one) => one.open);
    const checked = all("input:checked").map((one) => one.id);
    const scrolled = all(".scroll").map((one) => [one.scrollLeft, one.scrollTop]);
    const focused = all(FOCUSABLE).indexOf(document.activeElement);
    return { open, checked, scrolled, focused };
  }

  function resume(part, before) {
    part.querySelectorAll("details").forEach((one, at) => { one.open = before.open[at] ?? false; });
    for (const id of before.checked) {
      const same = part.querySelector(`#${CSS.escape(id)}`);
      if (same) same.checked = true;
    }
  }

  function replace(old, fresh) {
    const before = habits(old);
    const part = document.adoptNode(fresh);
    resume(part, before);
    for (const place of part.querySelectorAll(".plot")) {
      const plot = document.getElementById(place.id);
      if (plot) place.replaceWith(plot); // a chart stays, and gets new points
    }
    old.querySelectorAll(".plot").forEach((plot) => page.discard(plot));
    old.replaceWith(part);
    page.attach(part);
    part.querySelectorAll(".scroll").forEach((one, at) => one.scrollTo(...(before.scrolled[at] ?? [0, 0])));
    if (before.focused >= 0) part.querySelectorAll(FOCUSABLE)[before.focused]?.focus({ preventScroll: true });
  }

  function update(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const news = fresh.getElementById("live");
    const [mine, theirs] = [document, fresh].map((one) => [...one.querySelectorAll(PARTS)]);
    if (mine.map((part) => part.id).join() !== theirs.map((part) => part.id).join()) {
      location.reload(); // another kind of page: that of a run which had not begun
      return;
    }
    theirs.forEach((part, at) => {
      const markup = part.outerHTML;
      if (sent.get(at) !== markup) replace(mine[at], part);
      sent.set(at, markup);
    });
    document.title = fresh.title;
    version = news.dataset.version;
    say(news.textContent, news.dataset.state);
  }

  async function follow() {
    for (;;) {
      try {
        const news = await (await ask(`news?after=${version}`)).json();
        if (news.version !== version) update(await (await ask("./")).text());
        else if (news.closing) break;
      } catch {
        say("No answer: `fedradio watch` has ended or the connection was lost. Retrying.", "lost");
        await wait(RETRY_MS);
      }
    }
    say(`${line.textContent} This page is no longer updated.`, line.dataset.state);
  }

  follow();
})();
