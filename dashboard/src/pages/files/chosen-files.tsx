/** Files that are chosen in the grid, and their deletion together. */
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
  const [isAsked, setAsked] = useState(false);
  if (chosen.size === 0) return null;
  const words = `${numberText(chosen.size)} ${chosen.size === 1 ? 'file' : 'files'}`;
  const remove = async () => {
    const left = new Set(chosen);
    for (const id of chosen) {
      await request('DELETE', `/files/${encodeURIComponent(id)}`);
      left.delete(id);
      // If one is refused, the others are still chosen.
      onChange(new Set(left));
    }
  };
  return (
    <Group gap="xs" mb="sm" role="status">
      <Text size="sm">{words} chosen</Text>
      <Button size="xs" color="red" variant="outline" onClick={() => setAsked(true)}>
        Delete the chosen
      </Button>
      <Button size="xs" variant="default" onClick={() => onChange(new Set())}>
        Choose none
      </Button>
      {isAsked ? (
        <Confirm title={`Delete ${words}?`} verb="Delete" onClose={() => setAsked(false)} onConfirm={remove}>
          Their bytes are gone for good. Documents that name them keep addresses that lead nowhere.
        </Confirm>
      ) : null}
    </Group>
  );
}
