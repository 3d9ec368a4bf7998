/** Programs that try to harm their runner, by name, and how each may end. */

export interface HostileProgram {
  readonly code: string;
  /** Error codes with which it may end; `ends` also for a value or a response. */
  readonly ends: readonly string[];
}

const TIME = ['function-timeout'];
const MEMORY = ['function-out-of-memory', 'function-failed', 'function-timeout'];
const FAILS = ['function-failed'];

const body = (text: string, ends: readonly string[]): HostileProgram => ({
  code: `export default async (input, ctx) => { ${text} };`,
  ends,
});

export const HOSTILE: Readonly<Record<string, HostileProgram>> = {
  'an endless loop': body('for (;;);', TIME),
  'an endless loop after an answer of the host': body('await ctx.documents("a").get("1"); for (;;);', TIME),
  'an endless loop at the top level': { code: 'for (;;);\nexport default () => 1;', ends: TIME },
  'an endless loop after the result': body(
    'Promise.resolve().then(async () => { await null; await null; await null; for (;;); }); return 1;',
    ['value', ...TIME],
  ),
  'a promise that never settles': body('await new Promise(() => {});', TIME),
  'a thenable that never settles': body('return { then() {} };', TIME),
  'an endless chain of promises': body('const next = () => Promise.resolve().then(next); await next();', TIME),
  'endless rejected promises': body('for (;;) Promise.reject(new Error("x"));', MEMORY),
  'a Map that grows': body('const map = new Map(); for (let i = 0; ; i++) map.set(i, { i });', MEMORY),
  'symbols that pile up': body('const all = []; for (;;) all.push(Symbol("x"));', MEMORY),
  'arrays that are filled': body('const all = []; for (;;) all.push(new Array(1e6).fill(1.5));', MEMORY),
  'one array of a gigabyte': body('return new Array(2 ** 27).fill(0.5).length;', MEMORY),
  'a resizable buffer': body(
    'const all = []; for (;;) { const b = new ArrayBuffer(1, { maxByteLength: 2 ** 30 }); b.resize(2 ** 30); new Uint8Array(b).fill(1); all.push(b); }',
    MEMORY,
  ),
  'typed arrays that pile up': body('const all = []; for (;;) all.push(new Uint8Array(1e6).fill(1));', MEMORY),
  'a string that doubles': body('let text = "x"; for (;;) text = (text + text).replace("xy", "");', MEMORY),
  'an array that is joined': body('return new Array(2 ** 28).join("xy").length;', MEMORY),
  'a BigInt that squares': body('let x = 3n; for (;;) x *= x;', MEMORY),
  'a pattern that goes back and back': body('return /^(a+)+$/.test("a".repeat(40) + "b");', TIME),
  'deep JSON': body('let text = "[".repeat(4e6); return JSON.parse(text);', MEMORY),
  'a deep result': body('let x = {}; for (let i = 0; i < 1e6; i++) x = { x }; return x;', MEMORY),
  'endless recursion': body('const f = () => f() + 1; return f();', FAILS),
  'functions made of text': body('for (let i = 0; ; i++) new Function("return " + i)();', TIME.concat(MEMORY)),
  'sorting that does not end': body('return Array.from({ length: 1e4 }, (_, i) => i).sort(() => { for (;;); });', TIME),
  'timers without end': body('const f = () => setTimeout(f, 0); f(); await new Promise(() => {});', TIME),
  'too many timers': body('for (;;) setTimeout(() => {}, 1e6);', FAILS),
  'log lines without end': body('for (;;) console.log("x".repeat(1e4));', TIME),
  'questions to the host without end': body('for (;;) ctx.documents("a").get("1");', MEMORY),
  'answers of the host awaited without end': body('for (;;) await ctx.documents("a").get("1");', FAILS),
  'an argument that is too long': body('await ctx.documents("a").create({ x: "ä".repeat(9e5) });', FAILS),
  'a result that is too long': body('return "ä".repeat(4e6);', FAILS),
  'an error with a long message': body('throw new Error("x".repeat(2e7));', FAILS),
  'an error whose stack is a getter without end': body(
    'const e = new Error("x"); Object.defineProperty(e, "stack", { get() { for (;;); } }); throw e;',
    TIME,
  ),
  'a getter without end in the result': body('return { get x() { for (;;); } };', TIME),
  'a proxy without end as the result': body(
    'return new Proxy({}, { ownKeys: () => Array.from({ length: 1e6 }, (_, i) => "k" + i), getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }), get: () => 1 });',
    ['value', ...MEMORY],
  ),
  'a result that calls itself': body('const x = { toJSON: () => ({ x }) }; return x;', MEMORY),
  'addresses without end': body('for (let i = 0; ; i++) new URL("https://example.com/" + i);', TIME),
  'formats of Intl without end': body('const all = []; for (;;) all.push(new Intl.NumberFormat("de-DE"));', MEMORY),
};
