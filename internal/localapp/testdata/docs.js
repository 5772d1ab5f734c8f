
const filter = document.getElementById("filter");
const sections = [...document.querySelectorAll("section")];
function apply() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const s of sections) {
    const text = s.textContent.toLowerCase();
    s.hidden = !words.every((w) => text.includes(w));
    shown += s.hidden ? 0 : 1;
    document.querySelector(`nav a[href="#${s.id}"]`).parentElement.hidden = s.hidden;
  }
  for (const f of document.querySelectorAll(".family")) {
    f.hidden = !f.querySelector("li:not([hidden]), section:not([hidden])");
  }
  document.getElementById("none").hidden = shown > 0;
}
filter.addEventListener("input", apply);
apply();
