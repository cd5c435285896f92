// The laboratory follows while one types or moves epsilon; its forms work without this.
const form = document.getElementById("live");
const WAIT = 250;
let timer = 0;
let asked = 0;

async function follow() {
  const mine = ++asked;
  const query = new URLSearchParams(new FormData(form)).toString();
  try {
    const response = await fetch(`${form.action}?${query}`, { redirect: "error" });
    const found = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("result");
    if (mine !== asked || !found) return;
    document.getElementById("result").replaceChildren(...found.childNodes);
    history.replaceState(null, "", `?${query}`);
  } catch {
    // What was shown stays; the button asks again.
  }
}

if (form) {
  const epsilon = document.getElementById("epsilon");
  const slider = document.getElementById("slider");
  const toSlider = () => {
    if (Number(epsilon.value) > 0) slider.value = String(Math.round(Math.log10(Number(epsilon.value)) * 10));
  };
  document.getElementById("slide").hidden = false;
  toSlider();
  slider.addEventListener("input", () => {
    epsilon.value = String(Number((10 ** (Number(slider.value) / 10)).toPrecision(2)));
  });
  epsilon.addEventListener("input", toSlider);
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(follow, WAIT);
  });
}
