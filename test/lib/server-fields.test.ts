/** Every field in the table of server fields is treated as one, wherever documents are read and written. */
import { BSON } from 'mongodb';
import t from 'tap';
import { checkChangedPath } from '../../src/collections/patch/patch-limits.ts';
import { storableFields, withoutServerFields } from '../../src/collections/write/build-document.ts';
import { encodeDocumentJson, toWireDocument } from '../../src/database/json/json.ts';
import { ALWAYS_VISIBLE_FIELDS, SERVER_FIELDS, SERVER_RESPONSE_FIELDS } from '../../src/lib/server-fields.ts';
import { parseFieldRules } from '../../src/policies/fields/field-rules.ts';
import { childFieldTree, FULL_FIELD_TREE } from '../../src/query/evaluate/field-tree.ts';

const SECRET = 'stored by another program';

for (const name of SERVER_FIELDS) {
  t.test(name, async (t) => {
    const stored = { _id: 'a', ...(name === '_id' ? {} : { [name]: SECRET }), title: 'x' };
    const bytes = encodeDocumentJson(Buffer.from(BSON.serialize(stored))).toString();
    t.notMatch(bytes, SECRET, 'what was stored under it is not shown');
    t.strictSame(JSON.parse(bytes), toWireDocument(stored), 'in both ways to write JSON');
    t.strictSame(Object.keys(withoutServerFields(stored)), ['title']);
    t.throws(() => checkChangedPath([name, 'x']), { code: 'invalid-patch' });
    if (SERVER_RESPONSE_FIELDS.has(name))
      t.strictSame({ ...storableFields({ [name]: 'sent', title: 'x' }) }, { title: 'x' });
    else t.throws(() => storableFields({ [name]: 'sent' }), { code: 'unsupported-field-name' });
    if (ALWAYS_VISIBLE_FIELDS.includes(name))
      t.equal(childFieldTree(parseFieldRules(['title']), name), FULL_FIELD_TREE);
  });
}
