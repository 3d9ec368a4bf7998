/** Roles of an account: free names for users, the four known ones for owners. */
import { Checkbox, Stack } from '@mantine/core';
import { useKnownRoles } from '../../api/known-names.ts';
import { NamesInput } from '../../parts/names-input.tsx';
import { OWNER_ROLES } from './accounts.ts';

interface RolesInputProps {
  readonly kind: 'user' | 'owner';
  readonly value: readonly string[];
  readonly onChange: (roles: readonly string[]) => void;
  readonly disabled?: boolean;
}

export function RolesInput({ kind, value, onChange, disabled = false }: RolesInputProps) {
  const known = useKnownRoles();
  if (kind === 'owner') {
    return (
      <Checkbox.Group label="Roles" value={[...value]} onChange={onChange}>
        <Stack gap="xs" mt={4}>
          {OWNER_ROLES.map(({ role, may }) => (
            <Checkbox key={role} value={role} label={role} description={may} disabled={disabled} />
          ))}
        </Stack>
      </Checkbox.Group>
    );
  }
  return (
    <NamesInput
      label="Roles"
      description="Names that you choose; policies say what each may do. Enter adds one."
      data={[...known]}
      value={[...value]}
      onChange={onChange}
      disabled={disabled}
    />
  );
}
