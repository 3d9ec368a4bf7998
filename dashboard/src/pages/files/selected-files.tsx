/** Files selected in the grid, and their deletion together. */
import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { numberText } from '../../parts/numbers.ts';

interface ChosenFilesProps {
  /** Ids. */
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
}

export function ChosenFiles({ chosen, onChange }: ChosenFilesProps) {
  const [isRequested, setRequested] = useState(false);
  if (chosen.size === 0) return null;
  const words = `${numberText(chosen.size)} ${chosen.size === 1 ? 'file' : 'files'}`;
  const remove = async () => {
    const left = new Set(chosen);
    for (const id of chosen) {
      await request('DELETE', `/files/${encodeURIComponent(id)}`);
      left.delete(id);
      // If one deletion fails, the others are still selected.
      onChange(new Set(left));
    }
  };
  return (
    <Group gap="xs" mb="sm" role="status">
      <Text size="sm">{words} selected</Text>
      <Button size="xs" color="red" variant="outline" onClick={() => setRequested(true)}>
        Delete selected
      </Button>
      <Button size="xs" variant="default" onClick={() => onChange(new Set())}>
        Clear selection
      </Button>
      {isRequested ? (
        <Confirm title={`Delete ${words}?`} verb="Delete" onClose={() => setRequested(false)} onConfirm={remove}>
          This cannot be undone. Documents that reference them keep broken links.
        </Confirm>
      ) : null}
    </Group>
  );
}
