/**
 * The declarations that authors of functions write against, as the text of `plugins/millrace.d.ts`: what each kind of function
 * gets, what `ctx` can do, and the collections as their newest documents show them. Pure. Not here: looking at the collections
 * (collections/sample), and who asks for the text (http/author-type-routes.ts, and the command line).
 */
import { UPDATE_OPERATORS } from '../../../collections/patch/update-operators.ts';
import type { SeenCollection } from '../../../collections/sample/seen-collections.ts';
import { ERRORS } from '../../../kernel/errors.ts';
import { USUAL_SYSTEM_TYPES } from '../../../kernel/event-types.ts';
import { CONTEXT_TEXT, DOCUMENTS_TEXT } from './context-text.ts';
import { GLOBALS_TEXT } from './globals-text.ts';
import { KINDS_TEXT } from './kinds-text.ts';
import { membersText, nameText } from './member-text.ts';

/** Members that stand in the type `Stored` already. */
const OF_THE_SERVER = new Set(['id', '_meta']);

/** @param collections those whose documents get types of their own; the others are as any collection */
export function authorTypes(collections: readonly SeenCollection[]): string {
  return `// Types for functions of Millrace. Made by: millrace functions types. What is changed here is lost with the next run.

declare namespace Millrace {
  /** What the newest documents of each collection look like. It promises nothing of others. */
  interface Collections {
${collections.map(collectionText).join('')}  }
${DOCUMENTS_TEXT}
  type Operators = { readonly [O in ${union([...UPDATE_OPERATORS.keys()])}]?: { readonly [path: string]: unknown } };
${KINDS_TEXT}
  /** What happens besides changes of documents, whose types are such as 'orders.created'. */
  type SystemEventType =${listed(USUAL_SYSTEM_TYPES)};
${CONTEXT_TEXT}
  type ErrorCode =${listed(Object.keys(ERRORS))};
}
${GLOBALS_TEXT}`;
}

function collectionText({ name, sampled, members }: SeenCollection): string {
  const own = Object.fromEntries(Object.entries(members).filter(([member]) => !OF_THE_SERVER.has(member)));
  const text = `{\n${membersText(own, '      ')}    }`;
  return `    /** From its ${sampled} newest documents. */\n    ${nameText(name)}: ${text};\n`;
}

function union(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(' | ');
}

function listed(words: readonly string[]): string {
  return words.map((word) => `\n    | '${word}'`).join('');
}
