/**
 * The two small pages behind links in letters: a new password, a confirmed address. The
 * secret stands after `#`, which browsers never send. Pure. Not here: the frame that all pages have (small-page.ts).
 */
import { type SmallPage, smallPage } from './small-page.ts';

interface Plan {
  readonly title: string;
  readonly intro: string;
  readonly button: string;
  readonly done: string;
  /** Where the form goes. */
  readonly target: string;
  readonly password?: true;
}

const SCRIPT = `const form=document.querySelector('form'),says=document.getElementById('says'),token=location.hash.slice(1);
history.replaceState(null,'',location.pathname);
if(!token){says.textContent='The link is not complete. Open it once more as it was given to you.';form.hidden=true}
form.addEventListener('submit',async(event)=>{event.preventDefault();const button=form.querySelector('button');
button.disabled=true;says.textContent='';try{const answer=await fetch(form.dataset.target,{method:'POST',
headers:{'content-type':'application/json'},body:JSON.stringify({...Object.fromEntries(new FormData(form)),token})});
if(answer.ok){form.hidden=true;says.textContent=form.dataset.done}
else{const problem=await answer.json();says.textContent=problem.detail+(problem.hint?'. '+problem.hint+'.':'.')}}
catch{says.textContent='The server does not answer. Try again.'}button.disabled=false});`;

function linkPage({ title, intro, button, done, target, password }: Plan): SmallPage {
  const field = password
    ? '<label for="password">New password</label><input id="password" name="password" type="password" autocomplete="new-password" minlength="8" maxlength="256" required>'
    : '';
  return smallPage(
    title,
    `<form data-target="${target}" data-done="${done}"><p>${intro}</p>
${field}
<button>${button}</button></form><p id="says" role="status"></p>`,
    SCRIPT,
  );
}

/** The pages by their path. */
export const LINK_PAGES: Readonly<Record<string, SmallPage>> = {
  '/reset': linkPage({
    title: 'Set a new password',
    intro: 'All devices that are signed in now will have to sign in again. The link works once.',
    button: 'Set the password',
    done: 'Done. Sign in with the new password.',
    target: '/auth/reset/confirm',
    password: true,
  }),
  '/verify': linkPage({
    title: 'Confirm your e-mail address',
    intro: 'One click, and the address is yours.',
    button: 'Confirm',
    done: 'Done. The address is confirmed.',
    target: '/auth/verify',
  }),
};
