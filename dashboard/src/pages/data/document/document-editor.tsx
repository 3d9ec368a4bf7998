/** Changes a document or makes one. A change that somebody else made meanwhile is never overwritten unseen. */
import { Alert, Button, Group, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconCopy, IconTrash } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { Problem } from '../../../../../client/client.ts';
import { request } from '../../../api/client.ts';
import { CodeEditor } from '../../../parts/code/code-editor.tsx';
import type { CodeFault } from '../../../parts/code/code-mirror.tsx';
import { faultOfJson, parseJson } from '../../../parts/code/json-text.ts';
import { Failure, tellFailure } from '../../../parts/failure.tsx';
import { useAction } from '../../../parts/use-action.ts';
import type { ShapeMember } from '../parts/columns.ts';
import { type DataSearch, NEW, pathOf } from '../parts/search.ts';
import { Conflict } from './conflict.tsx';
import classes from './document.module.css';
import { DocumentForm } from './document-form.tsx';
import {
  createDocument,
  isSame,
  type Members,
  membersOf,
  readDocument,
  replaceDocument,
  type Tagged,
} from './use-document.ts';

interface DocumentEditorProps {
  readonly collection: string;
  readonly members: readonly ShapeMember[];
  readonly mayWrite: boolean;
  readonly reason: string;
  readonly asJson: boolean;
  /** As the server has it now; null for a new one. */
  readonly stored: Tagged | null;
  readonly initial: Members;
  readonly onChange: (part: DataSearch, replace?: boolean) => void;
}

/** How long the drawer takes to close, in milliseconds. */
const KEYS_MS = 400;

export function DocumentEditor(props: DocumentEditorProps) {
  const { collection, members, mayWrite, reason, asJson, stored, initial, onChange } = props;
  /** What the changes began from. */
  const [base, setBase] = useState(stored);
  const [draft, setDraft] = useState(initial);
  const [text, setText] = useState(() => toText(initial));
  const [fault, setFault] = useState<CodeFault | null>(null);
  const [faulty, setFaulty] = useState<ReadonlySet<string>>(new Set());
  const [newId, setNewId] = useState('');
  const [theirs, setTheirs] = useState<Tagged | null>(null);
  const { busy, error, run } = useAction();
  const isChanged = base === null || !isSame(draft, membersOf(base.document));
  const isBehind = stored !== null && base !== null && stored.etag !== base.etag;

  const put = (next: Members) => {
    setDraft(next);
    setText(toText(next));
    setFault(null);
  };
  const take = (next: Tagged) => {
    setBase(next);
    put(membersOf(next.document));
    setTheirs(null);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what nobody has changed here follows the server
  useEffect(() => {
    if (stored !== null && (!isChanged || isSame(draft, membersOf(stored.document)))) take(stored);
  }, [stored]);

  const compare = async () => {
    if (base !== null) setTheirs(await readDocument(collection, base.document.id));
  };
  const save = (body: Members, over: Tagged | null) =>
    run(async () => {
      if (over === null) {
        const { document } = await createDocument(collection, newId === '' ? null : newId, body);
        notifications.show({ message: `${document.id} is created` });
        onChange({ doc: document.id, copy: undefined }, true);
        return;
      }
      try {
        take(await replaceDocument(collection, over.document.id, body, over.etag));
        notifications.show({ message: `${over.document.id} is saved` });
      } catch (problem) {
        if (!(problem instanceof Problem) || problem.code !== 'precondition-failed') throw problem;
        put(body);
        await compare();
      }
    });

  if (theirs !== null && base !== null) {
    return (
      <Conflict
        base={membersOf(base.document)}
        yours={draft}
        theirs={membersOf(theirs.document)}
        busy={busy}
        error={error}
        onSave={(merged) => void save(merged, theirs)}
        onBack={() => setTheirs(null)}
      />
    );
  }
  const hasFault = fault !== null || faulty.size > 0;
  return (
    <Stack>
      {isBehind && isChanged ? (
        <Alert color="yellow" title="Somebody has changed this document">
          <Group justify="space-between">
            Your changes are still here and not saved.
            <Button size="xs" variant="default" onClick={() => void run(compare)}>
              Compare
            </Button>
          </Group>
        </Alert>
      ) : null}
      {stored === null ? (
        <TextInput
          label="id"
          description="Empty for one by the server"
          value={newId}
          onChange={({ currentTarget }) => setNewId(currentTarget.value)}
          autoComplete="off"
        />
      ) : null}
      {asJson ? (
        <CodeEditor
          label="Document as JSON"
          language="json"
          lines={16}
          readOnly={!mayWrite}
          value={text}
          faults={fault === null ? [] : [fault]}
          onChange={(next) => {
            setText(next);
            const read = fromText(next);
            if ('members' in read) setDraft(read.members);
            setFault('fault' in read ? read.fault : null);
          }}
        />
      ) : (
        <DocumentForm draft={draft} members={members} readOnly={!mayWrite} onChange={put} onFaulty={setFaulty} />
      )}
      {error === null ? null : <Failure error={error} />}
      <Group gap="xs" className={classes.foot}>
        <Button
          loading={busy}
          disabled={!mayWrite || hasFault || !isChanged}
          title={titleOf(mayWrite, hasFault, isChanged, reason)}
          onClick={() => void save(draft, base)}
        >
          {base === null ? 'Create' : 'Save'}
        </Button>
        {base !== null && isChanged ? (
          <Button variant="default" onClick={() => take(stored ?? base)}>
            Discard
          </Button>
        ) : null}
        {base === null || !mayWrite ? null : (
          <>
            <Button
              variant="default"
              leftSection={<IconCopy size={16} />}
              onClick={() => onChange({ doc: NEW, copy: base.document.id, side: undefined })}
            >
              Duplicate
            </Button>
            <Button
              variant="default"
              leftSection={<IconTrash size={16} />}
              onClick={() =>
                void run(async () => {
                  await removeWithUndo(collection, base);
                  onChange({ doc: undefined, side: undefined });
                })
              }
            >
              Delete
            </Button>
          </>
        )}
      </Group>
    </Stack>
  );
}

/** Deletes a document as it was seen, and offers for a while to put it back. */
async function removeWithUndo(collection: string, { document, etag }: Tagged): Promise<void> {
  await request('DELETE', pathOf(collection, document.id), { headers: { 'if-match': etag } });
  const note = `deleted ${collection} ${document.id}`;
  const undo = () => {
    notifications.hide(note);
    createDocument(collection, document.id, membersOf(document)).catch(tellFailure);
  };
  notifications.show({
    id: note,
    autoClose: 15_000,
    message: (
      <Group justify="space-between">
        {document.id} is deleted
        <Button size="compact-sm" variant="default" onClick={undo} ref={takeKeys}>
          Undo
        </Button>
      </Group>
    ),
  });
}

/** Who works by keys alone would not come to the button in time. After the drawer has given the keys back to the page. */
function takeKeys(button: HTMLButtonElement | null): void {
  setTimeout(() => button?.focus(), KEYS_MS);
}

function titleOf(mayWrite: boolean, hasFault: boolean, isChanged: boolean, reason: string): string | undefined {
  if (!mayWrite) return reason;
  if (hasFault) return 'Something is not valid JSON';
  return isChanged ? undefined : 'Nothing is changed';
}

function toText(members: Members): string {
  return JSON.stringify(members, null, 2);
}

function fromText(text: string): { readonly members: Members } | { readonly fault: CodeFault } {
  const fault = faultOfJson(text);
  if (fault !== null) return { fault };
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { members: membersOf(value as Members) };
  }
  return { fault: { line: 1, column: 1, message: 'A document is an object' } };
}
