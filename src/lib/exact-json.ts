/**
 * JSON.parse with correct field names. In Node 24 and 26, V8's JSON.parse can confuse a name that is written with an
 * escape with another name that it has parsed before (nodejs/node#63785): after `{"id":1,"\\":1}` anywhere in the
 * process, it reads `{"id":1,"\n":1}` as `{"id":1,"\\":1}`, because it compares the raw text with the name that it
 * expects next. So one client's body could change another's. Names written without a backslash are correct, and so are
 * all values.
 */
type Holder = unknown[] | Record<string, unknown>;

const NAME_ENDS = /[ \t\r\n]*:/y;
const SCALAR = /[^ \t\r\n,\]}]+/y;

/** The correct result of JSON.parse. @throws SyntaxError as JSON.parse does */
export function parseJsonExactNames(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return hasEscapedName(text) ? readValid(text) : value;
}

/** Whether a name in a valid text is written with an escape. In valid JSON every backslash is inside a string. */
function hasEscapedName(text: string): boolean {
  let at = text.indexOf('\\');
  while (at >= 0) {
    const end = endOfString(text, at);
    if (isNameEnd(text, end)) return true;
    at = text.indexOf('\\', end);
  }
  return false;
}

/** Builds the value of a text that JSON.parse has accepted, so nothing is checked here. Without recursion. */
function readValid(text: string): unknown {
  const outer: Holder[] = [];
  let holder: Holder = [];
  let name = '';
  const take = (value: unknown): void => {
    if (Array.isArray(holder)) holder.push(value);
    else setOwn(holder, name, value);
  };
  const top = holder;
  let at = 0;
  while (at < text.length) {
    const char = text[at];
    if (char === '"') {
      const end = endOfString(text, at + 1);
      const string = readString(text.slice(at, end));
      if (isNameEnd(text, end)) name = string;
      else take(string);
      at = end;
    } else if (char === '{' || char === '[') {
      const inner: Holder = char === '{' ? {} : [];
      take(inner);
      outer.push(holder);
      holder = inner;
      at++;
    } else if (char === '}' || char === ']') {
      holder = outer.pop() ?? top;
      at++;
    } else if (char === ':' || char === ',' || char === ' ' || char === '\n' || char === '\r' || char === '\t') {
      at++;
    } else {
      SCALAR.lastIndex = at;
      const scalar = SCALAR.exec(text)?.[0] ?? '';
      take(readScalar(scalar));
      at += scalar.length;
    }
  }
  return top[0];
}

/** The position after the closing quote of the string around `inside`. */
function endOfString(text: string, inside: number): number {
  let at = inside;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function isNameEnd(text: string, end: number): boolean {
  NAME_ENDS.lastIndex = end;
  return NAME_ENDS.test(text);
}

/** A single string has no field names, so JSON.parse reads it correctly. */
function readString(quoted: string): string {
  return quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}

function readScalar(scalar: string): unknown {
  switch (scalar) {
    case 'true':
      return true;
    case 'false':
      return false;
    case 'null':
      return null;
    default:
      return Number(scalar);
  }
}

/** As JSON.parse does, also for `__proto__`. */
function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') target[name] = value;
  else Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
