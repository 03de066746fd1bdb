"use strict";

const scenes = document.getElementById("scenes");
const next = document.getElementById("next");
const progress = document.getElementById("progress");

// element is one with text in it: what stages say is text, and never markup.
function element(name, text, className) {
  const e = document.createElement(name);
  e.textContent = text;
  if (className) e.className = className;
  return e;
}

function scene(of) {
  const li = document.createElement("li");
  if (of.sentences) li.append(element("p", of.sentences.join(" ")));
  li.append(element("pre", "› " + of.command, "command"));
  for (const line of of.said || []) li.append(element("pre", line, line.split(" ")[0]));
  return li;
}

function show(story) {
  const played = story.played || [];
  for (const each of played.slice(scenes.children.length)) scenes.append(scene(each));
  progress.textContent = `scene ${played.length} of ${story.of}`;
  next.disabled = played.length === story.of;
  if (next.disabled) next.textContent = "The end";
  // Not the button: it is sticky, and so in view wherever the story is.
  if (played.length > 0) scenes.lastElementChild.scrollIntoView({ block: "end" });
}

// ask shows what the story has come to; a server that has gone is said to have.
async function ask(path, how) {
  try {
    const answer = await fetch(path, how);
    if (!answer.ok) throw new Error(await answer.text());
    show(await answer.json());
  } catch (error) {
    progress.textContent = `This did not work: ${error.message}`;
  }
}

let busy = false;
async function go() {
  if (busy || next.disabled) return;
  busy = true;
  progress.textContent = "the stages are at work…";
  await ask("next", { method: "POST" });
  busy = false;
}

next.addEventListener("click", go);
document.addEventListener("keydown", (event) => {
  if (event.target === next || event.repeat) return; // the button has keys of its own
  if (event.key === "Enter" || event.key === "ArrowRight") {
    event.preventDefault();
    go();
  }
});
ask("scenes");
