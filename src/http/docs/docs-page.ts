/**
 * The page `/docs`: it fetches the server's OpenAPI document and renders it with Scalar's API reference. If the
 * document is for administrators only, the page requires a sign-in, and keeps the token in its memory. Everything comes
 * from this server, at URLs relative to the page, which may be below a path.
 */

const STYLE = `:root{color-scheme:light dark}
body{margin:0;font:16px/1.5 system-ui,sans-serif}
#sign-in{max-width:22rem;margin:12vh auto;padding:0 1.25rem}
label{display:block;margin:1rem 0 .25rem}
#sign-in input{width:100%;box-sizing:border-box;padding:.6rem;font:inherit}
#sign-in button{margin-top:1.25rem;padding:.6rem 1.2rem;font:inherit}
#says{max-width:22rem;margin:1rem auto;padding:0 1.25rem}`;

/**
 * Runs in the browser before the reference's script, and shows the OpenAPI document after it. The page's policy forbids
 * requests to other hosts, so every feature of Scalar that would send one is switched off. The compiler of zod, which
 * Scalar contains, is off for the same reason: the policy forbids it.
 */
const SCRIPT = `globalThis.__zod_globalConfig={jitless:true};
const form=document.getElementById('sign-in'),says=document.getElementById('says');
const say=(text)=>{says.textContent=text;says.hidden=text===''};
async function ask(path,options){const answer=await fetch(path,options);const body=await answer.json();
return{ok:answer.ok,status:answer.status,body}}
async function open(token){const headers=token===''?{}:{authorization:'Bearer '+token};
const {ok,status,body}=await ask('openapi.json',{headers});
if(ok){form.hidden=true;say('');show(body,token);return}
form.hidden=status!==401&&status!==403;
if(token!==''||form.hidden)say(body.detail+'.'+(body.hint?' '+body.hint+'.':''))}
function show(content,token){Scalar.createApiReference('#reference',{content,
defaultHttpClient:{targetKey:'shell',clientKey:'curl'},featuredClients:['shell/curl','js/fetch'],hiddenClients:HIDDEN,
...(token===''?{}:{authentication:{preferredSecurityScheme:'bearer',securitySchemes:{bearer:{token}}}}),
withDefaultFonts:false,telemetry:false,persistAuth:false,hideClientButton:true,showDeveloperTools:'never',
agent:{disabled:true},mcp:{disabled:true},documentDownloadType:'direct'})}
const HIDDEN={c:true,clojure:true,csharp:true,dart:true,fsharp:true,go:true,http:true,java:true,julia:true,
kotlin:true,node:true,objc:true,ocaml:true,php:true,powershell:true,python:true,r:true,ruby:true,rust:true,
swift:true,js:['axios','jquery','ofetch','xhr'],shell:['httpie','wget']};
form.addEventListener('submit',async(event)=>{event.preventDefault();const button=form.querySelector('button');
button.disabled=true;say('');try{const {ok,body}=await ask('auth/login',{method:'POST',
headers:{'content-type':'application/json'},body:JSON.stringify(Object.fromEntries(new FormData(form)))});
if(ok)await open(body.accessToken);else say(body.detail+'.')}
catch{say('The server does not respond. Try again.')}button.disabled=false});
document.addEventListener('DOMContentLoaded',()=>open('').catch(()=>say('The server does not respond. Try again.')));
`;

/** The files of the page besides the reference, by path. */
export const DOCS_PAGE_FILES: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
  '/docs/page.js': { type: 'text/javascript; charset=utf-8', text: SCRIPT },
  '/docs/page.css': { type: 'text/css; charset=utf-8', text: STYLE },
};

/** @param reference path of the script of the reference */
export function renderDocsPage(reference: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millrace API</title><link rel="icon" href="data:,"><link rel="stylesheet" href="docs/page.css">
<script src="docs/page.js" defer></script><script src="${reference.slice(1)}" defer></script></head><body>
<form id="sign-in" hidden><h1>Sign in to read the API reference</h1><p>It requires an administrator of this server.</p>
<label for="username">E-mail address or user name</label><input id="username" name="username" autocomplete="username" required>
<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required>
<button>Sign in</button></form><p id="says" role="status" hidden></p><div id="reference"></div></body></html>
`;
}
