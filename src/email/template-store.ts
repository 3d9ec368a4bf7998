/**
 * The templates that administrators have changed: documents in `_settings` of `<db>`, whose changes are events. Only
 * email-templates.ts calls this file.
 */
import type { Collection } from 'mongodb';
import { withTranslatedErrors } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import {
  type ChangeStamp,
  SETTINGS_COLLECTION,
  type SystemDocumentMeta,
  stampDeletion,
  stampUpdate,
} from '../database/system-collection.ts';
import type { EmailKind } from './locales/email-types.ts';
import type { LanguageCode } from './locales/locales.ts';
import type { EmailTemplate } from './template.ts';

interface TemplateRow {
  _id: string;
  emailTemplate: EmailTemplate & { readonly kind: EmailKind; readonly locale: LanguageCode };
  _meta: SystemDocumentMeta;
}

/** A template that an administrator has changed. */
export interface CustomEmailTemplate extends EmailTemplate {
  readonly kind: string;
  readonly locale: string;
  readonly updatedAt: Date;
}

export class EmailTemplateStore {
  readonly #rows: Collection<TemplateRow>;

  constructor({ data }: Pick<Mongo, 'data'>) {
    this.#rows = data.collection<TemplateRow>(SETTINGS_COLLECTION);
  }

  async all(): Promise<CustomEmailTemplate[]> {
    const rows = await withTranslatedErrors(() => this.#rows.find({ emailTemplate: { $type: 'object' } }).toArray());
    return rows.map(({ emailTemplate, _meta }) => ({ ...emailTemplate, updatedAt: _meta.updatedAt }));
  }

  async put(emailTemplate: TemplateRow['emailTemplate'], stamp: ChangeStamp, now: Date): Promise<void> {
    const created = { '_meta.createdAt': now, '_meta.createdBy': stampUpdate(stamp, now)['_meta.updatedBy'] };
    await withTranslatedErrors(() =>
      this.#rows.updateOne(
        { _id: idOf(emailTemplate) },
        { $set: { emailTemplate, ...stampUpdate(stamp, now) }, $inc: { '_meta.revision': 1 }, $setOnInsert: created },
        { upsert: true },
      ),
    );
  }

  async remove(
    emailTemplate: Pick<TemplateRow['emailTemplate'], 'kind' | 'locale'>,
    stamp: ChangeStamp,
  ): Promise<void> {
    const filter = { _id: idOf(emailTemplate) };
    await withTranslatedErrors(async () => {
      await this.#rows.updateOne(filter, { $set: stampDeletion(stamp) });
      await this.#rows.deleteOne(filter);
    });
  }
}

function idOf({ kind, locale }: Pick<TemplateRow['emailTemplate'], 'kind' | 'locale'>): string {
  return `email-template ${kind} ${locale}`;
}
