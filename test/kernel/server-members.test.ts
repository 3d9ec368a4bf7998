/** Every member in the table of the server's own is treated as one, wherever documents are read and written. */
import { BSON } from 'mongodb';
import t from 'tap';
import { storable, visibleMembers } from '../../src/collections/change/next-document.ts';
import { checkChangedPath } from '../../src/collections/patch/patch-bounds.ts';
import { encodeDocument, toWire } from '../../src/database/json/json.ts';
import { ALWAYS_VISIBLE, ANSWER_MEMBERS, SERVER_MEMBERS } from '../../src/kernel/server-members.ts';
import { parseFieldRules } from '../../src/policies/fields/field-rules.ts';
import { ALL, childOf } from '../../src/query/evaluate/field-tree.ts';

const SECRET = 'stored by another program';

for (const name of SERVER_MEMBERS) {
  t.test(name, async (t) => {
    const stored = { _id: 'a', ...(name === '_id' ? {} : { [name]: SECRET }), title: 'x' };
    const bytes = encodeDocument(Buffer.from(BSON.serialize(stored))).toString();
    t.notMatch(bytes, SECRET, 'what was stored under it is not shown');
    t.strictSame(JSON.parse(bytes), toWire(stored), 'in both ways to write JSON');
    t.strictSame(Object.keys(visibleMembers(stored)), ['title']);
    t.throws(() => checkChangedPath([name, 'x']), { code: 'invalid-patch' });
    if (ANSWER_MEMBERS.has(name)) t.strictSame({ ...storable({ [name]: 'sent', title: 'x' }) }, { title: 'x' });
    else t.throws(() => storable({ [name]: 'sent' }), { code: 'unsupported-key' });
    if (ALWAYS_VISIBLE.includes(name)) t.equal(childOf(parseFieldRules(['title']), name), ALL);
  });
}
