/** A link to a page of the dashboard by its path, for addresses that are made from data. */
import { Anchor } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** @param to begins with `/`, without `/dashboard`: `/data/todos?doc=a` */
export function PathLink({ to, children }: { readonly to: `/${string}`; readonly children: ReactNode }) {
  const navigate = useNavigate();
  return (
    <Anchor
      href={`/dashboard${to}`}
      size="sm"
      onClick={(event) => {
        // A click with a key held opens another tab, as with every link.
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        void navigate({ href: to });
      }}
    >
      {children}
    </Anchor>
  );
}
