/**
 * The templates that administrators have changed: documents in `_settings` of `<db>`, whose changes are events. Only
 * email-templates.ts calls this file.
 */
import type { Collection } from 'mongodb';
import { translated } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';
import {
  type OwnMeta,
  SETTINGS_COLLECTION,
  type Stamp,
  stamped,
  stampedForDeletion,
} from '../database/system-collection.ts';
import type { EmailKind } from './locales/email-types.ts';
import type { LanguageName } from './locales/locales.ts';
import type { EmailTemplate } from './template.ts';

interface TemplateRow {
  _id: string;
  emailTemplate: EmailTemplate & { readonly kind: EmailKind; readonly locale: LanguageName };
  _meta: OwnMeta;
}

/** A template that an administrator has changed. */
export interface ChangedTemplate extends EmailTemplate {
  readonly kind: string;
  readonly locale: string;
  readonly updatedAt: Date;
}

export class TemplateStore {
  readonly #rows: Collection<TemplateRow>;

  constructor({ data }: Pick<Mongo, 'data'>) {
    this.#rows = data.collection<TemplateRow>(SETTINGS_COLLECTION);
  }

  async all(): Promise<ChangedTemplate[]> {
    const rows = await translated(() => this.#rows.find({ emailTemplate: { $type: 'object' } }).toArray());
    return rows.map(({ emailTemplate, _meta }) => ({ ...emailTemplate, updatedAt: _meta.updatedAt }));
  }

  async put(emailTemplate: TemplateRow['emailTemplate'], stamp: Stamp, now: Date): Promise<void> {
    const created = { '_meta.createdAt': now, '_meta.createdBy': stamped(stamp, now)['_meta.updatedBy'] };
    await translated(() =>
      this.#rows.updateOne(
        { _id: idOf(emailTemplate) },
        { $set: { emailTemplate, ...stamped(stamp, now) }, $inc: { '_meta.revision': 1 }, $setOnInsert: created },
        { upsert: true },
      ),
    );
  }

  async remove(emailTemplate: Pick<TemplateRow['emailTemplate'], 'kind' | 'locale'>, stamp: Stamp): Promise<void> {
    const filter = { _id: idOf(emailTemplate) };
    await translated(async () => {
      await this.#rows.updateOne(filter, { $set: stampedForDeletion(stamp) });
      await this.#rows.deleteOne(filter);
    });
  }
}

function idOf({ kind, locale }: Pick<TemplateRow['emailTemplate'], 'kind' | 'locale'>): string {
  return `email-template ${kind} ${locale}`;
}
