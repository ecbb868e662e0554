// A sentence at the edge of the page, for what was not possible. It goes away by itself.

const LASTS = 7000; // milliseconds

const place = document.getElementById("notice");
let timer = 0;

export function notice(words) {
  if (!words) return;
  place.firstElementChild.textContent = words[0].toUpperCase() + words.slice(1) + (/[.!?]$/.test(words) ? "" : ".");
  place.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(hide, LASTS);
}

function hide() {
  place.hidden = true;
}

place.querySelector("button").addEventListener("click", hide);
