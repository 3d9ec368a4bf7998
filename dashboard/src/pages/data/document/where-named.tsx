/** Which documents name a document or a file. Asked for by a button, because it searches all collections. */
import { Button, List, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../../api/client.ts';
import { Failure } from '../../../parts/failure.tsx';
import { PageLink } from '../../../parts/page-link.tsx';
import { useAction } from '../../../parts/use-action.ts';
import type { Shape, ShapeMember } from '../parts/columns.ts';

/** More are not searched, and the answer says so. */
const MOST_COLLECTIONS = 50;
/** Documents that are shown of one collection. */
const SHOWN = 5;

interface Use {
  readonly collection: string;
  readonly ids: readonly string[];
  readonly hasMore: boolean;
}

interface Answer {
  readonly uses: readonly Use[];
  readonly searched: number;
  readonly isComplete: boolean;
}

interface WhereNamedProps {
  readonly id: string;
  /** The question on the button. */
  readonly question: string;
  /** What was looked at, for the end of a sentence. */
  readonly where: string;
  /** Whether values of a member may name it. */
  readonly mayName: (member: ShapeMember) => boolean;
}

export function WhereNamed({ id, question, where, mayName }: WhereNamedProps) {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const { busy, error, run } = useAction();
  return (
    <Stack gap="xs" align="flex-start">
      <Button
        variant="default"
        size="xs"
        loading={busy}
        onClick={() => void run(async () => setAnswer(await find(id, mayName)))}
      >
        {question}
      </Button>
      {error === null ? null : <Failure error={error} />}
      <div role="status">{answer === null || error !== null ? null : <Found answer={answer} where={where} />}</div>
    </Stack>
  );
}

interface FoundProps {
  readonly answer: Answer;
  readonly where: string;
}

function Found({ answer: { uses, searched, isComplete }, where }: FoundProps) {
  return (
    <Stack gap={4}>
      {uses.length === 0 ? <Text size="sm">No document names it.</Text> : null}
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
          ...(hasMore ? [<List.Item key={`more ${collection}`}>{collection}: and more</List.Item>] : []),
        ])}
      </List>
      <Text size="xs" c="dimmed">
        Looked at {where}, in {searched} {searched === 1 ? 'collection' : 'collections'}
        {isComplete ? '.' : '; there are more.'}
      </Text>
    </Stack>
  );
}

async function find(id: string, mayName: WhereNamedProps['mayName']): Promise<Answer> {
  const { body: collections } = await request<readonly { readonly name: string }[]>('GET', '/admin/collections');
  const names = collections.map(({ name }) => name).slice(0, MOST_COLLECTIONS);
  const uses: Use[] = [];
  // One after the other: a search without an index reads the whole collection.
  for (const collection of names) uses.push(...(await usesIn(collection, id, mayName)));
  return { uses, searched: names.length, isComplete: names.length === collections.length };
}

async function usesIn(collection: string, id: string, mayName: WhereNamedProps['mayName']): Promise<readonly Use[]> {
  const place = encodeURIComponent(collection);
  const { body: shape } = await request<Shape>('GET', `/admin/collections/${place}/shape`);
  const paths = shape.members
    .filter((member) => member.path !== 'id' && mayName(member))
    .map(({ path }) => path.replaceAll('[]', ''));
  if (paths.length === 0) return [];
  // By the id itself, or by an address that holds it.
  const filter = { $or: paths.flatMap((path) => [{ [path]: id }, { [path]: { $contains: id } }]) };
  const body = { filter, fields: ['id'], limit: SHOWN + 1 };
  const { body: found } = await request<readonly { readonly id: string }[]>('POST', `/api/${place}/_query`, { body });
  if (found.length === 0) return [];
  return [{ collection, ids: found.slice(0, SHOWN).map((one) => one.id), hasMore: found.length > SHOWN }];
}
