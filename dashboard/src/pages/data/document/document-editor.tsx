/** Creates or edits a document. A concurrent change is never overwritten unseen. */
import { Alert, Button, Group, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconCopy, IconTrash } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { MillraceError } from '../../../../../client/client.ts';
import { request } from '../../../api/client.ts';
import { CodeEditor } from '../../../parts/code/code-editor.tsx';
import type { CodeError } from '../../../parts/code/code-mirror.tsx';
import { issueOfJson, parseJson } from '../../../parts/code/json-text.ts';
import { Failure, reportFailure } from '../../../parts/failure.tsx';
import { useAction } from '../../../parts/use-action.ts';
import type { ShapeField } from '../parts/columns.ts';
import { type DataSearch, NEW, pathOf } from '../parts/search.ts';
import { Conflict } from './conflict.tsx';
import classes from './document.module.css';
import { DocumentForm } from './document-form.tsx';
import {
  createDocument,
  type Fields,
  fieldsOf,
  isSame,
  readDocument,
  replaceDocument,
  type Tagged,
} from './use-document.ts';

interface DocumentEditorProps {
  readonly collection: string;
  readonly fields: readonly ShapeField[];
  readonly mayWrite: boolean;
  readonly reason: string;
  readonly asJson: boolean;
  /** The server's current state; null for a new document. */
  readonly stored: Tagged | null;
  readonly initial: Fields;
  readonly onChange: (part: DataSearch, replace?: boolean) => void;
}

/** How long the drawer takes to close, in milliseconds. */
const KEYS_MS = 400;

export function DocumentEditor(props: DocumentEditorProps) {
  const { collection, fields, mayWrite, reason, asJson, stored, initial, onChange } = props;
  /** The state on which the changes are based. */
  const [base, setBase] = useState(stored);
  const [draft, setDraft] = useState(initial);
  const [text, setText] = useState(() => toText(initial));
  const [issue, setIssue] = useState<CodeError | null>(null);
  const [faulty, setFaulty] = useState<ReadonlySet<string>>(new Set());
  const [newId, setNewId] = useState('');
  const [theirs, setTheirs] = useState<Tagged | null>(null);
  const { busy, error, run } = useAction();
  const isChanged = base === null || !isSame(draft, fieldsOf(base.document));
  const isBehind = stored !== null && base !== null && stored.etag !== base.etag;

  const put = (next: Fields) => {
    setDraft(next);
    setText(toText(next));
    setIssue(null);
  };
  const take = (next: Tagged) => {
    setBase(next);
    put(fieldsOf(next.document));
    setTheirs(null);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only an unedited form follows the server
  useEffect(() => {
    if (stored !== null && (!isChanged || isSame(draft, fieldsOf(stored.document)))) take(stored);
  }, [stored]);

  const compare = async () => {
    if (base !== null) setTheirs(await readDocument(collection, base.document.id));
  };
  const save = (body: Fields, over: Tagged | null) =>
    run(async () => {
      if (over === null) {
        const { document } = await createDocument(collection, newId === '' ? null : newId, body);
        notifications.show({ message: `Created ${document.id}` });
        onChange({ doc: document.id, copy: undefined }, true);
        return;
      }
      try {
        take(await replaceDocument(collection, over.document.id, body, over.etag));
        notifications.show({ message: `Saved ${over.document.id}` });
      } catch (problem) {
        if (!(problem instanceof MillraceError) || problem.code !== 'precondition-failed') throw problem;
        put(body);
        await compare();
      }
    });

  if (theirs !== null && base !== null) {
    return (
      <Conflict
        base={fieldsOf(base.document)}
        yours={draft}
        theirs={fieldsOf(theirs.document)}
        busy={busy}
        error={error}
        onSave={(merged) => void save(merged, theirs)}
        onBack={() => setTheirs(null)}
      />
    );
  }
  const hasIssue = issue !== null || faulty.size > 0;
  return (
    <Stack>
      {isBehind && isChanged ? (
        <Alert color="yellow" title="This document was changed by someone else">
          <Group justify="space-between">
            Your changes are not saved yet.
            <Button size="xs" variant="default" onClick={() => void run(compare)}>
              Compare
            </Button>
          </Group>
        </Alert>
      ) : null}
      {stored === null ? (
        <TextInput
          label="id"
          description="Empty: the server generates one"
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
          issues={issue === null ? [] : [issue]}
          onChange={(next) => {
            setText(next);
            const read = fromText(next);
            if ('fields' in read) setDraft(read.fields);
            setIssue('issue' in read ? read.issue : null);
          }}
        />
      ) : (
        <DocumentForm draft={draft} fields={fields} readOnly={!mayWrite} onChange={put} onFaulty={setFaulty} />
      )}
      {error === null ? null : <Failure error={error} />}
      <Group gap="xs" className={classes.foot}>
        <Button
          loading={busy}
          disabled={!mayWrite || hasIssue || !isChanged}
          title={titleOf(mayWrite, hasIssue, isChanged, reason)}
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

/** Deletes a document as it was shown, and offers for a while to restore it. */
async function removeWithUndo(collection: string, { document, etag }: Tagged): Promise<void> {
  await request('DELETE', pathOf(collection, document.id), { headers: { 'if-match': etag } });
  const note = `deleted ${collection} ${document.id}`;
  const undo = () => {
    notifications.hide(note);
    createDocument(collection, document.id, fieldsOf(document)).catch(reportFailure);
  };
  notifications.show({
    id: note,
    autoClose: 15_000,
    message: (
      <Group justify="space-between">
        Deleted {document.id}
        <Button size="compact-sm" variant="default" onClick={undo} ref={takeKeys}>
          Undo
        </Button>
      </Group>
    ),
  });
}

/** Keyboard users would not reach the button in time. After the drawer has returned the focus to the page. */
function takeKeys(button: HTMLButtonElement | null): void {
  setTimeout(() => button?.focus(), KEYS_MS);
}

function titleOf(mayWrite: boolean, hasIssue: boolean, isChanged: boolean, reason: string): string | undefined {
  if (!mayWrite) return reason;
  if (hasIssue) return 'Some values are not valid JSON';
  return isChanged ? undefined : 'There are no changes';
}

function toText(fields: Fields): string {
  return JSON.stringify(fields, null, 2);
}

function fromText(text: string): { readonly fields: Fields } | { readonly issue: CodeError } {
  const issue = issueOfJson(text);
  if (issue !== null) return { issue };
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { fields: fieldsOf(value as Fields) };
  }
  return { issue: { line: 1, column: 1, message: 'A document must be a JSON object' } };
}
