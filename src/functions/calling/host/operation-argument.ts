/**
 * Reads the argument of a host operation field by field. It comes from untrusted code: every field is checked before it
 * is used. Pure.
 */
import { parseStrictJson } from '../../../database/json/parse-json.ts';
import { MillraceError } from '../../../lib/errors.ts';
import { isPlainObject } from '../../../lib/plain-object.ts';
import type { JsonObject } from '../../sandbox/host-schemas.ts';

/** Fields that hold a whole HTTP body: pointers in their errors are relative to that body. */
const BODY = /^\/(?:document|changes|operators)(?=\/|$)/;

export class OperationArgument {
  readonly fields: JsonObject;

  /**
   * @param text JSON
   * @throws MillraceError as `parseStrictJson`, with the same pointers as over HTTP; `invalid-parameter`
   */
  constructor(text: string) {
    const value = parsed(text);
    if (!isPlainObject(value)) throw new MillraceError('invalid-parameter', 'The argument must be an object');
    this.fields = value;
  }

  /** @throws MillraceError `invalid-parameter` */
  text(name: string): string {
    const value = this.fields[name];
    if (typeof value === 'string') return value;
    throw wrong(name, 'a string');
  }

  /** @throws MillraceError `invalid-parameter` */
  optionalText(name: string): string | undefined {
    return this.fields[name] === undefined ? undefined : this.text(name);
  }

  /** @throws MillraceError `invalid-parameter` */
  optionalNumber(name: string): number | undefined {
    const value = this.fields[name];
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
    throw wrong(name, 'a number');
  }

  /** @throws MillraceError `invalid-body-type` */
  object(name: string): JsonObject {
    const value = this.fields[name];
    if (isPlainObject(value)) return value;
    throw new MillraceError('invalid-body-type', `'${name}' must be an object`);
  }

  /**
   * Names and texts.
   * @throws MillraceError `invalid-parameter`
   */
  texts(name: string): Readonly<Record<string, string>> {
    const value = this.fields[name] ?? {};
    if (!isPlainObject(value)) throw wrong(name, 'an object of strings');
    const found: [string, string][] = [];
    for (const [key, text] of Object.entries(value)) {
      if (typeof text !== 'string') throw wrong(name, 'an object of strings');
      found.push([key, text]);
    }
    return Object.fromEntries(found);
  }

  /**
   * Bytes given as `text` (UTF-8) or as `base64`; undefined without both.
   * @throws MillraceError `invalid-parameter`
   */
  bytes(): Buffer | undefined {
    const [text, base64] = [this.optionalText('text'), this.optionalText('base64')];
    if (text !== undefined && base64 !== undefined) throw wrong('text', 'absent where base64 is given');
    return text === undefined ? (base64 && Buffer.from(base64, 'base64')) || emptied(base64) : Buffer.from(text);
  }
}

function emptied(base64: string | undefined): Buffer | undefined {
  return base64 === undefined ? undefined : Buffer.alloc(0);
}

function parsed(text: string): unknown {
  try {
    return parseStrictJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    throw error.with({ issues: error.issues.map((issue) => ({ ...issue, pointer: issue.pointer.replace(BODY, '') })) });
  }
}

function wrong(name: string, expected: string): MillraceError {
  return new MillraceError('invalid-parameter', `'${name}' must be ${expected}`);
}
