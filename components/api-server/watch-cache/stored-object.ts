/** stored-object: what the store holds under a key -> an entry, or what keeps it from being read. */
import type { KeyValue } from '../../store/store.ts'
import { isEncrypted, readsPlainOnly, type Transformer } from '../encryption/transformer.ts'
import { Entry } from './entry.ts'
import type { OwnWrites } from './own-writes.ts'
import type { Unreadable } from './unreadable.ts'

const openingBrace = 0x7b
const closingBrace = 0x7d
const newline = 0x0a

/** A key whose bytes are no object. What a parser says of them may show a part, so it is left out. */
export function undecodable(at: {
  key: string
  storeKeyText: string
  revision: number
}): Unreadable {
  return {
    key: at.key,
    storeKey: at.storeKeyText,
    revision: at.revision,
    fault: 'undecodable',
    why: "couldn't get version/kind; json parse error: the stored bytes are no object",
  }
}

/** Whether bytes begin and end as an object does: cheap enough for every key of a store. Entry.prove looks at the rest. */
function hasObjectShape(bytes: Buffer): boolean {
  const last = bytes.at(-1) === newline ? bytes.at(-2) : bytes.at(-1)
  return bytes[0] === openingBrace && last === closingBrace
}

/** Reads one key; what is in `ownWrites` needs no more than to be found there. `upgrade` makes the current form of an older one; `onStale` hears of bytes that a write would store in another form, for good. Never throws for what is stored. */
export function readStored(
  kv: KeyValue,
  key: string,
  how: {
    transformer: Transformer | undefined
    ownWrites?: OwnWrites
    upgrade(bytes: Buffer): Buffer
    onStale(): void
  },
): Entry | Unreadable {
  const { transformer, upgrade } = how
  const at = { key, storeKeyText: kv.key, revision: kv.modRevision }
  const untransformable = (why: string): Unreadable => ({
    ...undecodable(at),
    fault: 'untransformable',
    why,
  })
  const own = how.ownWrites?.take(kv.key, kv.value)
  if (own !== undefined) return new Entry(key, kv.modRevision, own)
  let bytes = kv.value
  if (transformer !== undefined) {
    const result = transformer.fromStorage(bytes, kv.key)
    if (!result.ok) return untransformable(result.why)
    bytes = result.bytes
    if (result.isStale && transformer.isLasting === true) how.onStale()
  } else if (bytes[0] !== openingBrace && isEncrypted(bytes)) {
    return untransformable(readsPlainOnly)
  }
  if (!hasObjectShape(bytes)) return undecodable(at)
  try {
    return new Entry(key, kv.modRevision, upgrade(bytes))
  } catch {
    // It does not parse, or has no place for the resourceVersion: nothing that an API server wrote.
    return undecodable(at)
  }
}
