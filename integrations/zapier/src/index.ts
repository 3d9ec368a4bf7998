/**
 * The Zapier app: the list of its actions, searches and triggers, each in its own file. `npm run build` creates the JavaScript
 * that Zapier runs.
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
import { signedUrl } from './fields/files.ts';
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
  // Otherwise Zapier's text for 429 would hide the message of Millrace.
  flags: { throwForThrottlingEarly: false },
  hydrators: { signedUrl },
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
