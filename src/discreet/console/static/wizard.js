// What decisions come to, while they are made; and of a column only what its type has.  The form works without this.
const form = document.getElementById("decisions");
const WAIT = 300;
const ASKED = { integer: "low high", decimal: "low high step", date: "low high", text: "values" };
let timer = 0;
let asked = 0;

async function look() {
  const mine = ++asked;
  const body = new URLSearchParams(new FormData(form));
  body.set("do", "look");
  try {
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    const response = await fetch(form.action, { method: "POST", headers, body, redirect: "error" });
    const found = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("result");
    if (mine === asked && found) document.getElementById("result").replaceChildren(...found.childNodes);
  } catch {
    // What was shown stays; the button asks again.
  }
}

function fit() {
  const person = document.getElementById("unit").value;
  for (const column of form.querySelectorAll(".column")) {
    column.hidden = person === `column:${column.dataset.name}`;
    const wanted = (ASKED[column.querySelector("select").value] ?? "").split(" ");
    for (const field of column.querySelectorAll(".asked")) field.hidden = !wanted.includes(field.dataset.asked);
  }
}

fit();
form.addEventListener("input", () => {
  fit();
  clearTimeout(timer);
  timer = setTimeout(look, WAIT);
});
