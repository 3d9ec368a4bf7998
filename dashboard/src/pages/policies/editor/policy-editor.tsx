/** One policy: edited as a form or as JSON, with what it would change, saved, deleted, and put back from its history. */
import { Alert, Button, Grid, Group, Stack, Tabs, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { Problem } from '../../../../../client/client.ts';
import { request } from '../../../api/client.ts';
import { useKnownRoles, usePlaces } from '../../../api/known-names.ts';
import { useRights } from '../../../api/rights.ts';
import { CodeEditor } from '../../../parts/code/code-editor.tsx';
import { faultOfJson } from '../../../parts/code/json-text.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { PageLink } from '../../../parts/page-link.tsx';
import { useAction } from '../../../parts/use-action.ts';
import { type Policy, type SavedPolicy, withoutId } from '../parts/policies.ts';
import type { ChangePlace } from '../parts/route.ts';
import { completePolicy } from './completion.ts';
import { DeleteChanges, DraftChanges, useDraft } from './draft-changes.tsx';
import { placeFaults } from './json-places.ts';
import { useMembers } from './known-members.ts';
import classes from './policy-form.module.css';
import { PolicyForm } from './policy-form.tsx';
import { PolicyHistory } from './policy-history.tsx';
import { idOf, isPolicy, NEW_POLICY, textOf } from './policy-text.ts';

interface PolicyEditorProps {
  /** `new` for one that is not saved yet. */
  readonly id: string;
  readonly policies: readonly SavedPolicy[];
  readonly change: ChangePlace;
}

/** What the person has written, and what was stored when they began. */
interface Draft {
  readonly text: string;
  readonly base: string;
}

export function PolicyEditor({ id, policies, change }: PolicyEditorProps) {
  const isNew = id === 'new';
  const saved = policies.find((policy) => policy.id === id);
  const stored = saved === undefined ? textOf(NEW_POLICY) : textOf(withoutId(saved));
  const [draft, setDraft] = useState<Draft | null>(null);
  const [isAsked, setAsked] = useState(false);
  const { build, why } = useRights();
  const { busy, error, run } = useAction();
  const text = draft?.text ?? stored;
  const fault = faultOfJson(text);
  const written: unknown = fault === null ? JSON.parse(text) : null;
  const policy = isPolicy(written) ? written : null;
  const isChanged = isNew || text !== stored;
  const tried = useDraft(isNew ? idOf(policy?.name ?? '') : id, policy, build && isChanged && policy?.name !== '');
  const refusal = error ?? tried.error;
  const faults = refusal instanceof Problem ? (refusal.problem.errors ?? []) : [];
  const known = { members: useMembers(policy?.collections ?? []), places: usePlaces(), roles: useKnownRoles() };
  const write = (next: string) => setDraft({ text: next, base: draft?.base ?? stored });
  const edit = (next: Policy) => write(textOf(next));

  const save = async () => {
    const method = isNew ? 'POST' : 'PUT';
    const path = isNew ? '/admin/policies' : `/admin/policies/${encodeURIComponent(id)}`;
    const { body } = await request<SavedPolicy & { readonly warnings?: readonly string[] }>(method, path, {
      body: JSON.parse(text),
    });
    notifications.show({
      title: `${body.name} is saved and in force`,
      message: body.warnings?.join(' ') ?? 'Every process follows within a second.',
      color: 'teal',
    });
    setDraft(null);
    if (isNew) change({ policy: body.id }, true);
  };

  if (!isNew && saved === undefined) {
    return (
      <>
        <Back />
        <Empty title={`There is no policy ${id}`}>
          It was deleted, or never was. The versions of the set keep what it was.
        </Empty>
      </>
    );
  }
  return (
    <Stack>
      <Back />
      <Group justify="space-between" className={classes.head ?? ''}>
        <Title order={2} size="h3" style={{ overflowWrap: 'anywhere' }}>
          {isNew ? 'New policy' : saved?.name}
        </Title>
        <Group gap="xs">
          <Button
            loading={busy}
            disabled={!build || !isChanged || policy === null}
            {...(build ? {} : { title: why })}
            onClick={() => void run(save)}
          >
            Save
          </Button>
          {draft !== null && text !== stored ? (
            <Button variant="default" onClick={() => setDraft(null)}>
              Discard
            </Button>
          ) : null}
          {isNew || !build ? null : (
            <Button variant="outline" color="red" onClick={() => setAsked(true)}>
              Delete
            </Button>
          )}
        </Group>
      </Group>
      {draft !== null && draft.base !== stored && text !== stored ? (
        <Alert color="yellow" title="This policy was changed elsewhere meanwhile">
          Saving replaces that change; Discard shows it.
        </Alert>
      ) : null}
      {error === null ? null : <Failure error={error} />}
      <Grid gap="xl">
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <Tabs defaultValue="form" keepMounted={false}>
            <Tabs.List mb="sm" aria-label="Ways to edit">
              <Tabs.Tab value="form">Form</Tabs.Tab>
              <Tabs.Tab value="json">JSON</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="form">
              {policy === null ? (
                <Text size="sm">
                  The JSON is not a policy yet, so the form cannot show it. Mend it in the other tab.
                </Text>
              ) : (
                <PolicyForm policy={policy} edit={edit} faults={faults} known={known} readOnly={!build} />
              )}
            </Tabs.Panel>
            <Tabs.Panel value="json">
              <CodeEditor
                label="Policy as JSON"
                language="json"
                lines={18}
                value={text}
                onChange={write}
                readOnly={!build}
                faults={fault === null ? placeFaults(text, faults) : [fault]}
                complete={completePolicy(known, [])}
              />
            </Tabs.Panel>
          </Tabs>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 5 }}>
          <Stack gap="xl">
            {build && isChanged ? <DraftChanges tried={tried} isRefusalShown={error === null} /> : null}
            {isNew ? null : <PolicyHistory id={id} onPutBack={build ? edit : null} />}
          </Stack>
        </Grid.Col>
      </Grid>
      {isAsked ? (
        <Confirm
          title={`Delete ${saved?.name ?? id}`}
          verb="Delete"
          onConfirm={async () => {
            await request('DELETE', `/admin/policies/${encodeURIComponent(id)}`);
            change({ policy: undefined });
          }}
          onClose={() => setAsked(false)}
        >
          <Stack gap="sm">
            <span>
              It is no longer in force within a second. The versions of the set keep it, so it can be restored.
            </span>
            <DeleteChanges id={id} />
          </Stack>
        </Confirm>
      ) : null}
    </Stack>
  );
}

function Back() {
  return (
    <PageLink to="/policies" search={{}} size="sm">
      All policies
    </PageLink>
  );
}
