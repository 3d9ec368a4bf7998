/** The scripts and the manifest of a plugin: read, changed, and stored as a new version. */
import { Alert, Anchor, Button, Group, List, Stack, Tabs, Text, TextInput } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Problem } from '../../../../../client/client.ts';
import { request } from '../../../api/client.ts';
import { type Tagged, useResource } from '../../../api/live.ts';
import { plainRequest } from '../../../api/plain-request.ts';
import { useRights } from '../../../api/rights.ts';
import { CodeEditor } from '../../../parts/code/code-editor.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { useToldAction } from '../../../parts/use-action.ts';
import type { WholePlugin } from '../parts/answers.ts';
import { useFunctionsAgain, usePluginPlace } from '../parts/place.ts';
import { AddFile } from './add-file.tsx';
import { authorCompletion } from './author-completion.ts';
import { bodyOf, type Draft, draftOf, MANIFEST, textOf, withoutFile, withText } from './draft.ts';
import { faultsOf } from './faults.ts';
import { type Contract, manifestCompletion } from './manifest-completion.ts';

interface CodeTabProps {
  readonly tagged: Tagged<WholePlugin>;
  /** Null when nothing was changed. */
  readonly draft: Draft | null;
  readonly onDraft: (draft: Draft | null) => void;
}

export function CodeTab({ tagged: { body: plugin, tag }, draft, onDraft }: CodeTabProps) {
  const { search, go } = usePluginPlace();
  const { build, why } = useRights();
  const [error, setError] = useState<unknown>(null);
  const stored = draftOf(plugin);
  const shown = draft ?? stored;
  const names = [...Object.keys(shown.files).sort(), MANIFEST];
  const file = names.find((name) => name === search.file) ?? names[0] ?? MANIFEST;
  const faults = faultsOf(error, shown);
  const isInFolder = plugin.from === 'folder';
  const mayEdit = build && !isInFolder;
  const complete = useCompletion(file === MANIFEST);
  const edit = (changed: Draft) => {
    const isAsStored = changed.manifest === stored.manifest && sameFiles(changed, stored);
    onDraft(isAsStored && changed.base === stored.base ? null : changed);
  };
  return (
    <Stack gap="sm">
      {mayEdit ? null : (
        <Alert color="gray" py="xs" title={isInFolder ? 'This plugin is in a folder of the server' : 'To be read only'}>
          {isInFolder
            ? `Change its files there: the server loads what is saved. It can be switched off, tried and given secrets here.`
            : why}
        </Alert>
      )}
      {draft !== null && draft.base !== plugin.version ? (
        <Alert color="yellow" py="xs" title={`Version ${plugin.version} was stored meanwhile`}>
          What you have here was begun with version {draft.base}. Saving puts yours in force; “Discard” shows theirs.
        </Alert>
      ) : null}
      <Tabs value={file} onChange={(name) => go({ file: name ?? undefined })} variant="outline" keepMounted={false}>
        <Group justify="space-between" align="flex-end" gap="xs">
          <Tabs.List flex={1}>
            {names.map((name) => (
              <Tabs.Tab key={name} value={name}>
                {name}
                {faults.some((fault) => fault.file === name) ? ' (fault)' : ''}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {mayEdit ? (
            <Group gap="xs">
              <AddFile
                names={names}
                onAdd={(name) => {
                  edit(withText(shown, name, ''));
                  go({ file: name });
                }}
              />
              <Button
                size="xs"
                variant="default"
                disabled={file === MANIFEST}
                title={file === MANIFEST ? 'Every plugin has a manifest' : undefined}
                onClick={() => edit(withoutFile(shown, file))}
              >
                Remove the file
              </Button>
            </Group>
          ) : null}
        </Group>
        <Tabs.Panel value={file}>
          <CodeEditor
            key={`${file} ${mayEdit}`}
            label={file}
            language={file === MANIFEST ? 'json' : 'typescript'}
            lines={16}
            value={textOf(shown, file)}
            readOnly={!mayEdit}
            faults={faults.filter((fault) => fault.file === file)}
            complete={complete}
            onChange={(text) => edit(withText(shown, file, text))}
          />
        </Tabs.Panel>
      </Tabs>
      {faults.length === 0 ? null : (
        <Alert color="red" variant="light" title="It was not stored" role="alert">
          <List size="sm">
            {faults.map((fault) => (
              <List.Item key={`${fault.file} ${fault.line} ${fault.column} ${fault.message}`}>
                <Anchor component="button" type="button" size="sm" onClick={() => go({ file: fault.file })}>
                  {fault.file}:{fault.line}:{fault.column}
                </Anchor>{' '}
                {fault.message}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      {error === null || faults.length > 0 ? null : <Failure error={error} />}
      {mayEdit ? (
        <SaveBar
          plugin={plugin}
          tag={tag}
          draft={draft}
          onError={setError}
          onDone={() => {
            setError(null);
            onDraft(null);
          }}
        />
      ) : null}
    </Stack>
  );
}

function sameFiles(one: Draft, other: Draft): boolean {
  const names = new Set([...Object.keys(one.files), ...Object.keys(other.files)]);
  return [...names].every((name) => one.files[name] === other.files[name]);
}

interface SaveBarProps {
  readonly plugin: WholePlugin;
  readonly tag: string | null;
  readonly draft: Draft | null;
  readonly onError: (error: unknown) => void;
  /** It was saved, or discarded. */
  readonly onDone: () => void;
}

function SaveBar({ plugin, tag, draft, onError, onDone }: SaveBarProps) {
  const again = useFunctionsAgain();
  const [note, setNote] = useState('');
  const { busy, run } = useToldAction(onError);
  const put = async (changed: Draft) => {
    const path = `/admin/plugins/${encodeURIComponent(plugin.name)}`;
    const body = { ...bodyOf(changed), note: note === '' ? null : note };
    const headers: Record<string, string> = tag === null ? {} : { 'if-match': tag };
    try {
      return (await request<WholePlugin>('PUT', path, { body, headers })).body;
    } catch (problem) {
      // What was stored meanwhile is shown above, so that the next try knows of it.
      if (problem instanceof Problem && problem.status === 412) await again();
      throw problem;
    }
  };
  const save = () => {
    if (draft === null || busy) return;
    void run(async () => {
      const { version } = await put(draft);
      await again();
      onDone();
      setNote('');
      notifications.show({ message: `Version ${version} is in force` });
    });
  };
  useHotkeys([['mod+S', save]], [], true);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <Group gap="xs" align="flex-end">
        <TextInput
          label="Note"
          placeholder="What is new, for people"
          flex={1}
          miw={200}
          maxLength={500}
          value={note}
          onChange={({ currentTarget }) => setNote(currentTarget.value)}
        />
        <Button variant="default" disabled={draft === null} onClick={onDone}>
          Discard
        </Button>
        <Button
          type="submit"
          loading={busy}
          disabled={draft === null}
          title={draft === null ? 'Nothing was changed' : undefined}
        >
          Save as a version
        </Button>
      </Group>
      <Text size="xs" c="dimmed" mt={4}>
        It is in force at once, in every process. Versions can be compared and put back. Ctrl+Space completes, Ctrl+S
        saves.
      </Text>
    </form>
  );
}

/** What completes a script, or the manifest. */
function useCompletion(isManifest: boolean) {
  const { data: types = '' } = useQuery({
    queryKey: ['plugin-types'],
    queryFn: async () => (await plainRequest('GET', '/admin/plugin-types')).text,
  });
  const { data: contract } = useResource<Contract>('/openapi.json');
  return useMemo(
    () => (isManifest ? (contract === undefined ? () => null : manifestCompletion(contract)) : authorCompletion(types)),
    [isManifest, types, contract],
  );
}
