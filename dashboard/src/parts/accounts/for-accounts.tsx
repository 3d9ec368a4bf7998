/** What is below is for people who may see accounts and keys; the others read why it is not there. */
import { Alert } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRights } from '../../api/rights.ts';
import { Loading } from '../page.tsx';

export function ForAccounts({ children }: { readonly children: ReactNode }) {
  const { known, accounts } = useRights();
  if (!known) return <Loading />;
  if (accounts) return children;
  return (
    <Alert color="gray" title="This page is for owners and admins">
      Accounts and keys are not open to the roles developer and viewer. Ask an owner for the role admin.
    </Alert>
  );
}
