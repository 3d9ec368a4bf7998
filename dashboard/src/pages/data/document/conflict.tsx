/** Three states of a document side by side: the original, yours, and the current one. */
import { Alert, Button, Code, Group, SegmentedControl, Stack, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { Failure } from '../../../parts/failure.tsx';
import { type Fields, isSame } from './use-document.ts';

interface ConflictProps {
  readonly base: Fields;
  readonly yours: Fields;
  readonly theirs: Fields;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onSave: (merged: Fields) => void;
  readonly onBack: () => void;
}

type Side = 'yours' | 'theirs';

export function Conflict({ base, yours, theirs, busy, error, onSave, onBack }: ConflictProps) {
  const [chosen, setChosen] = useState<Readonly<Record<string, Side>>>({});
  const names = [...new Set([...Object.keys(base), ...Object.keys(theirs), ...Object.keys(yours)])];
  /** Fields that both have changed come first: the user has to choose there. */
  const isContested = (name: string) => !isSame(yours[name], base[name]) && !isSame(theirs[name], base[name]);
  const differing = names
    .filter((name) => !isSame(yours[name], theirs[name]))
    .toSorted((one, other) => Number(isContested(other)) - Number(isContested(one)));
  /** Where only one of the two changed something, that change is taken. */
  const sideOf = (name: string): Side => chosen[name] ?? (isSame(yours[name], base[name]) ? 'theirs' : 'yours');
  const merged = Object.fromEntries(
    names.flatMap((name) => {
      const from = differing.includes(name) && sideOf(name) === 'theirs' ? theirs : yours;
      return Object.hasOwn(from, name) ? [[name, from[name]]] : [];
    }),
  );
  return (
    <Stack>
      <Alert color="yellow" title="This document was changed by someone else">
        Nothing is lost. Choose a value for each field, then save.
      </Alert>
      {differing.length === 0 ? <Text size="sm">Both changes are the same.</Text> : null}
      {differing.map((name) => (
        <Stack key={name} gap={4}>
          <Group justify="space-between">
            <Text fw={600} size="sm">
              {name}
            </Text>
            <SegmentedControl
              size="xs"
              aria-label={`Value of ${name} to keep`}
              value={sideOf(name)}
              onChange={(value) => setChosen({ ...chosen, [name]: value === 'theirs' ? 'theirs' : 'yours' })}
              data={[
                { value: 'yours', label: 'Yours' },
                { value: 'theirs', label: 'Theirs' },
              ]}
            />
          </Group>
          <Table withTableBorder verticalSpacing={4} layout="fixed">
            <Table.Tbody>
              <State label="Before" from={base} name={name} />
              <State label="Yours" from={yours} name={name} />
              <State label="Theirs" from={theirs} name={name} />
            </Table.Tbody>
          </Table>
        </Stack>
      ))}
      {error === null ? null : <Failure error={error} />}
      <Group>
        <Button loading={busy} onClick={() => onSave(merged)}>
          Save
        </Button>
        <Button variant="default" onClick={onBack}>
          Back
        </Button>
      </Group>
    </Stack>
  );
}

function State({ label, from, name }: { readonly label: string; readonly from: Fields; readonly name: string }) {
  return (
    <Table.Tr>
      <Table.Th w={80}>{label}</Table.Th>
      <Table.Td>{Object.hasOwn(from, name) ? <Code>{JSON.stringify(from[name])}</Code> : 'absent'}</Table.Td>
    </Table.Tr>
  );
}
