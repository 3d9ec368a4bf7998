/**
 * The argument of a host operation, read member by member. It comes from code that is not trusted: every member is checked here
 * before it is used. Pure. Not here: what the members mean.
 */
import { parseJson } from '../../../database/json/parse-json.ts';
import { MillraceError } from '../../../kernel/errors.ts';
import { isPlain } from '../../../kernel/objects.ts';
import type { HostObject } from '../../sandbox/host-shapes.ts';

/** Members that stand for a whole body over HTTP: the places of its faults begin there. */
const BODY = /^\/(?:document|changes|operators)(?=\/|$)/;

export class Argument {
  readonly members: HostObject;

  /**
   * @param text JSON
   * @throws MillraceError as `parseJson`, with places as over HTTP; `invalid-parameter`
   */
  constructor(text: string) {
    const value = parsed(text);
    if (!isPlain(value)) throw new MillraceError('invalid-parameter', 'The argument must be an object');
    this.members = value;
  }

  /** @throws MillraceError `invalid-parameter` */
  text(name: string): string {
    const value = this.members[name];
    if (typeof value === 'string') return value;
    throw wrong(name, 'a string');
  }

  /** @throws MillraceError `invalid-parameter` */
  optionalText(name: string): string | undefined {
    return this.members[name] === undefined ? undefined : this.text(name);
  }

  /** @throws MillraceError `invalid-parameter` */
  optionalNumber(name: string): number | undefined {
    const value = this.members[name];
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
    throw wrong(name, 'a number');
  }

  /** @throws MillraceError `body-type` */
  object(name: string): HostObject {
    const value = this.members[name];
    if (isPlain(value)) return value;
    throw new MillraceError('body-type', `'${name}' must be an object`);
  }

  /** Names and texts. @throws MillraceError `invalid-parameter` */
  texts(name: string): Readonly<Record<string, string>> {
    const value = this.members[name] ?? {};
    if (!isPlain(value)) throw wrong(name, 'an object of strings');
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
    if (text !== undefined && base64 !== undefined) throw wrong('text', 'left out where base64 is given');
    return text === undefined ? (base64 && Buffer.from(base64, 'base64')) || emptied(base64) : Buffer.from(text);
  }
}

function emptied(base64: string | undefined): Buffer | undefined {
  return base64 === undefined ? undefined : Buffer.alloc(0);
}

function parsed(text: string): unknown {
  try {
    return parseJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    throw error.with({ faults: error.faults.map((fault) => ({ ...fault, pointer: fault.pointer.replace(BODY, '') })) });
  }
}

function wrong(name: string, expected: string): MillraceError {
  return new MillraceError('invalid-parameter', `'${name}' must be ${expected}`);
}
