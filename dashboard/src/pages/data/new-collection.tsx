/** A new collection: its name and its first document. */
import { Button, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { CodeEditor } from '../../parts/code/code-editor.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';
import { pathOf } from './parts/search.ts';

const FIRST = '{\n  "title": "First"\n}';

export function NewCollection({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [text, setText] = useState(FIRST);
  const { busy, error, run } = useAction();
  const navigate = useNavigate();
  const create = async () => {
    await request('POST', pathOf(name), { body: JSON.parse(text) as unknown });
    await navigate({ href: `/data/${encodeURIComponent(name)}` });
  };
  return (
    <Modal opened onClose={onClose} title="New collection" size="lg" centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(create);
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            description="A plural noun: a letter, then letters, digits, _ or -"
            placeholder="todos"
            required
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          <div>
            <Text size="sm" fw={500} mb={4}>
              First document
            </Text>
            <CodeEditor label="First document" language="json" value={text} onChange={setText} lines={5} />
          </div>
          {error === null ? null : <Failure error={error} />}
          <Button type="submit" loading={busy}>
            Create
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}
