/**
 * Where the templates are kept that owners have changed: documents in `_settings` of `<db>`, whose changes are events. Only
 * letter-templates.ts calls this file.
 */
import type { Collection } from 'mongodb';
import { translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { type OwnMeta, type Stamp, stamped, stampedForDeletion } from '../../database/system-collection.ts';
import { SETTINGS_COLLECTION } from '../providers/redirect-store.ts';
import type { LanguageName } from './languages/languages.ts';
import type { LetterKind } from './languages/letter-kinds.ts';
import type { LetterTemplate } from './template.ts';

interface TemplateRow {
  _id: string;
  letter: LetterTemplate & { readonly kind: LetterKind; readonly language: LanguageName };
  _meta: OwnMeta;
}

/** A template that an owner has changed. */
export interface ChangedTemplate extends LetterTemplate {
  readonly kind: string;
  readonly language: string;
  readonly updatedAt: Date;
}

export class TemplateStore {
  readonly #rows: Collection<TemplateRow>;

  constructor({ data }: Pick<Mongo, 'data'>) {
    this.#rows = data.collection<TemplateRow>(SETTINGS_COLLECTION);
  }

  async all(): Promise<ChangedTemplate[]> {
    const rows = await translated(() => this.#rows.find({ letter: { $type: 'object' } }).toArray());
    return rows.map(({ letter, _meta }) => ({ ...letter, updatedAt: _meta.updatedAt }));
  }

  async put(letter: TemplateRow['letter'], stamp: Stamp, now: Date): Promise<void> {
    const made = { '_meta.createdAt': now, '_meta.createdBy': stamped(stamp, now)['_meta.updatedBy'] };
    await translated(() =>
      this.#rows.updateOne(
        { _id: idOf(letter) },
        { $set: { letter, ...stamped(stamp, now) }, $inc: { '_meta.revision': 1 }, $setOnInsert: made },
        { upsert: true },
      ),
    );
  }

  async remove(letter: Pick<TemplateRow['letter'], 'kind' | 'language'>, stamp: Stamp): Promise<void> {
    const filter = { _id: idOf(letter) };
    await translated(async () => {
      await this.#rows.updateOne(filter, { $set: stampedForDeletion(stamp) });
      await this.#rows.deleteOne(filter);
    });
  }
}

function idOf({ kind, language }: Pick<TemplateRow['letter'], 'kind' | 'language'>): string {
  return `letter ${kind} ${language}`;
}
