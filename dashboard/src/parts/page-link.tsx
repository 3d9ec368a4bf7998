/** A link to another state of the pages, with its URL checked by the compiler. */
import { Anchor, type AnchorProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, Ref } from 'react';

type PlainLinkProps = AnchorProps &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof AnchorProps> & { readonly ref?: Ref<HTMLAnchorElement> };

function PlainLink(props: PlainLinkProps) {
  return <Anchor {...props} />;
}

export const PageLink = createLink(PlainLink);
