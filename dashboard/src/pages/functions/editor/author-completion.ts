/**
 * Completion for scripts from the declarations that authors write against (GET /admin/plugin-types): what `ctx` and what
 * comes from it has, and names of collections. It reads the declarations by their form; it is no compiler.
 */
import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete';
import { localCompletionSource } from '@codemirror/lang-javascript';

interface Member {
  readonly name: string;
  /** What follows the name in the declarations. */
  readonly tail: string;
  readonly about: string;
  /** The interface that it is or gives; null for another type. */
  readonly type: string | null;
}

interface Declared {
  readonly members: readonly Member[];
  readonly parent: string | null;
}

type Declarations = ReadonlyMap<string, Declared>;

/** So much of the script before the cursor is looked at. */
const LOOKED_AT = 2_000;
const INTERFACE = /^ {2}interface (\w+)(?:<.*?>)?(?: extends (\w+).*)? \{$/;
const MEMBER = /^ {4}(?:readonly )?'?([\w-]+)'?\??((?::|\(|<).*)$/;

/** @param text the declarations */
export function authorCompletion(text: string): CompletionSource {
  const declared = readDeclarations(text);
  const collections = declared.get('Collections')?.members.map(({ name }) => name) ?? [];
  return (context) => {
    const before = context.state.sliceDoc(Math.max(0, context.pos - LOOKED_AT), context.pos);
    const quoted = /documents\(\s*['"]([\w-]*)$/.exec(before)?.[1];
    if (quoted !== undefined) {
      return { from: context.pos - quoted.length, options: collections.map((label) => ({ label, type: 'constant' })) };
    }
    const script = context.state.doc.toString();
    return membersAt(before, script, declared, context) ?? localCompletionSource(context);
  };
}

function membersAt(
  before: string,
  script: string,
  declared: Declarations,
  context: CompletionContext,
): CompletionResult | null {
  const found = /([A-Za-z_$][\w$]*)((?:\.\w+(?:\([^()]*\))?)*)\.(\w*)$/.exec(before);
  if (found === null) return null;
  const [, root = '', steps = '', typed = ''] = found;
  const type = typeOf(root, steps, script, declared);
  const members = type === null ? [] : membersOf(type, declared);
  if (members.length === 0) return null;
  return { from: context.pos - typed.length, options: members.map(toCompletion), validFor: /^\w*$/ };
}

/** The interface of an expression such as `ctx.documents('todos')`, or of a variable that was made of one. */
function typeOf(root: string, steps: string, script: string, declared: Declarations): string | null {
  if (root !== 'ctx') {
    const made = new RegExp(`(?:const|let) ${root.replaceAll('$', '\\$')} = ctx((?:\\.\\w+(?:\\([^()]*\\))?)+)`).exec(
      script,
    );
    return made === null ? null : typeOf('ctx', `${made[1] ?? ''}${steps}`, script, declared);
  }
  let type: string | null = script.includes('Millrace.Before') ? 'ReadingContext' : 'Context';
  for (const [, name] of steps.matchAll(/\.(\w+)/g)) {
    if (type === null) return null;
    type = membersOf(type, declared).find((member) => member.name === name)?.type ?? null;
  }
  return type;
}

/** Its own and those that it inherits, each name once. */
function membersOf(type: string, declared: Declarations): readonly Member[] {
  const found = declared.get(type);
  if (found === undefined) return [];
  const inherited = found.parent === null ? [] : membersOf(found.parent, declared);
  const all = [...found.members, ...inherited];
  return all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index);
}

function toCompletion({ name, tail, about }: Member): Completion {
  return {
    label: name,
    type: tail.startsWith(':') ? 'property' : 'method',
    detail: tail.replace(/;$/, ''),
    ...(about === '' ? {} : { info: about }),
  };
}

function readDeclarations(text: string): Declarations {
  const declared = new Map<string, Declared>();
  let open: { name: string; parent: string | null; members: Member[] } | null = null;
  let about: string[] = [];
  for (const line of text.split('\n')) {
    const begins = INTERFACE.exec(line);
    if (begins !== null) {
      const [, name = '', parent = null] = begins;
      open = { name, parent, members: [] };
      about = [];
    } else if (open !== null && line === '  }') {
      declared.set(open.name, open);
      open = null;
    } else if (open !== null) {
      const comment = /^ {4}(?:\/\*\*| \*(?!\/)) ?(.*?)(?: \*\/)?$/.exec(line)?.[1];
      const member = MEMBER.exec(line);
      if (comment !== undefined) about.push(comment);
      else if (member !== null) {
        const [, name = '', tail = ''] = member;
        const type = /(?:^|\)): (?:Promise<)?(\w+)/.exec(tail)?.[1] ?? null;
        open.members.push({ name, tail, about: about.join(' ').trim(), type });
        about = [];
      }
    }
  }
  return declared;
}
