/** Issuers: the OpenID Connect issuers of the configuration. A token goes to the issuer it names; a reload replaces all of them at once. */
import { aborted } from '../../../component-base/aborted.ts'
import type { Clock } from '../../../component-base/clock.ts'
import type { Log } from '../../../component-base/log.ts'
import type { JwtAuthenticatorConfig } from '../configuration/authentication-configuration.ts'
import type { AuthenticationResult, TokenAuthenticator } from '../authenticator.ts'
import { unverifiedIssuer } from '../service-account-claims.ts'
import { createIssuerKeys, type IssuerKeys } from './issuer-keys.ts'
import { jwtAuthenticator } from './jwt-authenticator.ts'
import { signingAlgorithms } from './signing-algorithms.ts'

export interface Issuers extends TokenAuthenticator {
  /** Replaces the issuers. One whose place has not changed keeps its keys. */
  set(configs: readonly JwtAuthenticatorConfig[], algorithms?: readonly string[]): void
  /** Discovers issuers, now and after every `set`, until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** Issuers of distributed claims that one issuer's tokens may name; more are ignored, so that tokens cannot fill memory. */
const mostOthers = 16

interface Issuer {
  /** The URLs and the CA that the keys depend on. */
  readonly place: string
  readonly keys: IssuerKeys
  /** Keys of the issuers of distributed claims. */
  readonly others: Map<string, IssuerKeys>
  readonly authenticator: TokenAuthenticator
  readonly stop: AbortController
}

const otherIssuer: AuthenticationResult = {
  kind: 'none',
  why: 'no JWT of an issuer that is configured',
}

interface IssuersOptions {
  readonly credentialIdKey: string
  readonly clock: Clock
  readonly log: Log
}

/** Runs the keys of issuers that have not been stopped, as soon as there is a signal to run until. */
function createKeyRuns() {
  const running = new Set<Promise<void>>()
  let runSignal: AbortSignal | undefined

  function start({ keys, stop }: Pick<Issuer, 'keys' | 'stop'>): void {
    if (runSignal === undefined || runSignal.aborted) return
    const run = keys.run(AbortSignal.any([runSignal, stop.signal]))
    running.add(run)
    void run.finally(() => running.delete(run))
  }

  return {
    start,
    async run(signal: AbortSignal, issuers: Iterable<Issuer>): Promise<void> {
      runSignal = signal
      for (const issuer of issuers) start(issuer)
      await aborted(signal)
      await Promise.all(running)
    },
  }
}

/** Builds issuers from their configuration. */
function issuerBuilder(
  options: IssuersOptions,
  start: (one: Pick<Issuer, 'keys' | 'stop'>) => void,
) {
  const { clock, log } = options

  /** Keys by issuer of claims that `config` may point to; undefined for more than it may have. */
  function keysOfOthers(
    { keys, others, stop }: Pick<Issuer, 'keys' | 'others' | 'stop'>,
    { issuerUrl, certificateAuthority: ca }: JwtAuthenticatorConfig,
  ): (url: string) => IssuerKeys | undefined {
    return (url) => {
      if (url === issuerUrl) return keys
      const known = others.get(url)
      if (known !== undefined || others.size >= mostOthers) return known
      const found = createIssuerKeys({ issuerUrl: url, discoveryUrl: undefined, ca, clock, log })
      others.set(url, found)
      start({ keys: found, stop })
      return found
    }
  }

  return (
    config: JwtAuthenticatorConfig,
    { before, algorithms }: { before: Issuer | undefined; algorithms: readonly string[] },
  ): Issuer => {
    const { issuerUrl, discoveryUrl, certificateAuthority: ca } = config
    const place = JSON.stringify([issuerUrl, discoveryUrl, ca])
    const kept =
      before?.place === place
        ? before
        : {
            keys: createIssuerKeys({ issuerUrl, discoveryUrl, ca, clock, log }),
            others: new Map<string, IssuerKeys>(),
            stop: new AbortController(),
          }
    const { keys, others, stop } = kept
    const authenticator = jwtAuthenticator({
      ...options,
      config,
      keys,
      keysOfOthers: keysOfOthers(kept, config),
      algorithms,
    })
    return { place, keys, others, authenticator, stop }
  }
}

export function createIssuers(options: IssuersOptions): Issuers {
  let issuers = new Map<string, Issuer>()
  const { start, run } = createKeyRuns()
  const build = issuerBuilder(options, start)

  return {
    name: 'oidc',
    set(configs, algorithms = signingAlgorithms) {
      const old = issuers
      issuers = new Map(
        configs.map((config) => {
          const before = old.get(config.issuerUrl)
          return [config.issuerUrl, build(config, { before, algorithms })]
        }),
      )
      const stopsBefore = new Set([...old.values()].map(({ stop }) => stop))
      const stops = new Set([...issuers.values()].map(({ stop }) => stop))
      for (const issuer of issuers.values()) if (!stopsBefore.has(issuer.stop)) start(issuer)
      for (const stop of stopsBefore) if (!stops.has(stop)) stop.abort()
    },
    authenticateToken(token, audiences) {
      if (issuers.size === 0) return otherIssuer
      const issuer = issuers.get(unverifiedIssuer(token) ?? '')
      return issuer?.authenticator.authenticateToken(token, audiences) ?? otherIssuer
    },
    run: (signal) => run(signal, issuers.values()),
  }
}
