/**
 * followed-certificates: the serving certificate and the authorities of clients and proxies, from files that the server
 * follows.
 */
import { openCertificatePair, type CertificatePair } from '../../component-base/certificate-pair.ts'
import type { Clock } from '../../component-base/clock.ts'
import { StartError } from '../../component-base/component.ts'
import type { Files } from '../../component-base/files.ts'
import { openFollowedValue, type FollowedValue } from '../../component-base/followed-value.ts'
import type { HttpsServerOptions } from '../../component-base/https-server.ts'
import type { Log } from '../../component-base/log.ts'
import type { TrustedAuthorities } from '../authn/certificate-chain.ts'
import { readBundle } from '../x509/bundle.ts'
import type { AuthenticationInfo } from '../controllers/authentication-info.ts'
import type { ApiServerOptions } from '../configuration/options.ts'

interface Authorities {
  readonly pem: string
  /** The same array until the file changes. */
  readonly trusted: TrustedAuthorities
}

type Tls = HttpsServerOptions['tls']

export interface FollowedCertificates {
  /** For the listener: its certificate, and the authorities that it names to clients. */
  readonly tls: Tls
  /** The authorities of clients' certificates now; undefined without the flag. */
  readonly clients: (() => TrustedAuthorities) | undefined
  /** The authorities of authenticating proxies' certificates. */
  readonly proxies: (() => TrustedAuthorities) | undefined
  /** The front-proxy certificate, PEM; undefined without the flags. */
  readonly proxyClient: (() => CertificatePair) | undefined
  /** The values that extension API servers need to authenticate as this server does. */
  readonly info: AuthenticationInfo
  /** Why the newest content of a file is not in use. */
  readonly fault: string | undefined
  /** Follows the files until `signal` aborts. When `useTls` throws, the previous content stays in use. */
  run(options: {
    readonly clock: Clock
    readonly log: Log
    readonly signal: AbortSignal
    readonly useTls: (tls: Tls) => void
    readonly onAuthorities: () => Promise<void>
  }): Promise<void>
}

async function openAuthorities(
  options: ApiServerOptions,
  flag: 'client-ca-file' | 'requestheader-client-ca-file',
  files: Files | undefined,
): Promise<FollowedValue<Authorities> | undefined> {
  const path = options[flag]
  if (path === undefined || path === '') return undefined
  const parse = ([pem = '']: readonly string[]): Authorities => {
    try {
      return { pem, trusted: readBundle(pem) }
    } catch (error) {
      throw new Error(`${path}: ${(error as Error).message}`, { cause: error })
    }
  }
  return await openFollowedValue([[flag, path]], parse, files)
}

/** Rejects with a StartError for a missing flag or an invalid file. */
export async function openCertificates(
  options: ApiServerOptions,
  files?: Files,
): Promise<FollowedCertificates> {
  const own = { cert: 'tls-cert-file', key: 'tls-private-key-file' } as const
  const serving = await openCertificatePair(options, own, files)
  if (serving === undefined) {
    throw new StartError('--tls-cert-file and --tls-private-key-file are required')
  }
  const proxy = { cert: 'proxy-client-cert-file', key: 'proxy-client-key-file' } as const
  const proxyClient = await openCertificatePair(options, proxy, files)
  const clients = await openAuthorities(options, 'client-ca-file', files)
  const proxies = await openAuthorities(options, 'requestheader-client-ca-file', files)
  const authorities = [clients, proxies].filter((value) => value !== undefined)
  const tlsOf = (pair: CertificatePair): Tls => {
    const clientCa = authorities.map(({ current }) => current.pem).join('\n')
    return { ...pair, ...(clientCa === '' ? {} : { clientCa }) }
  }
  return {
    get tls() {
      return tlsOf(serving.current)
    },
    clients: clients && (() => clients.current.trusted),
    proxies: proxies && (() => proxies.current.trusted),
    proxyClient: proxyClient && (() => proxyClient.current),
    get info() {
      return {
        ...(clients && { clientCaPem: clients.current.pem }),
        ...(proxies && { requestHeaderCaPem: proxies.current.pem }),
        requestHeaderAllowedNames: options['requestheader-allowed-names'],
        requestHeaderUsernameHeaders: options['requestheader-username-headers'],
        requestHeaderUidHeaders: options['requestheader-uid-headers'],
        requestHeaderGroupHeaders: options['requestheader-group-headers'],
        requestHeaderExtraPrefixes: options['requestheader-extra-headers-prefix'],
      }
    },
    get fault() {
      const faults = [serving, ...(proxyClient ? [proxyClient] : []), ...authorities].flatMap(
        ({ flag, fault }) => (fault === undefined ? [] : [`--${flag}: ${fault}`]),
      )
      return faults.length === 0 ? undefined : faults.join(', ')
    },
    async run({ useTls, onAuthorities, ...following }) {
      await Promise.all([
        serving.follow(following, (pair) => useTls(tlsOf(pair))),
        proxyClient?.follow(following, () => {
          // The next connection shows it.
        }),
        ...authorities.map((value) =>
          value.follow(following, async () => {
            useTls(tlsOf(serving.current))
            await onAuthorities()
          }),
        ),
      ])
    },
  }
}
