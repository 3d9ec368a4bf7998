/** Changes or deletes all documents of the current list, after their number is known. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { CodeEditor } from '../../parts/code/code-editor.tsx';
import { issueOfJson, parseJson } from '../../parts/code/json-text.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { numberText } from '../../parts/numbers.ts';
import { useAction } from '../../parts/use-action.ts';
import { pathOf } from './parts/search.ts';

interface BulkDialogProps {
  readonly collection: string;
  /** The conditions as query text; empty for all documents. */
  readonly q: string;
  readonly what: 'change' | 'delete';
  readonly onClose: () => void;
}

/** Maximum documents of one write by filter, from the server (docs/api.md). */
const MAX_AFFECTED = 10_000;

export function BulkDialog({ collection, q, what, onClose }: BulkDialogProps) {
  const path = `${pathOf(collection)}?${q === '' ? 'filter={}' : q}`;
  const { data: count, error } = useQuery({
    queryKey: ['bulk', path],
    staleTime: 0,
    queryFn: async () => {
      const { headers } = await request('GET', `${path}&limit=0&count=exact`);
      return Number(headers.get('millrace-count'));
    },
  });
  const words = q === '' ? `all documents of ${collection}` : `the documents of ${collection} that match ${q}`;
  if (error !== null || count === undefined || count === 0 || count > MAX_AFFECTED) {
    return (
      <Modal opened onClose={onClose} title={TITLES[what]} centered>
        {error === null ? (
          <Text size="sm" role="status">
            {count === undefined ? 'Counting …' : explain(count)}
          </Text>
        ) : (
          <Failure error={error} />
        )}
      </Modal>
    );
  }
  // Nothing happens when there are more of them meanwhile.
  const headers = { prefer: `max-affected=${count}` };
  if (what === 'change') return <Change path={path} headers={headers} count={count} words={words} onClose={onClose} />;
  return (
    <Confirm
      title={TITLES.delete}
      verb={`Delete ${numberText(count)}`}
      name={collection}
      onClose={onClose}
      onConfirm={async () => {
        await request('DELETE', path, { headers });
        notifications.show({ message: `${numberText(count)} documents deleted` });
      }}
    >
      This deletes {numberText(count)} documents: {words}. There is no undo for all of them; each document can be
      restored from its history as long as its events are kept.
    </Confirm>
  );
}

const TITLES = { change: 'Update documents', delete: 'Delete documents' };

function explain(count: number): string {
  if (count === 0) return 'No documents match the filter.';
  return `${numberText(count)} documents match. One request can change at most 10,000 documents: narrow the filter.`;
}

interface ChangeProps {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly count: number;
  readonly words: string;
  readonly onClose: () => void;
}

function Change({ path, headers, count, words, onClose }: ChangeProps) {
  const [text, setText] = useState('{\n  \n}');
  const { busy, error, run } = useAction();
  const issue = issueOfJson(text);
  const change = async () => {
    const isDone = await run(async () => {
      const { body } = await request<{ readonly modified: number }>('PATCH', path, { headers, body: parseJson(text) });
      notifications.show({ message: `${numberText(body.modified)} documents updated` });
    });
    if (isDone) onClose();
  };
  return (
    <Modal opened onClose={onClose} title={TITLES.change} size="lg" centered>
      <Stack>
        <Text size="sm">
          This updates {numberText(count)} documents: {words}. Each field below is set to its value; null removes a
          field.
        </Text>
        <CodeEditor
          label="Fields to set, as JSON"
          language="json"
          lines={6}
          value={text}
          onChange={setText}
          issues={issue === null ? [] : [issue]}
        />
        {error === null ? null : <Failure error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button loading={busy} disabled={issue !== null} onClick={() => void change()}>
            Update {numberText(count)}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
