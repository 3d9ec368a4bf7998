/**
 * Escape attempts, by name. `look(F)` runs text with a constructor of functions that was found, and reports what of Node is
 * reachable. Each returns what it could reach.
 */

const at = (text: string): string => `
const look = (F) => F('try { return [typeof process, typeof require, typeof module, typeof Buffer, typeof global].join() } catch (e) { return "none" }')();
export default async (input, ctx) => { ${text} };`;

export const ESCAPES: Readonly<Record<string, string>> = {
  'the constructor of a function': at('return look((() => {}).constructor);'),
  'the constructor of a host function': at('return look(ctx.documents.constructor);'),
  'the constructor of what a host call answers': at(
    'const got = await ctx.documents("a").get("1"); return look(got.constructor.constructor);',
  ),
  'the constructor of a promise of the host': at('return look(ctx.documents("a").get("1").constructor.constructor);'),
  'the constructor of a host error': at(
    'try { await ctx.documents("fail").get("1"); } catch (e) { return look(e.constructor.constructor); }',
  ),
  'the constructor of async functions': at('return look((async () => {}).constructor.constructor);'),
  'the constructor of generators': at('return look((function* () {}).constructor.constructor);'),
  'the constructor of async generators': at('return look((async function* () {}).constructor.constructor);'),
  'the constructor of console': at('return look(console.log.constructor);'),
  'the constructor of an address': at('return look(new URL("https://a.example/").constructor.constructor);'),
  'the constructor of a Response': at('return look(Response.json.constructor);'),
  'eval, direct and indirect': at('return [eval("typeof process"), (0, eval)("typeof require")];'),
  with: at('return look((text) => new Function("scope", "with (scope) {" + text + "}").bind(null, ctx));'),
  prepareStackTrace: at(
    'Error.prepareStackTrace = (e, sites) => sites.map((s) => [String(s.getFunction()), typeof s.getThis(), s.getFileName(), s.getEvalOrigin()]); return [new Error().stack, await new Promise((r) => setTimeout(() => r(new Error().stack), 1))];',
  ),
  'prepareStackTrace inside a host call': at(
    'Error.prepareStackTrace = (e, sites) => sites.map((s) => { const f = s.getFunction(); return f ? look(f.constructor) + f : s.getFileName(); }); try { await ctx.documents("fail").get("1"); } catch (e) { return e.stack; }',
  ),
  captureStackTrace: at('const o = {}; Error.captureStackTrace(o); return [o.stack, Object.keys(Error)];'),
  'a hijacked Function.prototype.call': at(
    'const seen = []; Function.prototype.call = Function.prototype.apply = Function.prototype.bind = function (...a) { seen.push([String(this), a.length]); return this(...a); }; await ctx.documents("a").get("1"); console.log("x"); return seen;',
  ),
  'a hijacked JSON': at(
    'const seen = []; const own = JSON.parse; JSON.parse = (text) => { seen.push(text); return own(text); }; JSON.stringify = (v) => { seen.push(Object.keys(v ?? {})); return "{}"; }; await ctx.documents("a").get("1"); return seen;',
  ),
  'a hijacked Promise.prototype.then': at(
    'const seen = []; const own = Promise.prototype.then; Promise.prototype.then = function (...a) { seen.push(String(a[0]).slice(0, 200)); return own.apply(this, a); }; await ctx.documents("a").get("1"); return seen;',
  ),
  'a hijacked Promise': at(
    'const seen = []; globalThis.Promise = class extends Promise { constructor(run) { super((a, b) => run((v) => { seen.push(v); a(v); }, b)); } }; await ctx.documents("a").get("1"); return seen.length;',
  ),
  'setters on Array.prototype': at(
    'const seen = []; for (const i of [0, 1, 2]) Object.defineProperty(Array.prototype, i, { set(v) { seen[seen.length - 0] = 0; Object.defineProperty(this, i, { value: v, writable: true, configurable: true }); }, configurable: true }); await ctx.documents("a").get("1"); console.log("x"); return "done";',
  ),
  'getters on Object.prototype': at(
    'let seen = []; for (const k of ["ok", "text", "call", "post", "next", "resolve"]) Object.defineProperty(Object.prototype, k, { get() { seen.push(k + typeof this); }, set(v) { seen.push(k + typeof v); Object.defineProperty(this, k, { value: v, writable: true, configurable: true }); }, configurable: true }); await ctx.documents("a").get("1"); return "done";',
  ),
  'a thenable as the result': at('return { then: (resolve) => resolve(look(resolve.constructor)) };'),
  'a thenable as an argument': at('return [await ctx.documents({ then: (f) => f("x") }).get({ then: 1 })];'),
  'a proxy as the result': at(
    'const seen = []; return new Proxy({}, { get: (o, k, r) => { seen.push(String(k)); return k === "toJSON" ? () => seen : undefined; } });',
  ),
  'toJSON that is handed something': at('return { toJSON: (...a) => a.map((x) => look(x.constructor.constructor)) };'),
  'Symbol.toPrimitive of an argument': at(
    'return await ctx.hmac({ [Symbol.toPrimitive]: (...a) => "x" }, { [Symbol.toPrimitive]: (h) => look(h.constructor.constructor) });',
  ),
  'Symbol.species': at(
    'class Own extends Array { static get [Symbol.species]() { return function () { return { look: look(new.target?.constructor ?? Function) }; }; } } return Own.from([1, 2]).map((x) => x);',
  ),
  '__proto__ as a key of the result': at(
    'return JSON.parse(\'{"__proto__": {"polluted": "yes"}, "constructor": {"prototype": {"polluted": "yes"}}}\');',
  ),
  '__proto__ as a header': at('return new Response("x", { headers: JSON.parse(\'{"__proto__": "polluted"}\') });'),
  'import of a module of Node': at('const fs = await import("node:fs"); return Object.keys(fs);'),
  'import of a file': at('const x = await import("file:///etc/passwd"); return Object.keys(x);'),
  'import of a package': at('const x = await import("isolated-vm"); return Object.keys(x);'),
  'import.meta': at('return [Object.getPrototypeOf(import.meta), Reflect.ownKeys(import.meta).map(String)];'),
  'arguments.callee and caller': at(
    'function f() { return [typeof f.caller, String(f.caller)]; } try { return f(); } catch (e) { return e.message; }',
  ),
  'Reflect on what is frozen': at(
    'return [Reflect.set(ctx, "principal", { id: "eve" }), Reflect.setPrototypeOf(ctx, {}), Reflect.defineProperty(ctx.principal, "id", { value: "eve" }), ctx.principal.id];',
  ),
  'other realms': at(
    'return [typeof ShadowRealm, typeof WebAssembly, typeof SharedArrayBuffer, typeof Atomics, typeof WeakRef];',
  ),
  'everything that is global': at(
    'return Reflect.ownKeys(globalThis).map(String).filter((k) => /ivm|process|require|module|Buffer|global$|isolate|post|address|millrace/i.test(k));',
  ),
  'names of globals of the program around': at(
    'return ["post", "address", "scope", "parts", "makeProgram", "receive", "asking"].map((k) => { try { return typeof (0, eval)(k); } catch { return "undefined"; } });',
  ),
  'the secrets of another plugin': at(
    'return [Object.keys(ctx.secrets), ctx.secrets.OTHER, Object.getPrototypeOf(ctx.secrets)];',
  ),
  'a principal of its own': at(
    'try { ctx.principal.roles.push("owner"); } catch {} try { ctx.principal = {}; } catch {} return [ctx.principal.id, ctx.principal.roles];',
  ),
};
