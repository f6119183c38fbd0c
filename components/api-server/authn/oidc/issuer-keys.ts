/** IssuerKeys: an issuer's signing keys, found by discovery and refetched when a token names an unknown one. */
import { aborted } from '../../../component-base/aborted.ts'
import { backgroundOf } from '../../../component-base/clock.ts'
import type { Clock } from '../../../component-base/clock.ts'
import type { Log } from '../../../component-base/log.ts'
import { deepEqual } from '../../../machinery/objects/object.ts'
import type { JWK } from 'jose'
import { createHttpsCaller, type HttpsCaller } from '../../egress/https-call.ts'

/** Upstream's times: between attempts to discover, and the limit of one request. */
const discoverEveryMs = 10_000
const timeoutMs = 30_000
/** Tokens that name unknown keys cause at most one request in this time. */
const refetchAfterMs = 1_000
const maxBytes = 1024 * 1024

export interface IssuerKeys {
  /** Undefined until discovery has succeeded; then the keys, refetched when none has `keyId`. */
  find(keyId: string | undefined): Promise<readonly JWK[] | undefined>
  /** Refetches, for a signature that none of these keys made. Returns the same array when the keys are the same or were fetched a moment ago. */
  findOthers(than: readonly JWK[]): Promise<readonly JWK[]>
  /** Resolves when keys have been found. */
  readonly found: Promise<void>
  /** Changes with the keys: tokens that other keys verified must be verified again. */
  readonly generation: number
  /** Discovers, retrying every 10 seconds, and keeps connections until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

interface Discovered {
  readonly keysUrl: string
}

function jsonOf(body: Buffer, what: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString())
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // The error below covers both.
  }
  throw new Error(`${what} is no JSON object`)
}

interface IssuerKeysOptions {
  readonly issuerUrl: string
  readonly discoveryUrl: string | undefined
  readonly ca: string | undefined
  readonly clock: Clock
  readonly log: Log
}

type GetJson = (url: string) => Promise<Record<string, unknown>>

/** GET over connections that are opened when first needed. */
function jsonGetter({ clock, ca }: IssuerKeysOptions): { get: GetJson; close(): void } {
  let caller: HttpsCaller | undefined
  return {
    async get(url) {
      caller ??= createHttpsCaller({ clock, ca, timeoutMs, maxBytes })
      const { status, body } = await caller.call({ url, headers: { accept: 'application/json' } })
      if (status !== 200) throw new Error(`GET ${url}: answered ${status}`)
      return jsonOf(body, url)
    },
    close: () => caller?.close(),
  }
}

/** Reads the issuer's discovery document; rejects when it names another issuer. */
async function discover(
  get: GetJson,
  { issuerUrl, discoveryUrl }: IssuerKeysOptions,
): Promise<Discovered> {
  const url = discoveryUrl ?? `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`
  const found = await get(url)
  if (found['issuer'] !== issuerUrl) {
    throw new Error(
      `oidc: issuer did not match the issuer returned by provider, expected ${JSON.stringify(issuerUrl)} got ${JSON.stringify(found['issuer'])}`,
    )
  }
  const keysUrl = found['jwks_uri']
  if (typeof keysUrl !== 'string' || !keysUrl.startsWith('https://')) {
    throw new Error(`${url}: jwks_uri must be a https URL`)
  }
  return { keysUrl }
}

/** The newest key set. Fetches that overlap share one request. */
function createKeySet(get: GetJson, { issuerUrl, clock, log }: IssuerKeysOptions) {
  let keys: readonly JWK[] = []
  let generation = 0
  let fetchedAtMs = Number.NEGATIVE_INFINITY
  let fetching: Promise<void> | undefined

  async function fetch({ keysUrl }: Discovered): Promise<void> {
    fetchedAtMs = clock.now()
    const found = (await get(keysUrl))['keys']
    if (!Array.isArray(found)) throw new Error(`${keysUrl}: keys must be a list`)
    const usable = found.filter(
      (one): one is JWK => typeof one === 'object' && one !== null && (one as JWK).use !== 'enc',
    )
    if (deepEqual(usable, keys)) return
    keys = usable
    generation += 1
  }

  return {
    keys: () => keys,
    generation: () => generation,
    fetch,
    /** Fetches unless that was tried a moment ago; a failure keeps the keys. */
    async refetch(from: Discovered): Promise<void> {
      // A clock that was set back counts as well.
      const isDue = Math.abs(clock.now() - fetchedAtMs) >= refetchAfterMs
      if (fetching === undefined && !isDue) return
      fetching ??= fetch(from)
        .catch((error: unknown) => {
          log.warn('keys of a token issuer cannot be fetched', { issuerUrl, error })
        })
        .finally(() => {
          fetching = undefined
        })
      await fetching
    },
  }
}

export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  const { issuerUrl, clock, log } = options
  const { get, close } = jsonGetter(options)
  const keySet = createKeySet(get, options)
  let discovered: Discovered | undefined
  const { promise: found, resolve: haveFound } = Promise.withResolvers<void>()

  async function discoverOnce(): Promise<void> {
    const first = await discover(get, options)
    await keySet.fetch(first)
    discovered = first
    haveFound()
  }

  return {
    found,
    get generation() {
      return keySet.generation()
    },
    async find(keyId) {
      if (discovered === undefined) return undefined
      const known = keySet.keys()
      const isKnown =
        known.length > 0 && (keyId === undefined || known.some(({ kid }) => kid === keyId))
      if (!isKnown) await keySet.refetch(discovered)
      return keySet.keys()
    },
    async findOthers(than) {
      if (discovered !== undefined && keySet.keys() === than) await keySet.refetch(discovered)
      return keySet.keys()
    },
    async run(signal) {
      while (!signal.aborted && discovered === undefined) {
        try {
          await discoverOnce()
        } catch (error) {
          log.warn('a token issuer cannot be discovered yet', { issuerUrl, error })
          try {
            await backgroundOf(clock).sleep(discoverEveryMs, signal)
          } catch {
            // The signal aborted, which ends the loop.
          }
        }
      }
      await aborted(signal)
      close()
    },
  }
}
