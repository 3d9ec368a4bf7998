/**
 * The language of templates: `{{name}}` is a variable, and there is nothing else. HTML values are escaped, and a
 * subject stays one line, so any value is plain text. Pure.
 */
import { didYouMeanHint } from '../lib/did-you-mean.ts';
import type { Issue } from '../lib/errors.ts';
import type { EmailDefinition } from './locales/email-types.ts';

export interface EmailTemplate {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Maximum lengths of the parts of a template, in characters. */
export const TEMPLATE_LIMITS: Readonly<Record<keyof EmailTemplate, number>> = {
  subject: 200,
  text: 20_000,
  html: 60_000,
};

const VARIABLE = /\{\{([^{}]*)\}\}/g;
/** Characters that no header may hold, and that no line of text requiredVariables. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f\u0085\u2028\u2029]+/g;
const PARTS = ['subject', 'text', 'html'] as const;

/** The errors of a template, by JSON Pointer; empty when it can be used. */
export function templateIssues(template: EmailTemplate, { variables, requiredVariables }: EmailDefinition): Issue[] {
  const known = Object.keys(variables);
  const issues = PARTS.flatMap((part) => partIssues(part, template[part], known));
  for (const part of ['text', 'html'] as const) {
    const named = namedIn(template[part]);
    if (requiredVariables.length === 0 || requiredVariables.some((name) => named.includes(name))) continue;
    const requested = requiredVariables.map((name) => `{{${name}}}`).join(' or ');
    issues.push(issue(part, `It must contain ${requested}: without it the e-mail has no purpose`));
  }
  return issues;
}

function partIssues(part: keyof EmailTemplate, text: string, known: readonly string[]): Issue[] {
  const issues: Issue[] = [];
  if (part === 'subject' && new RegExp(CONTROL.source).test(text)) {
    issues.push(issue(part, 'It must be one line, without control characters'));
  }
  if (text.trim() === '') issues.push(issue(part, 'It is empty'));
  for (const name of namedIn(text)) {
    if (known.includes(name)) continue;
    issues.push(issue(part, `There is no variable '${name.slice(0, 40)}'. ${didYouMeanHint(name, known)}`));
  }
  // Two closing braces alone are common in style sheets.
  if (text.replace(VARIABLE, '').includes('{{')) {
    issues.push(issue(part, 'Two opening braces start a variable, such as {{name}}, and this one is not closed'));
  }
  return issues;
}

function namedIn(text: string): string[] {
  return [...new Set([...text.matchAll(VARIABLE)].map(([, name = '']) => name.trim()))];
}

function issue(part: keyof EmailTemplate, detail: string): Issue {
  return { pointer: `/${part}`, code: 'invalid-body', detail };
}

/** Replaces variables by values; one without a value is empty. */
export function renderTemplate(template: EmailTemplate, values: Readonly<Record<string, string>>): EmailTemplate {
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
