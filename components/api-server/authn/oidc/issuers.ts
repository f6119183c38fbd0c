/** Issuers: all outside issuers of tokens together; a token goes to the one it names, and a reload swaps them all at once. */
import type { Clock } from '../../../component-base/clock.ts'
import type { Log } from '../../../component-base/log.ts'
import type { JwtAuthenticatorConfig } from '../configuration/authentication-configuration.ts'
import type { AuthenticationResult, TokenAuthenticator } from '../authenticator.ts'
import { unverifiedIssuer } from '../service-account-claims.ts'
import { createIssuerKeys, type IssuerKeys } from './issuer-keys.ts'
import { jwtAuthenticator, signingAlgorithms } from './jwt-authenticator.ts'

export interface Issuers extends TokenAuthenticator {
  /** Uses these from now on. Keys that were found stay with an issuer that has not changed. */
  set(configs: readonly JwtAuthenticatorConfig[], algorithms?: readonly string[]): void
  /** Discovers issuers, now and after every `set`, until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** Issuers of claims that are kept elsewhere, for one issuer of tokens: whoever names more has named them to no end. */
const mostOthers = 16

interface Issuer {
  /** What the keys depend on. */
  readonly place: string
  readonly keys: IssuerKeys
  /** Of issuers that vouch for claims of its tokens. */
  readonly others: Map<string, IssuerKeys>
  readonly authenticator: TokenAuthenticator
  readonly stop: AbortController
}

const otherIssuer: AuthenticationResult = {
  kind: 'none',
  why: 'no JWT of an issuer that is configured',
}

export function createIssuers(options: {
  readonly credentialIdKey: string
  readonly clock: Clock
  readonly log: Log
}): Issuers {
  const { clock, log } = options
  let issuers = new Map<string, Issuer>()
  const running = new Set<Promise<void>>()
  let runSignal: AbortSignal | undefined

  function start({ keys, stop }: Pick<Issuer, 'keys' | 'stop'>): void {
    if (runSignal === undefined || runSignal.aborted) return
    const run = keys.run(AbortSignal.any([runSignal, stop.signal]))
    running.add(run)
    void run.finally(() => running.delete(run))
  }

  return {
    name: 'oidc',
    set(configs, algorithms = signingAlgorithms) {
      const before = issuers
      const kept = new Set<Issuer>()
      issuers = new Map(
        configs.map((config): [string, Issuer] => {
          const { issuerUrl, discoveryUrl, certificateAuthority: ca } = config
          const place = JSON.stringify([issuerUrl, discoveryUrl, ca])
          const old = before.get(issuerUrl)
          const same = old?.place === place ? old : undefined
          const keys = same?.keys ?? createIssuerKeys({ issuerUrl, discoveryUrl, ca, clock, log })
          const stop = same?.stop ?? new AbortController()
          const others = same?.others ?? new Map<string, IssuerKeys>()
          const keysOfOthers = (url: string): IssuerKeys | undefined => {
            if (url === issuerUrl) return keys
            const known = others.get(url)
            if (known !== undefined || others.size >= mostOthers) return known
            const found = createIssuerKeys({
              issuerUrl: url,
              discoveryUrl: undefined,
              ca,
              clock,
              log,
            })
            others.set(url, found)
            start({ keys: found, stop })
            return found
          }
          const authenticator = jwtAuthenticator({
            ...options,
            config,
            keys,
            keysOfOthers,
            algorithms,
          })
          const issuer = { place, keys, others, authenticator, stop }
          if (same === undefined) start(issuer)
          else kept.add(same)
          return [issuerUrl, issuer]
        }),
      )
      for (const old of before.values()) if (!kept.has(old)) old.stop.abort()
    },
    authenticateToken(token, audiences) {
      if (issuers.size === 0) return otherIssuer
      const issuer = issuers.get(unverifiedIssuer(token) ?? '')
      return issuer?.authenticator.authenticateToken(token, audiences) ?? otherIssuer
    },
    async run(signal) {
      runSignal = signal
      for (const issuer of issuers.values()) start(issuer)
      if (!signal.aborted) {
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
      await Promise.all(running)
    },
  }
}
