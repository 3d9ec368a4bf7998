/** The documents that reference a document or a file. Started by a button, because it searches all collections. */
import { Button, List, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../../api/client.ts';
import { Failure } from '../../../parts/failure.tsx';
import { PageLink } from '../../../parts/page-link.tsx';
import { useAction } from '../../../parts/use-action.ts';
import { type CollectionSchema, schemaPath, shapeOf } from '../parts/collection-schema.ts';
import type { ShapeField } from '../parts/columns.ts';

/** More are not searched, and the result says so. */
const MOST_COLLECTIONS = 50;
/** Listed documents of one collection. */
const SHOWN = 5;

interface Use {
  readonly collection: string;
  readonly ids: readonly string[];
  readonly hasMore: boolean;
}

interface ApiResponse {
  readonly uses: readonly Use[];
  readonly searched: number;
  readonly isComplete: boolean;
}

interface WhereNamedProps {
  readonly id: string;
  /** The label of the button. */
  readonly query: string;
  /** What was searched, for the end of a sentence. */
  readonly where: string;
  /** Whether values of a field may reference it. */
  readonly mayName: (field: ShapeField) => boolean;
}

export function WhereNamed({ id, query, where, mayName }: WhereNamedProps) {
  const [response, setResponse] = useState<ApiResponse | null>(null);
  const { busy, error, run } = useAction();
  return (
    <Stack gap="xs" align="flex-start">
      <Button
        variant="default"
        size="xs"
        loading={busy}
        onClick={() => void run(async () => setResponse(await find(id, mayName)))}
      >
        {query}
      </Button>
      {error === null ? null : <Failure error={error} />}
      <div role="status">
        {response === null || error !== null ? null : <Found response={response} where={where} />}
      </div>
    </Stack>
  );
}

interface FoundProps {
  readonly response: ApiResponse;
  readonly where: string;
}

function Found({ response: { uses, searched, isComplete }, where }: FoundProps) {
  return (
    <Stack gap={4}>
      {uses.length === 0 ? <Text size="sm">No documents reference it.</Text> : null}
      <List size="sm" listStyleType="none">
        {uses.flatMap(({ collection, ids, hasMore }) => [
          ...ids.map((doc) => (
            <List.Item key={`${collection} ${doc}`}>
              {collection}{' '}
              <PageLink to="/data/$collection" params={{ collection }} search={{ doc }} size="sm">
                {doc}
              </PageLink>
            </List.Item>
          )),
          ...(hasMore ? [<List.Item key={`more ${collection}`}>{collection}: more</List.Item>] : []),
        ])}
      </List>
      <Text size="xs" c="dimmed">
        Searched {where} in {searched} {searched === 1 ? 'collection' : 'collections'}
        {isComplete ? '.' : '; there are more collections.'}
      </Text>
    </Stack>
  );
}

async function find(id: string, mayName: WhereNamedProps['mayName']): Promise<ApiResponse> {
  const { body: collections } = await request<readonly { readonly name: string }[]>('GET', '/admin/collections');
  const names = collections.map(({ name }) => name).slice(0, MOST_COLLECTIONS);
  const uses: Use[] = [];
  // One after the other: a search without an index reads the whole collection.
  for (const collection of names) uses.push(...(await usesIn(collection, id, mayName)));
  return { uses, searched: names.length, isComplete: names.length === collections.length };
}

async function usesIn(collection: string, id: string, mayName: WhereNamedProps['mayName']): Promise<readonly Use[]> {
  const resource = encodeURIComponent(collection);
  const { body: schema } = await request<CollectionSchema>('GET', schemaPath(collection));
  const paths = shapeOf(schema)
    .fields.filter((field) => field.path !== 'id' && mayName(field))
    .map(({ path }) => path.replaceAll('[]', ''));
  if (paths.length === 0) return [];
  // By the id itself, or by a URL that contains it.
  const filter = { $or: paths.flatMap((path) => [{ [path]: id }, { [path]: { $contains: id } }]) };
  const body = { filter, fields: ['id'], limit: SHOWN + 1 };
  const { body: found } = await request<readonly { readonly id: string }[]>('POST', `/api/${resource}/_query`, {
    body,
  });
  if (found.length === 0) return [];
  return [{ collection, ids: found.slice(0, SHOWN).map((one) => one.id), hasMore: found.length > SHOWN }];
}
