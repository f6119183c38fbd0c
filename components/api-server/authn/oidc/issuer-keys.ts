/** IssuerKeys: the keys that an issuer signs with, found by discovery and fetched again when a token names another. */
import type { Clock } from '../../../component-base/clock.ts'
import type { Log } from '../../../component-base/log.ts'
import { deepEqual } from '../../../machinery/objects/object.ts'
import type { JWK } from 'jose'
import { createHttpsCaller, type HttpsCaller } from '../../egress/https-call.ts'

/** Upstream's waits: between attempts to discover, and for one answer. */
const discoverEveryMs = 10_000
const timeoutMs = 30_000
/** Tokens that name unknown keys cause at most one request in this time. */
const refetchAfterMs = 1_000
const maxBytes = 1024 * 1024

export interface IssuerKeys {
  /** Undefined until discovery has succeeded; then the keys, fetched anew when none has `keyId`. */
  find(keyId: string | undefined): Promise<readonly JWK[] | undefined>
  /** The keys fetched anew, for a signature that none of these made; the same array when there are no others, or none may be asked for yet. */
  findOthers(than: readonly JWK[]): Promise<readonly JWK[]>
  /** Resolves when keys have been found. */
  readonly found: Promise<void>
  /** Changes with the keys: what was found with other keys may not hold any more. */
  readonly generation: number
  /** Discovers, and tries again every 10 seconds until it has succeeded or `signal` aborts. */
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
    // Said below, for both.
  }
  throw new Error(`${what} is no JSON object`)
}

export function createIssuerKeys(options: {
  readonly issuerUrl: string
  readonly discoveryUrl: string | undefined
  readonly ca: string | undefined
  readonly clock: Clock
  readonly log: Log
}): IssuerKeys {
  const { issuerUrl, discoveryUrl, ca, clock, log } = options
  let caller: HttpsCaller | undefined
  let discovered: Discovered | undefined
  let keys: readonly JWK[] = []
  let fetchedAtMs = Number.NEGATIVE_INFINITY
  let fetching: Promise<void> | undefined
  let generation = 0
  const { promise: first, resolve: haveFirst } = Promise.withResolvers<void>()

  async function get(url: string): Promise<Record<string, unknown>> {
    caller ??= createHttpsCaller({ clock, ca, timeoutMs, maxBytes })
    const { status, body } = await caller.call({ url, headers: { accept: 'application/json' } })
    if (status !== 200) throw new Error(`GET ${url}: answered ${status}`)
    return jsonOf(body, url)
  }

  async function discover(): Promise<Discovered> {
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

  async function fetchKeys({ keysUrl }: Discovered): Promise<void> {
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

  async function refetch(from: Discovered): Promise<void> {
    // A clock that was set back counts as well.
    const isDue = Math.abs(clock.now() - fetchedAtMs) >= refetchAfterMs
    if (fetching === undefined && !isDue) return
    fetching ??= fetchKeys(from)
      .catch((error: unknown) => {
        log.warn('keys of a token issuer cannot be fetched', { issuerUrl, error })
      })
      .finally(() => {
        fetching = undefined
      })
    await fetching
  }

  return {
    found: first,
    get generation() {
      return generation
    },
    async find(keyId) {
      if (discovered === undefined) return undefined
      const isKnown = (): boolean =>
        keys.length > 0 && (keyId === undefined || keys.some(({ kid }) => kid === keyId))
      if (!isKnown()) await refetch(discovered)
      return keys
    },
    async findOthers(than) {
      if (discovered !== undefined && keys === than) await refetch(discovered)
      return keys
    },
    async run(signal) {
      while (!signal.aborted && discovered === undefined) {
        try {
          const found = await discover()
          await fetchKeys(found)
          discovered = found
          haveFirst()
        } catch (error) {
          log.warn('a token issuer cannot be discovered yet', { issuerUrl, error })
          try {
            await clock.sleep(discoverEveryMs, signal)
          } catch {
            // Stopped: the loop's condition says so.
          }
        }
      }
      if (!signal.aborted) {
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
      caller?.close()
    },
  }
}
