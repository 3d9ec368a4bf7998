/** Changes or deletes all documents of the list that is shown, after their number is known. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { CodeEditor } from '../../parts/code/code-editor.tsx';
import { faultOfJson, parseJson } from '../../parts/code/json-text.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { numberText } from '../../parts/numbers.ts';
import { useAction } from '../../parts/use-action.ts';
import { pathOf } from './parts/search.ts';

interface BulkDialogProps {
  readonly collection: string;
  /** The conditions as words of the query; empty for all documents. */
  readonly q: string;
  readonly what: 'change' | 'delete';
  readonly onClose: () => void;
}

/** What one write by filter may touch, by the server (docs/api.md). */
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
        notifications.show({ message: `${numberText(count)} documents are deleted` });
      }}
    >
      {numberText(count)} documents are deleted: {words}. This cannot be undone at once; each document can be restored
      from its history as long as events are kept.
    </Confirm>
  );
}

const TITLES = { change: 'Change many documents', delete: 'Delete many documents' };

function explain(count: number): string {
  if (count === 0) return 'No document matches the filter.';
  return `${numberText(count)} documents match. One write touches at most 10,000 documents: narrow the filter.`;
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
  const fault = faultOfJson(text);
  const change = async () => {
    const isDone = await run(async () => {
      const { body } = await request<{ readonly modified: number }>('PATCH', path, { headers, body: parseJson(text) });
      notifications.show({ message: `${numberText(body.modified)} documents are changed` });
    });
    if (isDone) onClose();
  };
  return (
    <Modal opened onClose={onClose} title={TITLES.change} size="lg" centered>
      <Stack>
        <Text size="sm">
          {numberText(count)} documents are changed: {words}. The members that you name get these values; null removes a
          member.
        </Text>
        <CodeEditor
          label="Members to change, as JSON"
          language="json"
          lines={6}
          value={text}
          onChange={setText}
          faults={fault === null ? [] : [fault]}
        />
        {error === null ? null : <Failure error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button loading={busy} disabled={fault !== null} onClick={() => void change()}>
            Change {numberText(count)}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
