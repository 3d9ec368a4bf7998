/**
 * Documents of a command that are BSON already. The driver's public functions encode objects only; its own bulk writes
 * put encoded documents into a section of the message, as this does.
 */
import { createRequire } from 'node:module';

interface DocumentSequence {
  push(document: object, bytes: Uint8Array): number;
}

const { DocumentSequence } = createRequire(import.meta.url)('mongodb/lib/cmap/commands.js') as {
  readonly DocumentSequence: new (field: string) => DocumentSequence;
};

/** The value of a command's field `documents`. @param bytes the documents, one after the other */
export function encodedDocuments(bytes: Uint8Array): object {
  const sequence = new DocumentSequence('documents');
  sequence.push({}, bytes);
  return sequence;
}
