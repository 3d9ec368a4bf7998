/**
 * The small language of templates: `{{name}}` stands for a variable, and there is nothing else. In HTML values are escaped, and
 * a subject stays one line, so whatever a value holds, it is text. Pure. Not here: which variables a letter has
 * (letter-kinds.ts), and where templates are kept.
 */
import type { Fault } from '../../kernel/errors.ts';
import { hintFor } from '../../kernel/nearest.ts';
import type { LetterTerms } from './languages/letter-kinds.ts';

export interface LetterTemplate {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Largest parts of a template, in characters. */
export const TEMPLATE_LIMITS: Readonly<Record<keyof LetterTemplate, number>> = {
  subject: 200,
  text: 20_000,
  html: 60_000,
};

const VARIABLE = /\{\{([^{}]*)\}\}/g;
/** Characters that no header may hold, and that no line of text needs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f\u0085\u2028\u2029]+/g;
const PARTS = ['subject', 'text', 'html'] as const;

/** What is wrong with a template, by the place; nothing when it can be used. */
export function templateFaults(template: LetterTemplate, { variables, needs }: LetterTerms): Fault[] {
  const known = Object.keys(variables);
  const faults = PARTS.flatMap((part) => partFaults(part, template[part], known));
  for (const part of ['text', 'html'] as const) {
    const named = namedIn(template[part]);
    if (needs.length === 0 || needs.some((name) => named.includes(name))) continue;
    const wanted = needs.map((name) => `{{${name}}}`).join(' or ');
    faults.push(fault(part, `It must hold ${wanted}: without it the letter is of no use`));
  }
  return faults;
}

function partFaults(part: keyof LetterTemplate, text: string, known: readonly string[]): Fault[] {
  const faults: Fault[] = [];
  if (part === 'subject' && new RegExp(CONTROL.source).test(text)) {
    faults.push(fault(part, 'It must be one line, without control characters'));
  }
  if (text.trim() === '') faults.push(fault(part, 'It is empty'));
  for (const name of namedIn(text)) {
    if (known.includes(name)) continue;
    faults.push(fault(part, `There is no variable '${name.slice(0, 40)}'. ${hintFor(name, known)}`));
  }
  // Two closing braces alone are common in style sheets.
  if (text.replace(VARIABLE, '').includes('{{')) {
    faults.push(fault(part, 'Two opening braces begin a variable, such as {{name}}, and this one does not end'));
  }
  return faults;
}

function namedIn(text: string): string[] {
  return [...new Set([...text.matchAll(VARIABLE)].map(([, name = '']) => name.trim()))];
}

function fault(part: keyof LetterTemplate, detail: string): Fault {
  return { pointer: `/${part}`, code: 'invalid-body', detail };
}

/** Puts values in the places of variables; one without a value is empty. */
export function filled(template: LetterTemplate, values: Readonly<Record<string, string>>): LetterTemplate {
  const fill = (text: string, as: (value: string) => string) =>
    text.replace(VARIABLE, (_whole, name: string) => as(namedValue(values, name.trim())));
  return {
    subject: fill(template.subject, oneLine).replace(CONTROL, ' '),
    text: fill(template.text, oneLine),
    html: fill(template.html, (value) => escaped(oneLine(value))),
  };
}

function namedValue(values: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(values, name) ? (values[name] ?? '') : '';
}

function oneLine(value: string): string {
  return value.replace(CONTROL, ' ');
}

function escaped(value: string): string {
  return value.replace(/[&<>"'`=]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
