/**
 * The Zapier app: what it can do is listed here, and what each of it does is in a file of its own. `npm run build` makes the
 * JavaScript that Zapier runs. Not here: the routes of Millrace that it calls.
 */
import { readFileSync } from 'node:fs';
import zapier, { defineApp } from 'zapier-platform-core';
import { authentication } from './api/authentication.ts';
import { readErrors } from './api/errors.ts';
import { addressRequest } from './api/requests.ts';
import { callFunction } from './creates/call-function.ts';
import { createDocument } from './creates/create-document.ts';
import { deleteDocument } from './creates/delete-document.ts';
import { updateDocument } from './creates/update-document.ts';
import { uploadFile } from './creates/upload-file.ts';
import { signedAddress } from './fields/files.ts';
import { findDocument } from './searches/find-document.ts';
import { collections } from './triggers/collections.ts';
import { documentTrigger } from './triggers/document-trigger.ts';
import { fileUploaded } from './triggers/file-uploaded.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

export default defineApp({
  version,
  platformVersion: zapier.version,
  authentication,
  beforeRequest: [addressRequest],
  afterResponse: [readErrors],
  // Otherwise Zapier's own words for 429 would hide what Millrace says.
  flags: { throwForThrottlingEarly: false },
  hydrators: { signedAddress },
  triggers: {
    collections,
    document_created: documentTrigger('created'),
    document_updated: documentTrigger('updated'),
    document_deleted: documentTrigger('deleted'),
    file_uploaded: fileUploaded,
  },
  creates: {
    create_document: createDocument,
    update_document: updateDocument,
    delete_document: deleteDocument,
    call_function: callFunction,
    upload_file: uploadFile,
  },
  searches: { find_document: findDocument },
  searchOrCreates: {
    find_document: {
      key: 'find_document',
      display: {
        label: 'Find or Create Document',
        description: 'Finds a document, and creates one if there is none.',
      },
      search: 'find_document',
      create: 'create_document',
    },
  },
});
