/** Shows its content only to administrators who can read users and keys; others see the reason. */
import { Alert } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRights } from '../../api/rights.ts';
import { Loading } from '../page.tsx';

export function ForUsers({ children }: { readonly children: ReactNode }) {
  const { known, accounts } = useRights();
  if (!known) return <Loading />;
  if (accounts) return children;
  return (
    <Alert color="gray" title="This page requires the role owner or manager">
      The roles developer and viewer have no access to users, keys and settings. An administrator with the role owner
      can change your role.
    </Alert>
  );
}
