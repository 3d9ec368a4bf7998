/** The users or keys that a policy names: found and shown by name, or by id without the right to read users. */
import { Pill, Stack } from '@mantine/core';
import { useRights } from '../../../api/rights.ts';
import { NamesInput } from '../../../parts/names-input.tsx';
import { Actor } from '../../../parts/users/actor.tsx';
import { ChooseKey, ChooseUser } from '../../../parts/users/choose-user.tsx';

interface NamedPrincipalsProps {
  readonly kind: 'user' | 'key';
  readonly label: string;
  readonly ids: readonly string[];
  readonly onChange: (ids: readonly string[]) => void;
}

export function NamedPrincipals({ kind, label, ids, onChange }: NamedPrincipalsProps) {
  const { accounts } = useRights();
  if (!accounts) return <NamesInput label={`${label}, by id`} value={[...ids]} onChange={onChange} />;
  const Choose = kind === 'user' ? ChooseUser : ChooseKey;
  const add = (id: string | null) => {
    if (id !== null && !ids.includes(id)) onChange([...ids, id]);
  };
  return (
    <Stack gap={6}>
      {/* Recreated after each selection, which empties it for the next one. */}
      <Choose key={ids.length} label={label} value={null} onChange={add} />
      {ids.length === 0 ? null : (
        <Pill.Group>
          {ids.map((id) => (
            <Pill
              key={id}
              withRemoveButton
              removeButtonProps={{ tabIndex: 0, 'aria-hidden': false, 'aria-label': `Remove ${kind} ${id}` }}
              onRemove={() => onChange(ids.filter((one) => one !== id))}
            >
              <Actor plain kind={kind} id={id} />
            </Pill>
          ))}
        </Pill.Group>
      )}
    </Stack>
  );
}
