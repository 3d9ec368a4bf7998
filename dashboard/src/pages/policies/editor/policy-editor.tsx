/** One policy: edited as a form or as JSON, with its preview, saved, deleted, and restored from its history. */
import { Alert, Button, Grid, Group, Stack, Tabs, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { MillraceError } from '../../../../../client/client.ts';
import { request } from '../../../api/client.ts';
import { useKnownRoles, useResources } from '../../../api/known-names.ts';
import { useRights } from '../../../api/rights.ts';
import { CodeEditor } from '../../../parts/code/code-editor.tsx';
import { issueOfJson } from '../../../parts/code/json-text.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { PageLink } from '../../../parts/page-link.tsx';
import { useAction } from '../../../parts/use-action.ts';
import { type Policy, type SavedPolicy, withoutId } from '../parts/policies.ts';
import type { ChangeSearch } from '../parts/route.ts';
import { completePolicy } from './completion.ts';
import { locateIssues } from './json-locations.ts';
import { useFields } from './known-fields.ts';
import classes from './policy-form.module.css';
import { PolicyForm } from './policy-form.tsx';
import { PolicyHistory } from './policy-history.tsx';
import { idOf, isPolicy, NEW_POLICY, textOf } from './policy-text.ts';
import { DeleteChanges, DraftChanges, useDraft } from './preview-changes.tsx';

interface PolicyEditorProps {
  /** `new` for one that is not saved yet. */
  readonly id: string;
  readonly policies: readonly SavedPolicy[];
  readonly change: ChangeSearch;
}

/** The user's text, and the stored text that it is based on. */
interface Draft {
  readonly text: string;
  readonly base: string;
}

export function PolicyEditor({ id, policies, change }: PolicyEditorProps) {
  const isNew = id === 'new';
  const saved = policies.find((policy) => policy.id === id);
  const stored = saved === undefined ? textOf(NEW_POLICY) : textOf(withoutId(saved));
  const [draft, setDraft] = useState<Draft | null>(null);
  const [isRequested, setRequested] = useState(false);
  const { build, why } = useRights();
  const { busy, error, run } = useAction();
  const text = draft?.text ?? stored;
  const issue = issueOfJson(text);
  const written: unknown = issue === null ? JSON.parse(text) : null;
  const policy = isPolicy(written) ? written : null;
  const isChanged = isNew || text !== stored;
  const tried = useDraft(isNew ? idOf(policy?.name ?? '') : id, policy, build && isChanged && policy?.name !== '');
  const refusal = error ?? tried.error;
  const issues = refusal instanceof MillraceError ? (refusal.problem.errors ?? []) : [];
  const known = { fields: useFields(policy?.resources ?? []), resources: useResources(), roles: useKnownRoles() };
  const write = (next: string) => setDraft({ text: next, base: draft?.base ?? stored });
  const edit = (next: Policy) => write(textOf(next));

  const save = async () => {
    const method = isNew ? 'POST' : 'PUT';
    const path = isNew ? '/admin/policies' : `/admin/policies/${encodeURIComponent(id)}`;
    const { body } = await request<SavedPolicy & { readonly warnings?: readonly string[] }>(method, path, {
      body: JSON.parse(text),
    });
    notifications.show({
      title: `Saved ${body.name}`,
      message: body.warnings?.join(' ') ?? 'It takes effect in every process within a second.',
      color: 'teal',
    });
    setDraft(null);
    if (isNew) change({ policy: body.id }, true);
  };

  if (!isNew && saved === undefined) {
    return (
      <>
        <Back />
        <Empty title={`The policy ${id} does not exist`}>
          It was deleted, or never existed. Deleted policies can be restored under Versions.
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
            <Button variant="outline" color="red" onClick={() => setRequested(true)}>
              Delete
            </Button>
          )}
        </Group>
      </Group>
      {draft !== null && draft.base !== stored && text !== stored ? (
        <Alert color="yellow" title="This policy was changed by someone else">
          Saving overwrites that change; Discard shows it.
        </Alert>
      ) : null}
      {error === null ? null : <Failure error={error} />}
      <Grid gap="xl">
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <Tabs defaultValue="form" keepMounted={false}>
            <Tabs.List mb="sm" aria-label="Editor">
              <Tabs.Tab value="form">Form</Tabs.Tab>
              <Tabs.Tab value="json">JSON</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="form">
              {policy === null ? (
                <Text size="sm">
                  The JSON is not a valid policy, so the form cannot show it. Fix it in the other tab.
                </Text>
              ) : (
                <PolicyForm policy={policy} edit={edit} issues={issues} known={known} readOnly={!build} />
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
                issues={issue === null ? locateIssues(text, issues) : [issue]}
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
      {isRequested ? (
        <Confirm
          title={`Delete ${saved?.name ?? id}`}
          verb="Delete"
          onConfirm={async () => {
            await request('DELETE', `/admin/policies/${encodeURIComponent(id)}`);
            change({ policy: undefined });
          }}
          onClose={() => setRequested(false)}
        >
          <Stack gap="sm">
            <span>The change takes effect within a second. The policy can be restored under Versions.</span>
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
