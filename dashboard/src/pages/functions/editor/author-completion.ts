/**
 * Completion for scripts from the declarations for authors (GET /admin/plugin-types): the members of `ctx` and of what
 * it returns, and names of collections. It parses the declarations by their form; it is not a compiler.
 */
import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete';
import { localCompletionSource } from '@codemirror/lang-javascript';

interface Field {
  readonly name: string;
  /** What follows the name in the declarations. */
  readonly tail: string;
  readonly about: string;
  /** The interface of its value or result; null for another type. */
  readonly type: string | null;
}

interface Declared {
  readonly fields: readonly Field[];
  readonly parent: string | null;
}

type Declarations = ReadonlyMap<string, Declared>;

/** Characters of the script before the cursor that are read. */
const LOOKED_AT = 2_000;
const INTERFACE = /^ {2}interface (\w+)(?:<.*?>)?(?: extends (\w+).*)? \{$/;
const FIELD = /^ {4}(?:readonly )?'?([\w-]+)'?\??((?::|\(|<).*)$/;

/** @param text the declarations */
export function authorCompletion(text: string): CompletionSource {
  const declared = readDeclarations(text);
  const collections = declared.get('Collections')?.fields.map(({ name }) => name) ?? [];
  return (context) => {
    const before = context.state.sliceDoc(Math.max(0, context.pos - LOOKED_AT), context.pos);
    const quoted = /documents\(\s*['"]([\w-]*)$/.exec(before)?.[1];
    if (quoted !== undefined) {
      return { from: context.pos - quoted.length, options: collections.map((label) => ({ label, type: 'constant' })) };
    }
    const script = context.state.doc.toString();
    return fieldsAt(before, script, declared, context) ?? localCompletionSource(context);
  };
}

function fieldsAt(
  before: string,
  script: string,
  declared: Declarations,
  context: CompletionContext,
): CompletionResult | null {
  const found = /([A-Za-z_$][\w$]*)((?:\.\w+(?:\([^()]*\))?)*)\.(\w*)$/.exec(before);
  if (found === null) return null;
  const [, root = '', steps = '', typed = ''] = found;
  const type = typeOf(root, steps, script, declared);
  const fields = type === null ? [] : fieldsOf(type, declared);
  if (fields.length === 0) return null;
  return { from: context.pos - typed.length, options: fields.map(toCompletion), validFor: /^\w*$/ };
}

/** The interface of an expression such as `ctx.documents('todos')`, or of a variable initialized with one. */
function typeOf(root: string, steps: string, script: string, declared: Declarations): string | null {
  if (root !== 'ctx') {
    const created = new RegExp(
      `(?:const|let) ${root.replaceAll('$', '\\$')} = ctx((?:\\.\\w+(?:\\([^()]*\\))?)+)`,
    ).exec(script);
    return created === null ? null : typeOf('ctx', `${created[1] ?? ''}${steps}`, script, declared);
  }
  let type: string | null = script.includes('Millrace.Before') ? 'ReadingContext' : 'Context';
  for (const [, name] of steps.matchAll(/\.(\w+)/g)) {
    if (type === null) return null;
    type = fieldsOf(type, declared).find((field) => field.name === name)?.type ?? null;
  }
  return type;
}

/** Its own and inherited members, each name once. */
function fieldsOf(type: string, declared: Declarations): readonly Field[] {
  const found = declared.get(type);
  if (found === undefined) return [];
  const inherited = found.parent === null ? [] : fieldsOf(found.parent, declared);
  const all = [...found.fields, ...inherited];
  return all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index);
}

function toCompletion({ name, tail, about }: Field): Completion {
  return {
    label: name,
    type: tail.startsWith(':') ? 'property' : 'method',
    detail: tail.replace(/;$/, ''),
    ...(about === '' ? {} : { info: about }),
  };
}

function readDeclarations(text: string): Declarations {
  const declared = new Map<string, Declared>();
  let open: { name: string; parent: string | null; fields: Field[] } | null = null;
  let about: string[] = [];
  for (const line of text.split('\n')) {
    const begins = INTERFACE.exec(line);
    if (begins !== null) {
      const [, name = '', parent = null] = begins;
      open = { name, parent, fields: [] };
      about = [];
    } else if (open !== null && line === '  }') {
      declared.set(open.name, open);
      open = null;
    } else if (open !== null) {
      const comment = /^ {4}(?:\/\*\*| \*(?!\/)) ?(.*?)(?: \*\/)?$/.exec(line)?.[1];
      const field = FIELD.exec(line);
      if (comment !== undefined) about.push(comment);
      else if (field !== null) {
        const [, name = '', tail = ''] = field;
        const type = /(?:^|\)): (?:Promise<)?(\w+)/.exec(tail)?.[1] ?? null;
        open.fields.push({ name, tail, about: about.join(' ').trim(), type });
        about = [];
      }
    }
  }
  return declared;
}
