/** The part of the OpenAPI document that has some tags, with only the components that it refers to. Pure. */
import { MillraceError } from '../../lib/errors.ts';
import type { OpenApiDocument } from './openapi.ts';

type Kind = Exclude<keyof OpenApiDocument['components'], 'securitySchemes'>;

/**
 * @param requested names of tags; `documents` stands also for all that begin with `documents/`
 * @throws MillraceError `invalid-parameter` if there is no such tag
 */
export function filterByTags(whole: OpenApiDocument, requested: readonly string[]): OpenApiDocument {
  const has = (tag: string, one: string) => tag === one || tag.startsWith(`${one}/`);
  const unknown = requested.find((one) => !whole.tags.some(({ name }) => has(name, one)));
  if (unknown !== undefined) {
    const known = whole.tags.map(({ name }) => name).filter((name) => !name.includes('/'));
    throw new MillraceError('invalid-parameter', `The parameter 'tags' names no tag '${unknown.slice(0, 80)}'`, {
      hint: `The tags are ${known.join(', ')}, and documents/{collection} and functions/{plugin}.`,
    });
  }
  const isRequested = (tag: string) => requested.some((one) => has(tag, one));
  const paths = Object.fromEntries(
    Object.entries(whole.paths).flatMap(([path, methods]) => {
      const kept = Object.entries(methods).filter(([, { tags }]) => tags.some(isRequested));
      return kept.length === 0 ? [] : [[path, Object.fromEntries(kept)]];
    }),
  );
  const tags = whole.tags.filter(({ name }) => isRequested(name));
  return { ...whole, tags, paths, components: { ...whole.components, ...referred(whole.components, paths) } };
}

/** The components that a value refers to, and those that these refer to, in the order that they have. */
function referred(components: OpenApiDocument['components'], from: object): Record<Kind, Record<string, object>> {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const reference = '$ref' in value ? value.$ref : undefined;
    if (typeof reference === 'string' && !found.has(reference)) {
      found.add(reference);
      const [kind, name] = reference.split('/').slice(-2);
      look(components[kind as Kind]?.[name ?? '']);
    }
    for (const inner of Object.values(value)) look(inner);
  };
  look(from);
  const kept = (kind: Kind) =>
    Object.fromEntries(Object.entries(components[kind]).filter(([name]) => found.has(`#/components/${kind}/${name}`)));
  return {
    schemas: kept('schemas'),
    parameters: kept('parameters'),
    responses: kept('responses'),
    headers: kept('headers'),
  };
}
