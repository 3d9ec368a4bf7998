/**
 * Documents of a command that are BSON already. The driver's public functions encode objects only; its own bulk writes
 * put encoded documents into a section of the message, as this does.
 */
// An import, not a require: a bundle has its own instance of the driver, and the driver tests for its own class.
// @ts-expect-error: the driver exports neither the class nor its types.
import { DocumentSequence as DriverDocumentSequence } from 'mongodb/lib/cmap/commands.js';

interface DocumentSequence {
  push(document: object, bytes: Uint8Array): number;
}

const SequenceOfDriver: new (field: string) => DocumentSequence = DriverDocumentSequence;

/** The value of a command's field `documents`. @param bytes the documents, one after the other */
export function encodedDocuments(bytes: Uint8Array): object {
  const sequence = new SequenceOfDriver('documents');
  sequence.push({}, bytes);
  return sequence;
}
