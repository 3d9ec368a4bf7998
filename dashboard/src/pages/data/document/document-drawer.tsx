/** The drawer of one document: its form, its JSON, its history. Its state is in the URL. */
import { Drawer, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { MillraceError } from '../../../../../client/client.ts';
import { Failure } from '../../../parts/failure.tsx';
import { Loading } from '../../../parts/page.tsx';
import { Actor } from '../../../parts/users/actor.tsx';
import { When } from '../../../parts/when.tsx';
import type { ShapeField } from '../parts/columns.ts';
import { type DataSearch, NEW, SIDES } from '../parts/search.ts';
import { DocumentEditor } from './document-editor.tsx';
import { History } from './history.tsx';
import { type Fields, fieldsOf, type Tagged, useDocument } from './use-document.ts';
import { WhereNamed } from './where-named.tsx';

interface DocumentDrawerProps {
  readonly collection: string;
  readonly search: DataSearch;
  readonly fields: readonly ShapeField[];
  readonly mayWrite: boolean;
  readonly reason: string;
  readonly onChange: (part: DataSearch, replace?: boolean) => void;
}

const TITLES = { form: 'Form', json: 'JSON', history: 'History' };
/** A document that is not stored yet has no history. */
const NEW_SIDES = SIDES.filter((side) => side !== 'history');
const CLOSED: DataSearch = { doc: undefined, side: undefined, copy: undefined };

export function DocumentDrawer(props: DocumentDrawerProps) {
  const { collection, search, onChange } = props;
  const { doc, side = 'form', copy, as } = search;
  const isNew = doc === NEW;
  const source = isNew ? (copy ?? null) : (doc ?? null);
  const { data, error, refetch } = useDocument(collection, source, as);
  const isGone = error instanceof MillraceError && error.code === 'document-not-found';
  const shown = isGone ? 'history' : isNew && side === 'history' ? 'form' : side;
  const isReady = data !== undefined || (isNew && copy === undefined);
  return (
    <Drawer
      opened={doc !== undefined}
      onClose={() => onChange(CLOSED)}
      position="right"
      size="xl"
      title={isNew ? `New document in ${collection}` : doc}
      styles={{ title: { overflowWrap: 'anywhere', fontWeight: 600 } }}
    >
      <Stack>
        <Group justify="space-between" gap="xs">
          <SegmentedControl
            size="xs"
            aria-label="Document view"
            data={(isNew ? NEW_SIDES : SIDES).map((value) => ({
              value,
              label: TITLES[value],
              disabled: isGone && value !== 'history',
            }))}
            value={shown}
            onChange={(value) => onChange({ side: SIDES.find((known) => known === value) }, true)}
          />
          {data === undefined || isGone || isNew ? null : <Revision tagged={data} />}
        </Group>
        {isGone ? (
          <Text size="sm">This document does not exist. Its history below can be used to restore it.</Text>
        ) : null}
        {error === null || isGone ? null : <Failure error={error} again={() => void refetch()} />}
        {isReady || error !== null || doc === undefined ? null : <Loading />}
        {shown === 'history' && doc !== undefined && !isNew ? (
          <History
            collection={collection}
            id={doc}
            etag={isGone ? null : (data?.etag ?? null)}
            as={as}
            mayWrite={props.mayWrite}
            reason={props.reason}
          />
        ) : null}
        {shown !== 'history' && isReady && error === null ? (
          <DocumentEditor
            key={`${doc} ${copy}`}
            {...props}
            asJson={shown === 'json'}
            stored={isNew ? null : (data ?? null)}
            initial={initialOf(data)}
          />
        ) : null}
        {shown === 'form' && data !== undefined && !isNew && as === undefined ? (
          <WhereNamed
            key={doc}
            id={data.document.id}
            query="What references it?"
            where={`fields that contain ids of ${collection}`}
            mayName={({ reference }) => reference?.collection === collection}
          />
        ) : null}
      </Stack>
    </Drawer>
  );
}

function Revision({ tagged: { document } }: { readonly tagged: Tagged }) {
  const meta: unknown = document['_meta'];
  if (typeof meta !== 'object' || meta === null) return null;
  const [revision, at, by]: unknown[] = ['revision', 'updatedAt', 'updatedBy'].map((name) => Reflect.get(meta, name));
  return (
    <Text size="xs" c="dimmed">
      Revision {String(revision)}, <When at={typeof at === 'string' ? at : null} />
      {typeof by === 'string' ? (
        <>
          {' '}
          by <Actor kind={null} id={by} />
        </>
      ) : null}
    </Text>
  );
}

function initialOf(tagged: Tagged | undefined): Fields {
  return tagged === undefined ? {} : fieldsOf(tagged.document);
}
