/** Which stored values a change keeps, with a bounded search for them. */
import { Binary, Int32, ObjectId } from 'mongodb';
import t from 'tap';
import { BsonTypePreserver } from '../../../src/collections/write/bson-type-preservation.ts';

t.test('removed, moved and changed elements keep their types', async (t) => {
  const old = [1, 2, 3, 4].map((n) => new Int32(n));
  const kept = (next: unknown[]) =>
    Object(new BsonTypePreserver().preserve(old, next)).map((item: unknown) => old.indexOf(Object(item)));
  t.strictSame(kept([2, 3, 4]), [1, 2, 3]);
  t.strictSame(kept([1, 4]), [0, 3]);
  t.strictSame(kept([4, 3, 2, 1]), [3, 2, 1, 0]);
  t.strictSame(kept([1, 9, 2, 3, 4]), [0, -1, 1, 2, 3]);
  t.strictSame(kept([1, 1]), [0, 0]);
  t.strictSame(kept([9, '1', null]), [-1, -1, -1]);
  t.strictSame(new BsonTypePreserver().preserve([], [1]), [1]);
});

t.test('a changed element is identified by its neighbors', async (t) => {
  const old = ['a', 'b', 'c', 'd'].map((name) => ({ name, ref: new ObjectId() }));
  const shown = old.map(({ name, ref }) => ({ name, ref: ref.toHexString() }));
  const [first, second, third, fourth] = shown;
  const refs = (next: unknown[]) =>
    Object(new BsonTypePreserver().preserve(old, next)).map(({ ref }: { ref: unknown }) => ref);
  const [one, two, three, four] = old.map(({ ref }) => ref);
  t.strictSame(refs([first, { ...second, name: 'x' }, third]), [one, two, three]);
  t.strictSame(refs([{ ...second, name: 'x' }, third, fourth]), [two, three, four]);
  t.strictSame(refs([second, { ...third, name: 'x' }, { ...fourth, name: 'y' }]), [two, three, four]);
  t.strictSame(refs(shown.map((item) => ({ ...item, name: 'x' }))), [one, two, three, four]);
});

t.test('where too much would have to be compared, elements count as unmoved', async (t) => {
  const old = Array.from({ length: 10_000 }, (_, n) => ({ n, ref: new ObjectId() }));
  const next = old.map(({ n, ref }) => ({ n: -n - 1, ref: ref.toHexString() }));
  const kept: unknown = new BsonTypePreserver().preserve(old, next);
  t.ok(Object(kept).every(({ ref }: { ref: unknown }, n: number) => ref === old[n]?.ref));
});

t.test('the JSON of a stored value is computed once, for any number of comparisons', async (t) => {
  const picture = new Binary(Buffer.alloc(1_000));
  let read = 0;
  const value = picture.value.bind(picture);
  picture.value = () => {
    read += 1;
    return value();
  };
  const texts = Array.from({ length: 100 }, (_, n) => `text ${n}`);
  const kept: unknown = new BsonTypePreserver().preserve([picture], [...texts, Buffer.alloc(1_000).toString('base64')]);
  t.equal(Object(kept).at(-1), picture);
  t.equal(read, 1);
});
