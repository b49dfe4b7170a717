// Places of the page: a link leads there, opens what the place lies in, and is kept in the address with everything else.

function goTo(id) {
  const target = document.getElementById(id);
  if (!target) return;
  for (let node = target; node; node = node.parentElement) if (node.localName === "details") node.open = true;
  const own = target.querySelector(":scope > details.fold");
  if (own) own.open = true;
  target.scrollIntoView();
  // Keys go on from there.
  if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
  target.focus({ preventScroll: true });
}

function followLinks() {
  addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const at = link.getAttribute("href").slice(1);
    document.getElementById("detail").close();
    // Going back leads to where one was.
    history.pushState(null, "", linkToThis());
    change({ at });
    goTo(at);
  });
  addEventListener("hashchange", takeAddress);
  onChange(["at"], () => state.at !== null && goTo(state.at));
}
