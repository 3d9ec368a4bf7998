/**
 * The small pages behind links in e-mails: password reset, e-mail verification, opening a native app. The secret stands after `#`, which
 * browsers never send. Pure. The frame of all pages is in page-template.ts.
 */
import { escapeHtml, type HostedPage, renderHostedPage } from './page-template.ts';

interface Form {
  readonly intro: string;
  readonly button: string;
  readonly done: string;
  readonly field: { readonly name: string; readonly label: string; readonly isNew: boolean };
}

interface Plan {
  readonly title: string;
  /** Targets of the forms, relative to the page. */
  readonly target: string;
  readonly forms: readonly Form[];
}

const SCRIPT = `const forms=[...document.querySelectorAll('form')],says=document.getElementById('says'),token=location.hash.slice(1);
const hide=()=>{for(const form of forms)form.hidden=true};history.replaceState(null,'',location.pathname);
addEventListener('hashchange',()=>location.reload());
if(!token){says.textContent='The link is incomplete. Open it exactly as you received it.';hide()}
for(const form of forms)form.addEventListener('submit',async(event)=>{event.preventDefault();
const button=form.querySelector('button');button.disabled=true;says.textContent='';
try{const answer=await fetch(form.dataset.target,{method:'POST',
headers:{'content-type':'application/json'},body:JSON.stringify({...Object.fromEntries(new FormData(form)),token})});
if(answer.ok){hide();says.textContent=form.dataset.done}
else{const problem=await answer.json();says.textContent=problem.detail+(problem.hint?'. '+problem.hint+'.':'.')}}
catch{says.textContent='The server does not respond. Try again.'}button.disabled=false});`;

function linkPage({ title, target, forms }: Plan): HostedPage {
  const body = forms.map(({ intro, button, done, field: { name, label, isNew } }) => {
    const rules = isNew ? 'autocomplete="new-password" minlength="8"' : 'autocomplete="current-password"';
    return `<form data-target="${target}" data-done="${done}"><p>${intro}</p>
<label for="${name}">${label}</label><input id="${name}" name="${name}" type="password" ${rules} maxlength="256" required>
<button>${button}</button></form>`;
  });
  return renderHostedPage(title, `${body.join('<hr>')}<p id="says" role="status"></p>`, SCRIPT);
}

/** The pages by their path. */
export const EMAIL_LINK_PAGES: Readonly<Record<string, HostedPage>> = {
  '/reset': linkPage({
    title: 'Set a new password',
    target: 'auth/reset/confirm',
    forms: [
      {
        intro: 'All your devices will be signed out. The link works once.',
        button: 'Set password',
        done: 'Done. Sign in with the new password.',
        field: { name: 'password', label: 'New password', isNew: true },
      },
    ],
  }),
  '/verify': linkPage({
    title: 'Verify your e-mail address',
    target: 'auth/verify',
    forms: [
      {
        intro: 'Did you register, or change the e-mail address, yourself? Enter your password; nothing else changes.',
        button: 'Verify',
        done: 'Done. The e-mail address is verified.',
        field: { name: 'password', label: 'Password', isNew: false },
      },
      {
        intro:
          'You did not register, or do not know the password? Set a new one. All sessions and all other sign-in methods of a ' +
          'new user are removed.',
        button: 'Verify with a new password',
        done: 'Done. The e-mail address is verified. Sign in with the new password.',
        field: { name: 'newPassword', label: 'New password', isNew: true },
      },
    ],
  }),
};

/**
 * The path of the page that leads from a link in an e-mail to a native app, whose URL is the parameter `to`: many mail
 * programs remove links with app schemes. The secret is after `#`, which browsers never send.
 */
export const OPEN_APP_PATH = '/open-app';

const OPENING =
  "const link=document.getElementById('open');link.href+=location.hash;history.replaceState(null,'',location.href.split('#')[0])";

/** @param url of the app, from the list of redirect URLs */
export function openAppPage(url: string): HostedPage {
  return renderHostedPage(
    'Open the app',
    `<p>Continue on the device where the app is installed.</p><p><a id="open" href="${escapeHtml(url)}">Open the app</a></p>`,
    OPENING,
  );
}
