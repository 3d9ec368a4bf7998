/** Every field in the table of server fields is treated as one, wherever documents are read and written. */
import { BSON } from 'mongodb';
import t from 'tap';
import { checkChangedPath } from '../../src/collections/patch/patch-limits.ts';
import { storable, visibleFields } from '../../src/collections/write/next-document.ts';
import { encodeDocument, toWire } from '../../src/database/json/json.ts';
import { ALWAYS_VISIBLE, RESPONSE_FIELDS, SERVER_FIELDS } from '../../src/lib/server-fields.ts';
import { parseFieldRules } from '../../src/policies/fields/field-rules.ts';
import { ALL, childOf } from '../../src/query/evaluate/field-tree.ts';

const SECRET = 'stored by another program';

for (const name of SERVER_FIELDS) {
  t.test(name, async (t) => {
    const stored = { _id: 'a', ...(name === '_id' ? {} : { [name]: SECRET }), title: 'x' };
    const bytes = encodeDocument(Buffer.from(BSON.serialize(stored))).toString();
    t.notMatch(bytes, SECRET, 'what was stored under it is not shown');
    t.strictSame(JSON.parse(bytes), toWire(stored), 'in both ways to write JSON');
    t.strictSame(Object.keys(visibleFields(stored)), ['title']);
    t.throws(() => checkChangedPath([name, 'x']), { code: 'invalid-patch' });
    if (RESPONSE_FIELDS.has(name)) t.strictSame({ ...storable({ [name]: 'sent', title: 'x' }) }, { title: 'x' });
    else t.throws(() => storable({ [name]: 'sent' }), { code: 'unsupported-field-name' });
    if (ALWAYS_VISIBLE.includes(name)) t.equal(childOf(parseFieldRules(['title']), name), ALL);
  });
}
