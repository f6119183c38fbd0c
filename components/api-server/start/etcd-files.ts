/** etcd-files: what the server shows to etcd, whom it trusts there, and where its members are, from files that it follows. */
import { aborted } from '../../component-base/aborted.ts'
import { openCertificatePair } from '../../component-base/certificate-pair.ts'
import type { Clock } from '../../component-base/clock.ts'
import { openFollowedValue } from '../../component-base/followed-value.ts'
import type { Log } from '../../component-base/log.ts'
import { etcdEndpoint } from '../../store/etcd/etcd-endpoint.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import { readBundle } from '../x509/bundle.ts'

export interface EtcdFiles {
  /** The newest sound content, PEM. Connections that are open keep theirs (as upstream). */
  tls(): { readonly ca?: string; readonly cert?: string; readonly key?: string }
  /** The addresses in --etcd-servers-file; undefined without that flag. */
  servers(): readonly string[] | undefined
  /** Why the newest content of a file is not in use. */
  readonly fault: string | undefined
  /** Follows the files until `signal` aborts. */
  run(options: { clock: Clock; log: Log; signal: AbortSignal }): Promise<void>
}

/** One a line. Throws an Error that names the first that is none, also when there is none at all. */
function addressesIn(text: string): string[] {
  const found = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  for (const address of found) etcdEndpoint(address)
  if (found.length === 0) throw new Error('there is no address: write one https://HOST:PORT a line')
  return found
}

/** Rejects with a StartError for a missing flag or an invalid file (flags: apiserver pkg/server/options/etcd.go). */
export async function openEtcdFiles(
  options: Pick<
    ApiServerOptions,
    'etcd-cafile' | 'etcd-certfile' | 'etcd-keyfile' | 'etcd-servers-file'
  >,
): Promise<EtcdFiles> {
  const own = { cert: 'etcd-certfile', key: 'etcd-keyfile' } as const
  const pair = await openCertificatePair(options, own)
  const caFile = options['etcd-cafile']
  const authority =
    caFile === undefined
      ? undefined
      : await openFollowedValue([['etcd-cafile', caFile]], ([pem = '']) => {
          readBundle(pem)
          return pem
        })
  const serversFile = options['etcd-servers-file']
  const servers =
    serversFile === undefined
      ? undefined
      : await openFollowedValue([['etcd-servers-file', serversFile]], ([text = '']) =>
          addressesIn(text),
        )
  const followed = [pair, authority, servers].filter((value) => value !== undefined)
  return {
    tls: () => ({ ...(authority && { ca: authority.current }), ...pair?.current }),
    servers: () => servers?.current,
    get fault() {
      const faults = followed.flatMap(({ flag, fault }) =>
        fault === undefined ? [] : [`--${flag}: ${fault}`],
      )
      return faults.length === 0 ? undefined : faults.join(', ')
    },
    run: async (following) => {
      // The next connection shows it.
      const use = (): void => {}
      await Promise.all([
        aborted(following.signal),
        pair?.follow(following, use),
        authority?.follow(following, use),
        servers?.follow(following, use),
      ])
    },
  }
}
