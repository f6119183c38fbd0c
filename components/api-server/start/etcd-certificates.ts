/** etcd-certificates: what the server shows to etcd, and whom it trusts there, from files that it follows. */
import { aborted } from '../../component-base/aborted.ts'
import { openCertificatePair } from '../../component-base/certificate-pair.ts'
import type { Clock } from '../../component-base/clock.ts'
import { openFollowedValue } from '../../component-base/followed-value.ts'
import type { Log } from '../../component-base/log.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import { readBundle } from '../x509/bundle.ts'

export interface EtcdCertificates {
  /** The newest sound content, PEM. Connections that are open keep theirs (as upstream). */
  tls(): { readonly ca?: string; readonly cert?: string; readonly key?: string }
  /** Why the newest content of a file is not in use. */
  readonly fault: string | undefined
  /** Follows the files until `signal` aborts. */
  run(options: { clock: Clock; log: Log; signal: AbortSignal }): Promise<void>
}

/** Rejects with a StartError for a missing flag or an invalid file (flags: apiserver pkg/server/options/etcd.go). */
export async function openEtcdCertificates(
  options: Pick<ApiServerOptions, 'etcd-cafile' | 'etcd-certfile' | 'etcd-keyfile'>,
): Promise<EtcdCertificates> {
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
  const followed = [pair, authority].filter((value) => value !== undefined)
  return {
    tls: () => ({ ...(authority && { ca: authority.current }), ...pair?.current }),
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
      ])
    },
  }
}
