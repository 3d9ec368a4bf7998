/** One e-mail template in one language: edited, previewed with sample values, tested, and reset. */
import { Badge, Button, Code, Drawer, Group, List, Stack, Tabs, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { EmailPreview, EmailTemplateView, EmailTestResult } from '../../../../src/email/http/email-schemas.ts';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Verdict } from '../../parts/instance/check-result.tsx';
import { Loading } from '../../parts/page.tsx';
import { useAction } from '../../parts/use-action.ts';
import { EmailFrame } from './email-frame.tsx';

interface EmailEditorProps {
  readonly kind: string;
  readonly locale: string;
  readonly title: string;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

export function EmailEditor({ kind, locale, title, onClose, onChanged }: EmailEditorProps) {
  const path = `/admin/email-templates/${kind}/${locale}`;
  const { data, error, refetch } = useResource<EmailTemplateView>(path);
  return (
    <Drawer opened onClose={onClose} title={title} position="right" size="xl">
      {error === null ? null : <Failure error={error} />}
      {data === undefined ? (
        <Loading />
      ) : (
        <Draft
          // The active text is the start of an unsaved one; a change of it starts another.
          key={`${data.updatedAt}`}
          path={path}
          email={data}
          onChanged={() => {
            void refetch();
            onChanged();
          }}
        />
      )}
    </Drawer>
  );
}

interface DraftProps {
  readonly path: string;
  readonly email: EmailTemplateView;
  readonly onChanged: () => void;
}

function Draft({ path, email, onChanged }: DraftProps) {
  const [draft, setDraft] = useState({ subject: email.subject, text: email.text, html: email.html });
  const [preview, setPreview] = useState<EmailPreview | null>(null);
  const [verdict, setVerdict] = useState<EmailTestResult | null>(null);
  const [isRequesting, setRequesting] = useState(false);
  const { busy, error, run } = useAction();
  const set = (part: Partial<typeof draft>) => setDraft({ ...draft, ...part });
  const isChanged = draft.subject !== email.subject || draft.text !== email.text || draft.html !== email.html;
  const save = async () => {
    await request('PUT', path, { body: draft });
    onChanged();
  };
  const show = async () => setPreview((await request<EmailPreview>('POST', `${path}/preview`, { body: draft })).body);
  const test = async () => {
    setVerdict(null);
    setVerdict((await request<EmailTestResult>('POST', `${path}/test`, { body: draft })).body);
  };
  return (
    <Stack>
      <Variables email={email} />
      <TextInput
        label="Subject"
        maxLength={200}
        value={draft.subject}
        onChange={({ currentTarget }) => set({ subject: currentTarget.value })}
      />
      <Textarea
        label="Text"
        description="For e-mail programs without HTML"
        autosize
        minRows={6}
        maxRows={14}
        value={draft.text}
        onChange={({ currentTarget }) => set({ text: currentTarget.value })}
      />
      <Textarea
        label="HTML"
        autosize
        minRows={6}
        maxRows={14}
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
        value={draft.html}
        onChange={({ currentTarget }) => set({ html: currentTarget.value })}
      />
      {error === null ? null : <Failure error={error} />}
      <Group>
        <Button onClick={() => void run(save)} loading={busy} disabled={!isChanged}>
          Save
        </Button>
        <Button variant="default" onClick={() => void run(show)} disabled={busy}>
          Preview
        </Button>
        <Button variant="default" onClick={() => void run(test)} disabled={busy}>
          Send test e-mail
        </Button>
        {email.updatedAt === null ? null : (
          <Button variant="subtle" color="red" onClick={() => setRequesting(true)}>
            Reset to default
          </Button>
        )}
      </Group>
      {verdict === null ? null : <Verdict good={verdict.sent}>{verdict.message}</Verdict>}
      {preview === null ? null : <Preview preview={preview} />}
      {isRequesting ? (
        <Confirm
          title="Reset to default"
          verb="Reset"
          onClose={() => setRequesting(false)}
          onConfirm={async () => {
            await request('DELETE', path);
            onChanged();
          }}
        >
          This deletes your version of this template.
        </Confirm>
      ) : null}
    </Stack>
  );
}

function Variables({ email: { variables, requiredVariables } }: { readonly email: EmailTemplateView }) {
  return (
    <>
      <List size="sm" listStyleType="none" spacing={2}>
        {variables.map(({ name, description }) => (
          <List.Item key={name}>
            <Code>{`{{${name}}}`}</Code> {description}
          </List.Item>
        ))}
      </List>
      {requiredVariables.length === 0 ? null : (
        <Group gap={4}>
          <Text size="sm">Text and HTML must each contain</Text>
          {requiredVariables.map((name, index) => (
            <Group key={name} gap={4}>
              {index === 0 ? null : <Text size="sm">or</Text>}
              <Badge variant="default" tt="none">{`{{${name}}}`}</Badge>
            </Group>
          ))}
        </Group>
      )}
    </>
  );
}

function Preview({ preview: { subject, text, html } }: { readonly preview: EmailPreview }) {
  return (
    <Tabs defaultValue="html" keepMounted={false}>
      <Text size="sm" fw={600} mb="xs">
        {subject}
      </Text>
      <Tabs.List>
        <Tabs.Tab value="html">HTML</Tabs.Tab>
        <Tabs.Tab value="text">Text</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="html" pt="sm">
        <EmailFrame html={html} />
      </Tabs.Panel>
      <Tabs.Panel value="text" pt="sm">
        <Code block>{text}</Code>
      </Tabs.Panel>
    </Tabs>
  );
}
