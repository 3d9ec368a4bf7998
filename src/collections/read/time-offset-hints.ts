/**
 * Times as texts with different offsets: texts are compared as texts, so such a condition matches other documents than
 * intended. Pure.
 */
import type { Document } from 'mongodb';
import { isEmbeddedDocument } from '../../query/evaluate/bson-order.ts';
import { clientPath, splitPath } from '../../query/field-paths.ts';
import { forEachFieldTest, type UnboundFilter } from '../../query/filter.ts';
import { MAX_HINT_VALUE_CHARACTERS, quoteHintValue } from './value-hints.ts';

/** A comparison with a time. */
export interface TimeComparison {
  /** Stored path. */
  readonly path: string;
  readonly text: string;
}

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)$/;
/** Texts of one document that are checked. */
const MAX_TEXTS = 20;

/** The conditions of a filter that compare texts with a time that has an offset. */
export function findTimeComparisons(filter: UnboundFilter): readonly TimeComparison[] {
  const found: TimeComparison[] = [];
  forEachFieldTest(filter, (test, path) => {
    const values = test.op === 'in' || test.op === 'all' ? test.values : 'value' in test ? [test.value] : [];
    for (const text of values) if (typeof text === 'string' && TIME.test(text)) found.push({ path, text });
  });
  return found;
}

/** A sentence for each condition on a field of these documents whose texts are times with another offset. */
export function timeOffsetHints(
  requested: readonly TimeComparison[],
  documents: readonly Document[],
): readonly string[] {
  const sentences = requested.flatMap(({ path, text }) => {
    const offset = offsetOf(text);
    const texts = documents.flatMap((document) => textsAt(document, splitPath(path)).slice(0, MAX_TEXTS));
    const other = texts.find((one) => TIME.test(one) && offsetOf(one) !== offset);
    const meant = other === undefined ? null : inFormOf(text, other);
    if (other === undefined || meant === null) return [];
    const name = clientPath(path).slice(0, MAX_HINT_VALUE_CHARACTERS);
    const written = `${meant}${meant.includes('+') ? ` (in a URL ${meant.replace('+', '%2B')})` : ''}`;
    return [
      `'${name}' contains times as strings with another offset, such as ${quoteHintValue(other)}, and is compared with ${quoteHintValue(text)} as a string; that time is written ${written} there.`,
    ];
  });
  return [...new Set(sentences)];
}

function offsetOf(text: string): string {
  const offset = TIME.exec(text)?.[4] ?? '';
  return /^[+-]00:?00$/.test(offset) ? 'Z' : offset.replace(':', '');
}

function textsAt(value: unknown, steps: readonly string[]): string[] {
  if (Array.isArray(value)) return value.slice(0, MAX_TEXTS).flatMap((one) => textsAt(one, steps));
  const [step, ...rest] = steps;
  if (step === undefined) return typeof value === 'string' ? [value] : [];
  return isEmbeddedDocument(value) && Object.hasOwn(value, step) ? textsAt(value[step], rest) : [];
}

/** The instant of a time, with the offset and the digits of another one; null for a day that does not exist. */
function inFormOf(text: string, other: string): string | null {
  const [, minute = '', second = '00', fraction = '', offset = ''] = TIME.exec(text) ?? [];
  const [, , otherSecond, otherFraction = '', otherOffset = ''] = TIME.exec(other) ?? [];
  const time = Date.parse(`${minute}:${second}Z`) + (minutesOf(otherOffset) - minutesOf(offset)) * 60_000;
  if (Number.isNaN(time) || Math.abs(time) > Date.parse('9999-12-31T23:59:59Z')) return null;
  const [shifted = ''] = new Date(time).toISOString().split('.');
  const digits = fraction === '' && otherFraction === '' ? '' : `.${fraction.padEnd(otherFraction.length || 3, '0')}`;
  const short = otherSecond === undefined && second === '00' && digits === '';
  return `${short ? shifted.slice(0, 16) : shifted}${digits}${otherOffset}`;
}

function minutesOf(offset: string): number {
  const [, sign = '+', hours = '0', minutes = '0'] = /^([+-])(\d\d):?(\d\d)$/.exec(offset) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}
