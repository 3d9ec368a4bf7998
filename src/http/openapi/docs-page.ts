/**
 * The contract as a page for people: plain HTML made on the server, without scripts and without anything from elsewhere.
 * Pure. Not here: what stands in the contract (openapi.ts).
 */
import { STYLE } from './docs-style.ts';
import type { OpenApi } from './openapi.ts';
import type { WrittenOperation } from './write-operation.ts';

/** Refusals that any request may meet: said once, at the top. */
const ANYWHERE: ReadonlySet<string> = new Set(['401', '403', '414', '421', '429', '431', '500', '503']);

/** The page. Whatever names it shows are text, also those that clients chose. */
export function toPage(contract: OpenApi): string {
  const { info, tags, paths, components } = contract;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const sections = tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    const shape = components.schemas[`${name}.Document`];
    return `<section><h2 id="${anchor(name)}">${text(name)}</h2><p>${prose(description)}</p>
${shape === undefined ? '' : members(shape)}${own.map((one) => operationHtml(one, contract)).join('\n')}</section>`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(info.title)} API</title><style>${STYLE}</style></head><body><main>
<h1>${text(info.title)} <small>${text(info.version)}</small></h1>
<p>${prose(info.description)}</p><p>For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).
Any request may also meet ${[...ANYWHERE].join(', ')}; what each code means stands there.</p>
<nav aria-label="Sections"><ul>${[...tags.map(({ name }) => name), 'Shapes']
    .map((name) => `<li><a href="#${anchor(name)}">${text(name)}</a></li>`)
    .join('')}</ul></nav>
${sections.join('\n')}
<section><h2 id="${anchor('Shapes')}">Shapes</h2><p>As JSON Schema.</p>${Object.entries(components.schemas)
    .map(([name, schema]) => shapeHtml(name, schema))
    .join('\n')}</section>
</main></body></html>
`;
}

interface Shown {
  readonly path: string;
  readonly method: string;
  readonly operation: WrittenOperation;
}

function operationHtml({ path, method, operation }: Shown, { components }: OpenApi): string {
  const named = (one: object, among: Readonly<Record<string, object>>): object =>
    '$ref' in one ? (among[String(one.$ref).split('/').at(-1) ?? ''] ?? {}) : one;
  const { summary, description, parameters = [], requestBody, responses, operationId } = operation;
  return `<details id="${anchor(operationId)}"><summary><span class="method ${method}">${method.toUpperCase()}</span>
<code>${text(path)}</code><span>${text(summary)}</span></summary><div>
${description === undefined ? '' : `<p>${prose(description)}</p>`}
${table(
  'Parameters',
  parameters.map((one) => parameterRow(named(one, components.parameters))),
)}${table('Body', mediaOf(requestBody))}${table(
  'Answers',
  Object.entries(responses)
    .filter(([status]) => !ANYWHERE.has(status))
    .map(([status, answer]) => [`<code>${status}</code>`, answerHtml(named(answer, components.responses))]),
)}</div></details>`;
}

function parameterRow(one: object): [string, string] {
  const member = (name: string): string => String(Object.entries(one).find(([known]) => known === name)?.[1] ?? '');
  return [
    `<code>${text(member('name'))}</code>`,
    `${prose(member('description'))} <small>${text(member('in'))}</small>`,
  ];
}

function answerHtml(answer: object): string {
  const description = 'description' in answer ? String(answer.description) : '';
  const media = mediaOf(answer).filter(([type]) => !type.includes('problem+json'));
  const lines = description.split('\n').map(prose).join('<br>');
  return `${lines}${media.map(([type, shape]) => `<small>${type} ${shape}</small>`).join('')}`;
}

/** Media types and the shapes behind them. */
function mediaOf(holder: object | undefined): [string, string][] {
  if (holder === undefined || !('content' in holder) || typeof holder.content !== 'object') return [];
  return Object.entries(holder.content ?? {}).map(([type, media]) => [
    `<code>${text(type)}</code>`,
    shapeName(typeof media === 'object' && media !== null && 'schema' in media ? media.schema : {}),
  ]);
}

/** A schema in a few words, with a link where it has a name. */
function shapeName(schema: unknown): string {
  if (typeof schema !== 'object' || schema === null) return 'anything';
  if ('$ref' in schema) {
    const name = String(schema.$ref).split('/').at(-1) ?? '';
    return `<a href="#${anchor(`shape ${name}`)}">${text(name)}</a>`;
  }
  if ('oneOf' in schema && Array.isArray(schema.oneOf)) return schema.oneOf.map(shapeName).join(' or ');
  if ('items' in schema) return `list of ${shapeName(schema.items)}`;
  if ('properties' in schema)
    return `object of ${Object.keys(schema.properties ?? {})
      .map((name) => `<code>${text(name)}</code>`)
      .join(', ')}`;
  return 'type' in schema ? text(String(schema.type)) : 'anything';
}

function members(shape: object): string {
  const properties: unknown = 'properties' in shape ? shape.properties : {};
  return table(
    'Members seen',
    Object.entries(properties ?? {}).map(([name, schema]) => [
      `<code>${text(name)}</code>`,
      text(typeof schema === 'object' && schema !== null && 'description' in schema ? String(schema.description) : ''),
    ]),
  );
}

function shapeHtml(name: string, schema: object): string {
  return `<details id="${anchor(`shape ${name}`)}"><summary><code>${text(name)}</code></summary><div>
<pre tabindex="0">${text(JSON.stringify(schema, null, 2))}</pre></div></details>`;
}

function table(title: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return '';
  return `<h3>${title}</h3><table>${rows.map(([head, cell]) => `<tr><th scope="row">${head}</th><td>${cell}</td></tr>`).join('')}</table>`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function text(value: string): string {
  return value.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

/** Text in which backticks mark code. */
function prose(value: string): string {
  return text(value).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function anchor(name: string): string {
  return name.replace(/[^A-Za-z0-9_.-]+/g, '-');
}
