/** The style of the contract's page: one column, dark or light as the reader's system is, nothing fetched. */
export const STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1c2430, #dfe5ee); --soft: light-dark(#5b6675, #98a4b5);
  --paper: light-dark(#fbfbf9, #14181f); --card: light-dark(#fff, #1b212b); --line: light-dark(#e3e5e8, #2c3542);
  --link: light-dark(#0b5cad, #7db8f5); }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 58rem; margin: 0 auto; padding: 1.5rem 1rem 5rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: .5rem 0; }
h1 small { font-size: .9rem; font-weight: 400; color: var(--soft); }
h2 { margin: 2.5rem 0 .25rem; font-size: 1.35rem; overflow-wrap: anywhere; }
h3 { margin: 1rem 0 .35rem; font-size: .8rem; letter-spacing: .06em; text-transform: uppercase; color: var(--soft); }
p { margin: .35rem 0; }
a { color: var(--link); }
code, pre { font: .875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: .75rem; background: var(--paper); border: 1px solid var(--line); border-radius: .4rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .4rem; list-style: none; padding: 0; margin: 1rem 0; }
nav a { display: block; padding: .2rem .7rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--card);
  text-decoration: none; overflow-wrap: anywhere; }
details { margin: .5rem 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
details > div { padding: 0 1rem 1rem; }
summary { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; padding: .6rem 1rem; cursor: pointer; }
summary > span:last-child { color: var(--soft); }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: .4rem; }
.method { min-width: 4.2rem; padding: 0 .5rem; border-radius: .3rem; text-align: center; font: 600 .78rem/1.7 ui-monospace, monospace;
  color: #fff; background: #5b6675; }
.get { background: #176b45; } .post { background: #0b5cad; } .put { background: #8a5200; }
.patch { background: #6d3fa8; } .delete { background: #b3261e; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .35rem .6rem .35rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { width: 32%; font-weight: 500; }
td small { display: block; color: var(--soft); }
@media (max-width: 36rem) { th, td { display: block; width: auto; } td { border-top: 0; padding-top: 0; } }
`;
