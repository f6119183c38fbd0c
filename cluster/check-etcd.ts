/** check-etcd: whether an existing etcd can be used, before anything of a cluster starts. */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Clock } from '../components/component-base/clock.ts'
import { StoreError } from '../components/store/store.ts'
import { ClusterError } from './cluster-error.ts'
import type { ClusterConfig } from './plan/cluster-config.ts'
import { defaultPrefix } from './plan/store-place.ts'
import type { StatePaths } from './state/state-dir.ts'
import { explained } from './system-error.ts'

/** An API server waits no longer for it. */
const mostWaitMs = 20_000
const mostRequestMs = 10_000

/** Flags of the API server that name another store, or show it other certificates. */
const ownFlags = ['store', 'etcd-servers', 'etcd-cafile', 'etcd-certfile', 'etcd-keyfile']

/**
 * Resolves when one endpoint answers, or when the etcd is the cluster's own or is named by `--set`, which an API server checks.
 * Rejects with a ClusterError after `waitMs`, at once for what waiting does not change.
 */
export async function checkEtcd(
  { etcd, extraFlags }: Pick<ClusterConfig, 'etcd' | 'extraFlags'>,
  by: {
    readonly paths: StatePaths
    /** Files that are still to be written: file below the pki folder -> text. */
    readonly files?: Readonly<Record<string, string>> | undefined
    readonly waitMs: number
    readonly clock: Clock
  },
): Promise<void> {
  const flags = extraFlags['api-server'] ?? {}
  if (etcd === undefined || etcd.own !== undefined) return
  if (ownFlags.some((name) => flags[name] !== undefined)) return
  const { paths, files = {}, clock } = by
  const textOf = async (path: string | undefined): Promise<string | undefined> => {
    if (path === undefined) return undefined
    return await explained(
      path,
      () => files[relative(paths.pki, path)] ?? readFileSync(path, 'utf8'),
    )
  }
  const { caFile, certFile, keyFile } = etcd.files ?? {}
  const [ca, cert, key] = await Promise.all([caFile, certFile, keyFile].map(textOf))
  const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
  const waitMs = Math.min(by.waitMs, mostWaitMs)
  const { openEtcdStore } = await import('../components/store/etcd/etcd-store.ts')
  try {
    const store = await openEtcdStore({
      endpoints: etcd.servers,
      prefix: flags['etcd-prefix'] ?? defaultPrefix,
      tls: () => tls,
      clock,
      openTimeoutMs: waitMs,
      requestTimeoutMs: Math.min(Math.max(waitMs, 1000), mostRequestMs),
    })
    await store.close()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    throw new ClusterError('failed', error.message, {
      hint: 'check --etcd-servers and the files of its certificates; --wait allows up to 20 s',
      cause: error,
    })
  }
}
