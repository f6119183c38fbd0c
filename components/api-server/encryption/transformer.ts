/** Transformer: what an object's bytes become in the store, and back (upstream: storage/value). Nothing else sees stored bytes. */

/** Stored bytes read back. `isStale`: they are readable, but would be written in another way today. */
export type FromStorage =
  | { readonly ok: true; readonly bytes: Buffer; readonly isStale: boolean }
  | { readonly ok: false; readonly why: string }

export interface Transformer {
  /** `key` is the object's key in the store: what is stored under one key cannot be read under another. */
  toStorage(bytes: Buffer, key: string): Buffer
  /** Never throws for what is stored; `why` is upstream's text and holds nothing of the data. */
  fromStorage(stored: Buffer, key: string): FromStorage
}

/** A transformer for what is stored with `prefix`, which it never sees. An empty prefix stands for plain bytes. */
export interface Provider extends Transformer {
  readonly prefix: string
}

/** What a server's transformers are for; undefined: stored as it is. */
export interface StorageTransformers {
  /** `storagePrefix` as in Resource: `core/secrets`. */
  of(storagePrefix: string): Transformer | undefined
}

/** `k8s:enc:aesgcm:v1:` and its like: no object begins so. */
const encrypted = /^[a-z0-9]+:enc:/

/** What reading encrypted bytes as plain ones is answered with. */
export const readsPlainOnly = 'identity transformer tried to read encrypted data'

/** Whether some provider wrote these bytes. */
export function isEncrypted(stored: Buffer): boolean {
  return encrypted.test(stored.toString('latin1', 0, 32))
}

/**
 * The first provider writes; whichever knows the prefix reads, and what another than the first can read is stale. Two may
 * share a prefix (a key that is being rotated), so one that fails is not the last word.
 */
export function firstWrites(providers: readonly Provider[], noneMatches: string): Transformer {
  const [first] = providers
  if (first === undefined) throw new Error('a transformer needs a provider')
  const prefixes = providers.map(({ prefix }) => Buffer.from(prefix))
  const writes = prefixes[0] ?? Buffer.alloc(0)
  return {
    toStorage: (bytes, key) => {
      const stored = first.toStorage(bytes, key)
      return writes.length === 0 ? stored : Buffer.concat([writes, stored])
    },
    fromStorage: (stored, key) => {
      const faults: string[] = []
      for (const [at, provider] of providers.entries()) {
        const prefix = prefixes[at] ?? writes
        if (!stored.subarray(0, prefix.length).equals(prefix)) continue
        const result = provider.fromStorage(stored.subarray(prefix.length), key)
        if (result.ok) return at === 0 ? result : { ...result, isStale: true }
        // Plain bytes have no prefix: that they are none is no fault of the providers behind.
        if (prefix.length > 0) faults.push(result.why)
      }
      if (faults.length === 0) return { ok: false, why: noneMatches }
      const distinct = [...new Set(faults)]
      return {
        ok: false,
        why: distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`,
      }
    },
  }
}
