/**
 * Redacts the secrets of a plugin in everything shown or stored of its calls: verbatim, and encoded as base64, hex, part of a
 * URL, and inside JSON. Texts of code have a maximum length, so one may end in the middle of a secret: such a prefix is redacted
 * too. A secret that the code itself splits or encrypts is not found. Pure.
 */
import { escapeRegExp } from '../../lib/escape-reg-exp.ts';
import type { Plugin } from './plugin.ts';

const BLANK = '[secret]';
/** The base64 of a shorter text would match many texts by chance. */
const MIN_BASE64 = 6;
/** Minimum length of a secret's prefix at the end of a text: a shorter one matches by chance. */
const MIN_CUT = 8;

export type Redactor = (text: string) => string;

const KNOWN = new WeakMap<Plugin['secrets'], Redactor>();

/** Redacts the secrets of one plugin. */
export function pluginRedactor({ secrets }: Pick<Plugin, 'secrets'>): Redactor {
  const known = KNOWN.get(secrets);
  if (known !== undefined) return known;
  const blank = redactEach(Object.values(secrets));
  KNOWN.set(secrets, blank);
  return blank;
}

/** The same with additional texts, such as a credential of one call. */
export function callRedactor(plugin: Pick<Plugin, 'secrets'>, others: readonly string[] = []): Redactor {
  return others.length === 0 ? pluginRedactor(plugin) : redactEach([...Object.values(plugin.secrets), ...others]);
}

function redactEach(values: readonly string[]): Redactor {
  const forms = [...new Set(values.filter((value) => value !== '').flatMap(formsOf))].sort(
    (a, b) => b.length - a.length,
  );
  if (forms.length === 0) return (text) => text;
  const pattern = new RegExp(forms.map(escapeRegExp).join('|'), 'g');
  const long = forms.filter(({ length }) => length > MIN_CUT);
  return (text) => withoutBegun(text.replace(pattern, BLANK), long);
}

/** The text without the prefix of a secret at its end. */
function withoutBegun(text: string, forms: readonly string[]): string {
  for (const form of forms) {
    const head = form.slice(0, MIN_CUT);
    let at = text.indexOf(head, Math.max(0, text.length - form.length));
    while (at >= 0 && !form.startsWith(text.slice(at))) at = text.indexOf(head, at + 1);
    if (at >= 0) return `${text.slice(0, at)}${BLANK}`;
  }
  return text;
}

function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  const percent = encodeURIComponent(value.toWellFormed());
  const escaped = JSON.stringify(value).slice(1, -1);
  // URL parsing lower-cases host names.
  const texts = [value, value.toLowerCase(), escaped, JSON.stringify(escaped).slice(1, -1), ascii(escaped)];
  const addresses = [
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    asForm(value),
    encodeURI(value.toWellFormed()),
  ];
  const lines = value.includes('\n') ? value.split('\n').filter((line) => line.length >= 8) : [];
  // `btoa` encodes each character as one byte where it can.
  const base64 = [bytes, Buffer.from(value, 'latin1'), Buffer.from(escaped)].flatMap(base64Of);
  const base64InUrl = base64.map((text) => encodeURIComponent(text));
  return [...texts, ...addresses, ...lines, hex, hex.toUpperCase(), ...base64, ...base64InUrl];
}

/** As `application/x-www-form-urlencoded`, with `+` for a space. */
function asForm(value: string): string {
  return new URLSearchParams([['', value]]).toString().slice(1);
}

/** With all non-ASCII characters escaped as in JSON. */
function ascii(escaped: string): string {
  return escaped.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * The base64 characters that the bytes alone determine, at each of the three offsets at which they can begin in a longer text:
 * three bytes are four characters.
 */
function base64Of(bytes: Buffer): readonly string[] {
  return [0, 1, 2].flatMap((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const inner = text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
    return inner.length < MIN_BASE64 ? [] : [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
