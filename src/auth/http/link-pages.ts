/**
 * The three small pages behind links in letters and logs: set-up, a new password, a confirmed address. Plain HTML with
 * one script, both allowed by their hashes, and nothing from other servers. The secret stands after `#`, which browsers
 * never send. Pure.
 */
import { hash } from 'node:crypto';

export interface LinkPage {
  readonly html: string;
  /** Content-Security-Policy. */
  readonly policy: string;
}

interface Plan {
  readonly title: string;
  readonly intro: string;
  readonly button: string;
  readonly done: string;
  /** Where the form goes. */
  readonly target: string;
  readonly email?: true;
  readonly password?: true;
}

const STYLE = `:root{color-scheme:light dark;--paper:#fbfbf9;--ink:#1d2127;--line:#c9ccd1;--act:#0b5cad}
@media(prefers-color-scheme:dark){:root{--paper:#14181f;--ink:#e6e8eb;--line:#3a414c;--act:#7ab8ff}}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:26rem;margin:12vh auto;padding:0 1.25rem}h1{font-size:1.4rem}
label{display:block;margin:1rem 0 .25rem}input{width:100%;box-sizing:border-box;padding:.6rem;font:inherit;
color:inherit;background:transparent;border:1px solid var(--line);border-radius:.4rem}
button{margin-top:1.25rem;padding:.6rem 1.2rem;font:inherit;border:0;border-radius:.4rem;background:var(--act);
color:var(--paper);cursor:pointer}button:disabled{opacity:.5}:focus-visible{outline:2px solid var(--act);outline-offset:2px}
#says{min-height:1.5em;margin-top:1rem}`;

const SCRIPT = `const form=document.querySelector('form'),says=document.getElementById('says'),token=location.hash.slice(1);
history.replaceState(null,'',location.pathname);
if(!token){says.textContent='The link is not complete. Open it once more as it was given to you.';form.hidden=true}
form.addEventListener('submit',async(event)=>{event.preventDefault();const button=form.querySelector('button');
button.disabled=true;says.textContent='';try{const answer=await fetch(form.dataset.target,{method:'POST',
headers:{'content-type':'application/json'},body:JSON.stringify({...Object.fromEntries(new FormData(form)),token})});
if(answer.ok){const text=await answer.text(),{note}=text?JSON.parse(text):{};form.hidden=true;
says.textContent=form.dataset.done+(note?' '+note+'.':'')}
else{const problem=await answer.json();says.textContent=problem.detail+(problem.hint?'. '+problem.hint+'.':'.')}}
catch{says.textContent='The server does not answer. Try again.'}button.disabled=false});`;

const POLICY =
  `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; ` +
  `script-src 'sha256-${hash('sha256', SCRIPT, 'base64')}'; connect-src 'self'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function toPage({ title, intro, button, done, target, email, password }: Plan): LinkPage {
  const fields = [
    email
      ? '<label for="email">E-mail address</label><input id="email" name="email" type="email" autocomplete="username" required>'
      : '',
    password
      ? '<label for="password">New password</label><input id="password" name="password" type="password" autocomplete="new-password" minlength="8" maxlength="256" required>'
      : '',
  ].join('\n');
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><title>${title}</title><style>${STYLE}</style></head><body><main>
<h1>${title}</h1><form data-target="${target}" data-done="${done}"><p>${intro}</p>
${fields}
<button>${button}</button></form><p id="says" role="status"></p></main><script>${SCRIPT}</script></body></html>
`;
  return { html, policy: POLICY };
}

/** The pages by their path. */
export const LINK_PAGES: Readonly<Record<string, LinkPage>> = {
  '/setup': toPage({
    title: 'Set up this server',
    intro: 'The first owner decides who may do what here. The link works once.',
    button: 'Become the owner',
    done: 'Done. Sign in with this address and password.',
    target: '/setup',
    email: true,
    password: true,
  }),
  '/reset': toPage({
    title: 'Set a new password',
    intro: 'All devices that are signed in now will have to sign in again. The link works once.',
    button: 'Set the password',
    done: 'Done. Sign in with the new password.',
    target: '/auth/reset/confirm',
    password: true,
  }),
  '/verify': toPage({
    title: 'Confirm your e-mail address',
    intro: 'One click, and the address is yours.',
    button: 'Confirm',
    done: 'Done. The address is confirmed.',
    target: '/auth/verify',
  }),
};
