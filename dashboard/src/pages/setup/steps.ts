/** The steps of the setup, in their order. */

export const STEPS = [
  { id: 'admin', title: 'Administrator' },
  { id: 'url', title: 'URL' },
  { id: 'files', title: 'Files' },
  { id: 'email', title: 'E-mail' },
  { id: 'document', title: 'First document' },
] as const;

export type Step = (typeof STEPS)[number]['id'];
