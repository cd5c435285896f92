// The free quote while typing, the slider, and completion.  The form works without any of it.
const form = document.getElementById("question");
const sql = document.getElementById("sql");
const epsilon = document.getElementById("epsilon");
const slider = document.getElementById("slider");
const slid = document.getElementById("slid");
const WAIT = 250;

let timer = 0;
let asked = 0;
let last = "";

function wish() {
  const data = new URLSearchParams();
  for (const [name, value] of new FormData(form)) data.set(name, value);
  return data.toString();
}

async function quote() {
  const body = wish();
  if (body === last || !sql.value.trim()) return;
  last = body;
  remember();
  const mine = ++asked;
  try {
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    const response = await fetch(form.dataset.quote, { method: "POST", headers, body, redirect: "error" });
    const text = await response.text();
    if (mine !== asked) return;
    const found = new DOMParser().parseFromString(text, "text/html").getElementById("quote");
    if (!found) throw new Error("no quote");
    show(found);
  } catch {
    if (mine !== asked) return;
    last = "";
    const panel = document.getElementById("quote");
    panel.querySelector("h2").nextElementSibling?.remove();
    const words = document.createElement("p");
    words.className = "said";
    words.textContent = form.dataset.unavailable;
    panel.querySelector("h2").after(words);
  }
}

// The panel itself stays, so that what is read aloud is its change; what was unfolded stays unfolded.
function show(found) {
  const panel = document.getElementById("quote");
  const open = [...panel.querySelectorAll("details")].map((one) => one.open);
  panel.replaceChildren(...found.childNodes);
  panel.querySelectorAll("details").forEach((one, place) => { one.open = open[place] ?? false; });
  ready();
}

function ready() {
  const there = document.getElementById("go-there");
  const place = document.getElementById("place");
  if (there && place) {
    there.hidden = false;
    there.addEventListener("click", () => {
      const lines = sql.value.split("\n");
      const before = lines.slice(0, Number(place.dataset.line) - 1).reduce((sum, line) => sum + line.length + 1, 0);
      const start = before + Number(place.dataset.column) - 1;
      const word = /^\S*/.exec(sql.value.slice(start))[0].length || 1;
      sql.focus();
      sql.setSelectionRange(start, start + word);
    });
  }
  document.getElementById("rewrite")?.addEventListener("submit", (event) => {
    event.preventDefault();
    sql.value = event.target.elements.sql.value;
    sql.dispatchEvent(new Event("input", { bubbles: true }));
    sql.focus();
  });
  const pay = document.getElementById("pay");
  // The key in the form already makes a second click free; this only keeps it from looking like one.
  pay?.addEventListener("submit", () => { setTimeout(() => { pay.querySelector("button").disabled = true; }, 0); });
  const errors = [...document.querySelectorAll("#quote tbody td:nth-child(2)")].map((cell) => cell.textContent).filter(Boolean);
  slid.textContent = errors.length ? `± ${errors[0]}` : "";
}

// Whoever comes back to this page finds the question that they left.
function remember() {
  const kept = {};
  for (const [name, value] of new FormData(form)) if (name !== "seal") kept[name] = value;
  history.replaceState({ kept }, "");
}

function recover() {
  const kept = history.state?.kept;
  if (!kept) return;
  for (const name of ["sql", "epsilon", "within", "confidence"]) form.elements[name].value = kept[name] ?? "";
  for (const pick of form.querySelectorAll('input[name="by"]')) pick.checked = pick.value === kept.by;
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(quote, WAIT);
}

// The slider moves in tenths of a power of ten.
function fromSlider() {
  epsilon.value = String(Number((10 ** (Number(slider.value) / 10)).toPrecision(2)));
  form.querySelector('input[name="by"][value="epsilon"]').checked = true;
  soon();
}

function toSlider() {
  const value = Number(epsilon.value);
  if (value > 0) slider.value = String(Math.round(Math.log10(value) * 10));
}

document.getElementById("slide").hidden = false;
recover();
toSlider();
slider.addEventListener("input", fromSlider);
form.addEventListener("input", (event) => {
  if (event.target === slider) return;
  if (event.target === epsilon) {
    form.querySelector('input[name="by"][value="epsilon"]').checked = true;
    toSlider();
  }
  if (event.target.id === "within") form.querySelector('input[name="by"][value="within"]').checked = true;
  soon();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  last = "";
  quote();
});
ready();
if (sql.value.trim() && !document.getElementById("pay")) quote();

// Colours: the same text behind the one that is written, whose own letters are then not drawn.
const colours = document.createElement("pre");
colours.className = "colours";
colours.setAttribute("aria-hidden", "true");
sql.before(colours);
sql.parentElement.classList.add("coloured");
const called = new Set(JSON.parse(form.dataset.words).filter(([, kind]) => kind === "function").map(([word]) => word));
const clauses = new Set(JSON.parse(form.dataset.words).filter(([, kind]) => kind === "clause").flatMap(([word]) => word.split(" ")).concat("BY", "NULL", "USING", "LEFT", "WITH", "DATE", "ASC"));
const PIECES = /(--[^\n]*)|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|(\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|([A-Za-z_][A-Za-z0-9_]*)/gi;

function kindOf([, remark, text, name, number, word], rest) {
  if (remark !== undefined) return "remark";
  if (text !== undefined) return "text";
  if (name !== undefined) return "name";
  if (number !== undefined) return "number";
  const big = word.toUpperCase();
  // LEFT is called before a bracket, and joins before anything else.
  const both = called.has(big) && clauses.has(big);
  return called.has(big) && (!both || /^\s*\(/.test(rest)) ? "function" : clauses.has(big) ? "clause" : "";
}

function colour() {
  const nodes = [];
  let from = 0;
  for (const piece of sql.value.matchAll(PIECES)) {
    const kind = kindOf(piece, sql.value.slice(piece.index + piece[0].length, piece.index + piece[0].length + 20));
    if (!kind) continue;
    nodes.push(sql.value.slice(from, piece.index));
    const span = document.createElement("span");
    span.className = `sql-${kind}`;
    span.textContent = piece[0];
    nodes.push(span);
    from = piece.index + piece[0].length;
  }
  colours.replaceChildren(...nodes, `${sql.value.slice(from)}\n`);
  follow();
}

function follow() {
  colours.scrollTop = sql.scrollTop;
  colours.scrollLeft = sql.scrollLeft;
}

sql.addEventListener("input", colour);
sql.addEventListener("scroll", follow);
addEventListener("pageshow", colour);
colour();

// Completion: a list under the place where one writes, by Ctrl+Space or while typing a word.
const words = JSON.parse(form.dataset.words);
const offers = document.createElement("ul");
offers.className = "offers";
offers.id = "offers";
offers.hidden = true;
offers.setAttribute("role", "listbox");
offers.setAttribute("aria-label", form.dataset.offers);
sql.after(offers);
sql.setAttribute("aria-controls", "offers");
sql.setAttribute("aria-autocomplete", "list");
let chosen = 0;

function begun() {
  return /[A-Za-z_][A-Za-z0-9_]*$/.exec(sql.value.slice(0, sql.selectionStart))?.[0] ?? "";
}

function offer(forced) {
  const start = begun();
  const wanted = start.toLowerCase();
  const found = start.length >= 2 || forced
    ? words.filter(([word]) => word.toLowerCase().startsWith(wanted) && word.toLowerCase() !== wanted).slice(0, 12)
    : [];
  offers.replaceChildren(...found.map(([word, kind], place) => {
    const item = document.createElement("li");
    item.id = `offer-${place}`;
    item.setAttribute("role", "option");
    const what = document.createElement("small");
    what.textContent = kind;
    const name = document.createElement("span");
    name.textContent = word;
    item.append(name, what);
    item.addEventListener("mousedown", (event) => { event.preventDefault(); chosen = place; take(); });
    return item;
  }));
  offers.hidden = found.length === 0;
  chosen = 0;
  point();
  if (found.length) beneath();
}

// Where the caret is: lines and columns of a fixed pitch.
function beneath() {
  const style = getComputedStyle(sql);
  const before = sql.value.slice(0, sql.selectionStart - begun().length).split("\n");
  const pitch = document.createElement("canvas").getContext("2d");
  pitch.font = `${style.fontSize} ${style.fontFamily}`;
  const left = parseFloat(style.paddingLeft) + pitch.measureText("m").width * before.at(-1).length;
  const top = parseFloat(style.paddingTop) + parseFloat(style.lineHeight) * before.length - sql.scrollTop;
  offers.style.left = `${Math.max(0, Math.min(left, sql.clientWidth - offers.offsetWidth))}px`;
  offers.style.top = `${Math.min(top + 4, sql.clientHeight)}px`;
}

function point() {
  [...offers.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === chosen)));
  if (offers.hidden) sql.removeAttribute("aria-activedescendant");
  else sql.setAttribute("aria-activedescendant", `offer-${chosen}`);
  offers.children[chosen]?.scrollIntoView({ block: "nearest" });
}

function take() {
  const word = offers.children[chosen]?.firstChild.textContent;
  offers.hidden = true;
  point();
  if (!word) return;
  const end = sql.selectionStart;
  sql.setRangeText(word, end - begun().length, end, "end");
  sql.dispatchEvent(new Event("input", { bubbles: true }));
  offers.hidden = true;
}

sql.addEventListener("input", () => offer(false));
sql.addEventListener("blur", () => { offers.hidden = true; point(); });
sql.addEventListener("keydown", (event) => {
  if (event.key === " " && event.ctrlKey) {
    event.preventDefault();
    offer(true);
  } else if (!offers.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    const count = offers.children.length;
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : count - 1)) % count;
    point();
  } else if (!offers.hidden && (event.key === "Enter" || event.key === "Tab")) {
    event.preventDefault();
    take();
  } else if (!offers.hidden && event.key === "Escape") {
    event.preventDefault();
    offers.hidden = true;
    point();
  }
});
