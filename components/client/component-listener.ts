/** The listener of a component that is not the API server: health and metrics, behind a certificate and authorities whose files are followed. */
import type { Clock } from '../component-base/clock.ts'
import { openCertificatePair } from '../component-base/certificate-pair.ts'
import type { Files } from '../component-base/files.ts'
import { openFollowedValue } from '../component-base/followed-value.ts'
import { createHttpsServer } from '../component-base/https-server.ts'
import type { HttpsServer } from '../component-base/https-server.ts'
import type { Log } from '../component-base/log.ts'
import type { Client } from './client.ts'
import { createDelegatedAuth, parseClientCa } from './delegated-auth.ts'
import type { MoreEndpoints } from './health-listener.ts'
import { createHealthListener } from './health-listener.ts'

/** As upstream's components call their flags. */
interface ListenerFlags {
  readonly 'bind-address': string
  /** Below 0: no listener. */
  readonly 'secure-port': number
  readonly 'tls-cert-file': string | undefined
  readonly 'tls-private-key-file': string | undefined
  readonly 'client-ca-file': string | undefined
}

function soundClientCa(pem: string, path: string): string {
  let count
  try {
    count = parseClientCa(pem).length
  } catch (error) {
    // The library's own message names neither file nor content.
    throw new Error(`${path} holds a certificate that cannot be read`, { cause: error })
  }
  if (count === 0) throw new Error(`${path} holds no certificate`)
  return pem
}

/** Undefined when no certificate or no port is given. Rejects with StartError. */
export async function openComponentListener(options: {
  readonly flags: ListenerFlags
  /** Reviews the callers' credentials and access. */
  readonly client: Client
  /** Why the process is not ready; undefined when it is. */
  readonly notReady: () => string | undefined
  readonly metrics: () => string
  readonly more?: MoreEndpoints
  readonly files?: Files | undefined
  readonly clock: Clock
  readonly log: Log
}): Promise<Pick<HttpsServer, 'ready' | 'run'> | undefined> {
  const { flags, client, notReady, metrics, more, files, clock, log } = options
  if (flags['secure-port'] < 0) return undefined
  const pair = await openCertificatePair(
    flags,
    { cert: 'tls-cert-file', key: 'tls-private-key-file' },
    files,
  )
  if (pair === undefined) return undefined
  const caFile = flags['client-ca-file']
  const authorities =
    caFile === undefined
      ? undefined
      : await openFollowedValue(
          [['client-ca-file', caFile]],
          ([pem = '']) => soundClientCa(pem, caFile),
          files,
        )
  const tls = () => ({
    ...pair.current,
    ...(authorities === undefined ? {} : { clientCa: authorities.current }),
  })
  const auth = createDelegatedAuth({ client, clock, clientCa: () => authorities?.current })
  const server = createHttpsServer({
    host: flags['bind-address'],
    port: flags['secure-port'],
    tls: tls(),
    handler: createHealthListener({
      auth,
      notReady,
      metrics,
      ...(more === undefined ? {} : { more }),
      log,
    }),
    log,
  })
  const show = (): void => server.setCertificate(tls())
  return {
    ready: server.ready,
    run: async (signal) => {
      const following = { clock, log, signal }
      await Promise.all([
        server.run(signal),
        pair.follow(following, show),
        authorities?.follow(following, show),
      ])
    },
  }
}
