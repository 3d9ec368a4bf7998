/**
 * The page `/signin`, with sign-in by provider, password, passkey and magic link. An app sends its users here with the
 * parameters of `GET /auth/providers/{provider}`, which each button passes on. Without parameters it signs in here,
 * which shows an administrator that a provider works; that session is not stored. A magic link opens this page with a
 * secret after `#`, which only a press of the button uses up, because mail scanners open links. Pure.
 */
import { type HostedPage, renderHostedPage } from './page-template.ts';

const BODY = `<div id="providers"></div>
<form hidden><label for="username">User name or e-mail address</label>
<input id="username" name="username" autocomplete="username" required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required>
<button>Sign in</button>
<button type="button" id="passkey" hidden>Sign in with a passkey</button>
<button type="button" id="ask" hidden>Send magic link</button></form>
<form id="typed" hidden><p>If this e-mail address belongs to a user, an e-mail has been sent. Open its link in this browser, or enter its code.</p>
<label for="digits">Code from the e-mail</label>
<input id="digits" name="code" inputmode="numeric" autocomplete="one-time-code" minlength="8" maxlength="12" required>
<button>Sign in</button></form>
<form id="letter" hidden><p>You requested this link by e-mail. It works once.</p><button>Sign in</button></form>
<form id="second" hidden><p>Enter a code from your authenticator app.</p><label for="code">Code</label>
<input id="code" name="code" autocomplete="one-time-code" minlength="6" maxlength="40" aria-describedby="which" required>
<p><small id="which">Six digits from your authenticator app, or a recovery code.</small></p>
<button>Continue</button>
<button type="button" id="second-passkey" hidden>Use a passkey</button></form><p id="says" role="status"></p>`;

const SCRIPT = `const says=document.getElementById('says'),list=document.getElementById('providers'),
form=document.querySelector('form'),[second,letter,typed,asks]=['second','letter','typed','ask'].map((id)=>document.getElementById(id)),
token=/^#[\\w-]{43}$/.test(location.hash)?location.hash.slice(1):null,query=new URLSearchParams(location.search),page=location.origin+location.pathname,
prefix='millrace-signin-',hosted=query.has('redirect')&&query.has('code_challenge');let ticket=null,address=null;
if(token!==null)history.replaceState(null,'',page);
const base64url=(bytes)=>btoa(String.fromCharCode(...bytes)).replace(/\\+/g,'-').replace(/\\//g,'_').replace(/=/g,'');
const random=()=>base64url(crypto.getRandomValues(new Uint8Array(32)));
const challengeOf=async(text)=>base64url(new Uint8Array(await crypto.subtle.digest('SHA-256',new TextEncoder().encode(text))));
const tell=(problem)=>{says.textContent=problem.detail+(problem.hint?'. '+problem.hint+'.':'.')};
const post=(path,body,headers={})=>fetch(path,{method:'POST',
headers:body?{'content-type':'application/json',...headers}:headers,...(body?{body:JSON.stringify(body)}:{})});
async function enter(path,body){const answer=await post(path,body),result=await answer.json();
if(answer.ok)return welcome(result);if(result.code==='mfa-required')return ask(result.ticket);tell(result);
if(ticket!==null&&result.code==='invalid-token'){says.textContent='That took too long. Sign in again.';await restart()}}
function ask(given){ticket=given;form.hidden=letter.hidden=typed.hidden=true;second.hidden=false;list.replaceChildren();says.textContent='';
second.elements.code.focus()}
function restart(){ticket=null;second.hidden=true;second.reset();form.reset();return show()}
function welcome({user,accessToken}){form.hidden=second.hidden=letter.hidden=typed.hidden=true;second.reset();form.reset();list.replaceChildren();
says.textContent='You are signed in as '+(user.username??user.email??user.id)+'.';
const out=document.createElement('button');out.textContent='Sign out';list.append(out);
out.addEventListener('click',async()=>{await post('auth/logout',null,{authorization:'Bearer '+accessToken});location.assign(page)})}
async function go(address){if(hosted)return location.assign(address+'?'+query);
const verifier=random(),state=random();sessionStorage.setItem(prefix+state,verifier);
location.assign(address+'?'+new URLSearchParams({redirect:page,code_challenge:await challengeOf(verifier),
code_challenge_method:'S256',state}))}
async function show(){const {providers,magicLink}=await(await fetch('auth/providers')).json(),begun=query.get('provider');
if(begun!==null&&providers.some(({name})=>name===begun)){query.delete('provider');return go('auth/providers/'+begun)}
for(const {title,name} of providers){const button=document.createElement('button');button.type='button';
button.textContent='Sign in with '+title;button.addEventListener('click',()=>go('auth/providers/'+name));list.append(button)}
form.hidden=hosted;asks.hidden=!magicLink;if(hosted&&providers.length===0)says.textContent='No sign-in providers are set up.'}
form.addEventListener('submit',(event)=>{event.preventDefault();
enter('auth/login',Object.fromEntries(new FormData(form))).catch(failed)});
asks.addEventListener('click',async()=>{says.textContent='';const email=form.elements.username.value.trim();
if(!email.includes('@')){says.textContent='Enter your e-mail address first.';return form.elements.username.focus()}
try{const answer=await post('auth/magic-link',{email});if(!answer.ok)return tell(await answer.json());
address=email;form.hidden=true;typed.hidden=false;list.replaceChildren();typed.elements.code.focus()}catch{failed()}});
typed.addEventListener('submit',(event)=>{event.preventDefault();
enter('auth/magic-link/verify',{email:address,code:typed.elements.code.value}).catch(failed)});
letter.addEventListener('submit',(event)=>{event.preventDefault();enter('auth/magic-link/verify',{token}).catch(failed)});
second.addEventListener('submit',(event)=>{event.preventDefault();
enter('auth/mfa/login',{ticket,code:second.elements.code.value}).catch(failed)});
const failed=()=>{says.textContent='The server does not respond. Try again.'};
async function prove(path){says.textContent='';const answer=await post('auth/passkeys/authentication-options',ticket===null?{}:{ticket}),asked=await answer.json();
if(!answer.ok)return tell(asked);const publicKey=PublicKeyCredential.parseRequestOptionsFromJSON(asked);let credential;
try{credential=await navigator.credentials.get({publicKey})}catch{says.textContent='No passkey was used. Passkeys work only at '+asked.rpId+'.';return}
return enter(path,ticket===null?{credential:credential.toJSON()}:{ticket,credential:credential.toJSON()})}
for(const [id,path] of [['passkey','auth/passkeys/login'],['second-passkey','auth/mfa/login']]){const button=document.getElementById(id);
button.hidden=!window.PublicKeyCredential?.parseRequestOptionsFromJSON;
button.addEventListener('click',()=>prove(path).catch(failed))}
async function main(){if(token!==null){letter.hidden=false;return letter.querySelector('button').focus()}if(!hosted&&(query.has('code')||query.has('error'))){history.replaceState(null,'',page);
const key=prefix+query.get('state'),verifier=sessionStorage.getItem(key);sessionStorage.removeItem(key);
if(query.has('error'))tell({detail:(query.get('error_description')??query.get('error')).replace(/\\.$/,'')});
else if(verifier===null)tell({detail:'This page did not start the sign-in'});
else return enter('auth/exchange',{code:query.get('code'),codeVerifier:verifier})}await show()}
main().catch(failed);`;

export const SIGN_IN_PAGE: HostedPage = renderHostedPage('Sign in', BODY, SCRIPT);
