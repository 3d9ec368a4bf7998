/** One letter in one language: its words are changed, seen with sample values, tried, and taken back. */
import { Badge, Button, Code, Drawer, Group, List, Stack, Tabs, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { MailVerdict } from '../../../../src/admin/installation/installation-shapes.ts';
import type { LetterPreview, ShownLetterTemplate } from '../../../../src/admin/letters/letter-shapes.ts';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Verdict } from '../../parts/installation/verdict.tsx';
import { Loading } from '../../parts/page.tsx';
import { useAction } from '../../parts/use-action.ts';
import { LetterFrame } from './letter-frame.tsx';

interface LetterEditorProps {
  readonly kind: string;
  readonly language: string;
  readonly title: string;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

export function LetterEditor({ kind, language, title, onClose, onChanged }: LetterEditorProps) {
  const path = `/admin/letters/${kind}/${language}`;
  const { data, error, refetch } = useResource<ShownLetterTemplate>(path);
  return (
    <Drawer opened onClose={onClose} title={title} position="right" size="xl">
      {error === null ? null : <Failure error={error} />}
      {data === undefined ? (
        <Loading />
      ) : (
        <Draft
          // The words in force are the beginning of a draft; a change of them begins another one.
          key={`${data.changedAt}`}
          path={path}
          letter={data}
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
  readonly letter: ShownLetterTemplate;
  readonly onChanged: () => void;
}

function Draft({ path, letter, onChanged }: DraftProps) {
  const [draft, setDraft] = useState({ subject: letter.subject, text: letter.text, html: letter.html });
  const [preview, setPreview] = useState<LetterPreview | null>(null);
  const [verdict, setVerdict] = useState<MailVerdict | null>(null);
  const [isAsking, setAsking] = useState(false);
  const { busy, error, run } = useAction();
  const set = (part: Partial<typeof draft>) => setDraft({ ...draft, ...part });
  const isChanged = draft.subject !== letter.subject || draft.text !== letter.text || draft.html !== letter.html;
  const save = async () => {
    await request('PUT', path, { body: draft });
    onChanged();
  };
  const show = async () => setPreview((await request<LetterPreview>('POST', `${path}/preview`, { body: draft })).body);
  const test = async () => {
    setVerdict(null);
    setVerdict((await request<MailVerdict>('POST', `${path}/test`, { body: draft })).body);
  };
  return (
    <Stack>
      <Variables letter={letter} />
      <TextInput
        label="Subject"
        maxLength={200}
        value={draft.subject}
        onChange={({ currentTarget }) => set({ subject: currentTarget.value })}
      />
      <Textarea
        label="Text"
        description="For readers without HTML"
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
          Send a test
        </Button>
        {letter.changedAt === null ? null : (
          <Button variant="subtle" color="red" onClick={() => setAsking(true)}>
            Back to the default
          </Button>
        )}
      </Group>
      {verdict === null ? null : <Verdict good={verdict.sent}>{verdict.verdict}</Verdict>}
      {preview === null ? null : <Preview preview={preview} />}
      {isAsking ? (
        <Confirm
          title="Back to the default"
          verb="Go back"
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await request('DELETE', path);
            onChanged();
          }}
        >
          Your words of this letter are deleted.
        </Confirm>
      ) : null}
    </Stack>
  );
}

function Variables({ letter: { variables, needs } }: { readonly letter: ShownLetterTemplate }) {
  return (
    <>
      <List size="sm" listStyleType="none" spacing={2}>
        {variables.map(({ name, about }) => (
          <List.Item key={name}>
            <Code>{`{{${name}}}`}</Code> {about}
          </List.Item>
        ))}
      </List>
      {needs.length === 0 ? null : (
        <Group gap={4}>
          <Text size="sm">Text and HTML must each hold</Text>
          {needs.map((name, index) => (
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

function Preview({ preview: { subject, text, html } }: { readonly preview: LetterPreview }) {
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
        <LetterFrame html={html} />
      </Tabs.Panel>
      <Tabs.Panel value="text" pt="sm">
        <Code block>{text}</Code>
      </Tabs.Panel>
    </Tabs>
  );
}
