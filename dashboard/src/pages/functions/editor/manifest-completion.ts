/**
 * Completion for plugin.json from its schema in the OpenAPI document: fields with their descriptions, and enumerated
 * values.
 */
import type { CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete';
import { syntaxTree } from '@codemirror/language';

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly $ref?: string;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface Operation {
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> };
}

/** @param openApi /openapi.json */
export function manifestCompletion(openApi: OpenApi): CompletionSource {
  const real = (schema: Schema | undefined): Schema | undefined => {
    const name = schema?.$ref?.split('/').at(-1);
    return name === undefined ? schema : real(openApi.components?.schemas?.[name]);
  };
  const put = openApi.paths['/admin/plugins/{name}']?.['put'] as Operation | undefined;
  const body = real(put?.requestBody?.content?.['application/json']?.schema);
  const root = real(body?.properties?.['manifest']);
  return (context) => {
    let schema = root;
    for (const part of pathAt(context)) {
      schema = real(part === null ? schema?.items : schema?.properties?.[part]);
      schema = schema?.anyOf === undefined ? schema : (schema.anyOf.map(real).find((one) => one?.enum) ?? schema);
    }
    return schema === undefined ? null : suggestions(context, schema);
  };
}

/** The fields and lists around the cursor, from outside; null for an item of a list. */
function pathAt({ state, pos }: CompletionContext): readonly (string | null)[] {
  const path: (string | null)[] = [];
  for (let node = syntaxTree(state).resolveInner(pos, -1); node.parent !== null; node = node.parent) {
    if (node.name === 'Property' && node.firstChild !== null && pos > node.firstChild.to) {
      path.unshift(unquoted(state.sliceDoc(node.firstChild.from, node.firstChild.to)));
    }
    if (node.name === 'Array') path.unshift(null);
  }
  return path;
}

function suggestions(context: CompletionContext, schema: Schema): CompletionResult | null {
  const typed = context.matchBefore(/"?[\w$]*$/);
  if (typed === null || (typed.text === '' && !context.explicit)) return null;
  if (schema.enum !== undefined) {
    return { from: typed.from, options: schema.enum.map((one) => ({ label: JSON.stringify(one), type: 'constant' })) };
  }
  if (schema.properties === undefined) return null;
  const options = Object.entries(schema.properties).map(([name, field]) => ({
    label: JSON.stringify(name),
    apply: `${JSON.stringify(name)}: `,
    type: 'property',
    ...(typeof field.type === 'string' ? { detail: field.type } : {}),
    ...(field.description === undefined ? {} : { info: field.description }),
  }));
  return { from: typed.from, options };
}

function unquoted(text: string): string {
  return text.replace(/^"|"$/g, '');
}
