/** Transformer: encrypts an object's bytes for the store and decrypts them (upstream: storage/value). Only transformers see stored bytes. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import { notOfPlugin, unobserved, type TransformationObserver } from './transformation-metrics.ts'

/** Stored bytes, decrypted. `isStale`: a write today would use another provider or key. */
export type FromStorage =
  | { readonly ok: true; readonly bytes: Buffer; readonly isStale: boolean }
  /** `status`: the code of a KMS plugin's error, if that is the reason. */
  | { readonly ok: false; readonly why: string; readonly status?: string | undefined }

export interface Transformer {
  /**
   * `key` is the object's key in the store: bytes stored under one key cannot be read under another. Throws the StatusError of
   * the request when it cannot encrypt at the moment. `objectOf` gives the object of the bytes, for forms other than JSON;
   * without it, they are decoded.
   */
  toStorage(bytes: Buffer, key: string, objectOf?: () => KubeObject): Buffer
  /**
   * Fetches what `fromStorage` needs to know for these bytes: call it before, and wait. Undefined when all is there. Never
   * rejects: `fromStorage` then says what failed. Absent: nothing is ever fetched.
   */
  prepare?(stored: Buffer): Promise<void> | undefined
  /** What `fromStorage` says of staleness stays true: no key is loaded again. Absent: false. */
  readonly isLasting?: boolean
  /** Never throws for stored bytes; `why` is upstream's text and contains none of the data. */
  fromStorage(stored: Buffer, key: string): FromStorage
}

/** A transformer for bytes stored with `prefix`, which is stripped before. An empty prefix means plain bytes. */
export interface Provider extends Transformer {
  readonly prefix: string
}

/** The transformer of each stored resource; undefined: stored unencrypted. */
export interface StorageTransformers {
  /** `storagePrefix` as in Resource: `core/secrets`. */
  of(storagePrefix: string): Transformer | undefined
  /** False: no transformer has `prepare`. */
  readonly needsPreparing?: boolean
}

/** `k8s:enc:aesgcm:v1:` and the like; no object starts with it. */
const encrypted = /^[a-z0-9]+:enc:/

/** The error for encrypted bytes that are read as plain ones. */
export const readsPlainOnly = 'identity transformer tried to read encrypted data'

/** Whether some provider wrote these bytes. */
export function isEncrypted(stored: Buffer): boolean {
  return encrypted.test(stored.toString('latin1', 0, 32))
}

function startsWith(stored: Buffer, prefix: Buffer): boolean {
  return stored.subarray(0, prefix.length).equals(prefix)
}

/**
 * The first provider encrypts; every provider with the prefix decrypts, and bytes of another than the first are stale. Two
 * may share a prefix during key rotation, so a failed one does not end the search.
 */
export function firstWrites(
  providers: readonly Provider[],
  noneMatches: string,
  observer: TransformationObserver = unobserved,
): Transformer {
  const [first] = providers
  if (first === undefined) throw new Error('a transformer needs a provider')
  const prefixes = providers.map(({ prefix }) => Buffer.from(prefix))
  const writes = prefixes[0] ?? Buffer.alloc(0)
  const prepare = (stored: Buffer): Promise<void> | undefined => {
    const waits = providers.flatMap((provider, at) => {
      const prefix = prefixes[at] ?? writes
      if (provider.prepare === undefined || !startsWith(stored, prefix)) return []
      return [provider.prepare(stored.subarray(prefix.length)) ?? []].flat()
    })
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => {})
  }
  return {
    ...(providers.some((provider) => provider.prepare !== undefined) ? { prepare } : {}),
    toStorage: (bytes, key) => {
      const startedMs = observer.started()
      let status = notOfPlugin
      let stored: Buffer
      try {
        stored = first.toStorage(bytes, key)
        status = 'OK'
      } finally {
        observer.ended('to_storage', { provider: first.prefix, status, startedMs })
      }
      return writes.length === 0 ? stored : Buffer.concat([writes, stored])
    },
    fromStorage: (stored, key) => {
      const startedMs = observer.started()
      const ended = (provider: string, status: string): void =>
        observer.ended('from_storage', { provider, status, startedMs })
      const faults: string[] = []
      for (const [at, provider] of providers.entries()) {
        const prefix = prefixes[at] ?? writes
        if (!startsWith(stored, prefix)) continue
        const result = provider.fromStorage(stored.subarray(prefix.length), key)
        if (result.ok) {
          ended(provider.prefix || 'identity', 'OK')
          return at === 0 ? result : { ...result, isStale: true }
        }
        // Plain bytes have no prefix: when these are not plain, the next providers may still decrypt them.
        if (prefix.length === 0) continue
        ended(provider.prefix, result.status ?? notOfPlugin)
        faults.push(result.why)
      }
      if (faults.length === 0) {
        ended('unknown', notOfPlugin)
        return { ok: false, why: noneMatches }
      }
      const distinct = [...new Set(faults)]
      return {
        ok: false,
        why: distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`,
      }
    },
  }
}
