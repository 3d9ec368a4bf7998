/**
 * The BSON class of a value, detected by name and not by `instanceof`: Node loads the library twice, once for `import`
 * and once for the driver's `require`, and the classes of the two copies are different.
 */
import type {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'bson';

/** A DBPointer as the reader of stored documents returns it. */
export interface DbPointerValue {
  readonly collection: string;
  readonly id: ObjectId;
}

interface BsonClasses {
  readonly Binary: Binary;
  readonly BSONRegExp: BSONRegExp;
  readonly BSONSymbol: BSONSymbol;
  readonly Code: Code;
  readonly DBPointer: DbPointerValue;
  readonly Decimal128: Decimal128;
  readonly Double: Double;
  readonly Int32: Int32;
  readonly Long: Long;
  readonly MaxKey: MaxKey;
  readonly MinKey: MinKey;
  readonly ObjectId: ObjectId;
  readonly Timestamp: Timestamp;
}

export function isBsonType<N extends keyof BsonClasses>(value: unknown, name: N): value is BsonClasses[N] {
  return bsonType(value) === name;
}

/**
 * The name of the value's BSON class, or null. A document may have a field named `_bsontype`; that does not make it one
 * of these classes.
 */
export function bsonType(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('_bsontype' in value)) return null;
  return Object.hasOwn(value, '_bsontype') ? null : value._bsontype;
}
