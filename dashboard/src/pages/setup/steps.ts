/** The steps of the set-up, in their order. */

export const STEPS = [
  { id: 'owner', title: 'Owner' },
  { id: 'address', title: 'Address' },
  { id: 'files', title: 'Files' },
  { id: 'mail', title: 'Mail' },
  { id: 'document', title: 'First document' },
] as const;

export type Step = (typeof STEPS)[number]['id'];
