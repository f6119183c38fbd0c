/**
 * Continue tokens: where the next page of a list starts, and at which revision it reads (upstream: storage/continue.go). A
 * token carries a code made with a key of the store, so a client can neither forge one nor use it for another list.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { badRequest } from '../../machinery/objects/status-error.ts'
import { isRefusal, type Store } from '../../store/store.ts'
import { parseJson } from './decode-body.ts'
import { storeRoot } from '../watch-cache/store-keys.ts'

export interface ContinueToken {
  /** Every page reads this revision; undefined: whichever is the newest, so that pages need not agree. */
  readonly revision: number | undefined
  /** First key of the next page: `namespace/name` or `name`. */
  readonly start: string
}

export interface ContinueTokens {
  /** `list` names the list that the token is for: what is in it, but not which page of it. */
  encode(list: string, token: ContinueToken): string
  /** Throws a 400 StatusError for anything that was not made for this list, on this store. */
  decode(list: string, text: string): ContinueToken
}

const version = 'v1'
/** In place of a revision (upstream's number for it). */
const newest = -1
/** Longer than any token: names are bounded. */
const longest = 8192
const codeBytes = 16
const keyBytes = 32

/** Not of an object's shape, so that no cache shows it. */
const keyOfKey = `${storeRoot}continue-token-key`

/** The store's key for tokens, created if missing: tokens outlive a restart, and servers on one store accept each other's. */
export async function continueTokenKey(store: Store): Promise<Buffer> {
  for (;;) {
    const known = await store.get(keyOfKey)
    if (known?.value.length === keyBytes) return known.value
    const value = randomBytes(keyBytes)
    try {
      await store.txn({ key: keyOfKey, expectedRevision: known?.modRevision ?? 0, value })
    } catch (error) {
      // No room to write: the server shall run all the same, with tokens that end with it.
      if (isRefusal(error)) return value
      throw error
    }
  }
}

export function createContinueTokens(key: Buffer): ContinueTokens {
  const codeOf = (list: string, rv: number, start: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([version, list, rv, start]))
      .digest()
      .subarray(0, codeBytes)

  return {
    encode: (list, { revision, start }) => {
      const rv = revision ?? newest
      const code = codeOf(list, rv, start).toString('base64url')
      return Buffer.from(JSON.stringify({ v: version, rv, start, code })).toString('base64url')
    },
    decode: (list, text) => {
      const what = 'invalid continue token: continue key is not valid'
      const refuse = (why: string): never => {
        throw badRequest(`${what}: ${why}`)
      }
      if (text.length > longest) return refuse('it is too long')
      const value = parseJson(Buffer.from(text, 'base64url'), `${what}: `)
      const { v, rv, start, code } = (value ?? {}) as Record<string, unknown>
      if (v !== version) return refuse('server does not recognize this encoded version')
      if (typeof start !== 'string' || start === '') return refuse('encoded start key empty')
      if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || (rv <= 0 && rv !== newest)) {
        return refuse('incorrect encoded start resourceVersion')
      }
      const given = Buffer.from(typeof code === 'string' ? code : '', 'base64url')
      if (given.length !== codeBytes || !timingSafeEqual(given, codeOf(list, rv, start))) {
        return refuse('it was not made for this list by this cluster')
      }
      return { revision: rv === newest ? undefined : rv, start }
    },
  }
}
