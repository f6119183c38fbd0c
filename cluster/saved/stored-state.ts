/** What a cluster holds, as the lines of a saved cluster: from its API server, or from the store of a stopped cluster. */
import { ConnectionError } from '../../components/client/connection-error.ts'
import type { SavedForm } from '../../components/store/saved-cluster.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { clusterClient } from '../cluster-client.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import type { Programs } from '../plan/programs.ts'
import { describeStore, mayExist, storePlaceOf } from '../plan/store-place.ts'
import { acquireLock, lockHolder, releaseLock } from '../state/lock.ts'
import { nameFlagOf } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { startOwnEtcd } from './own-etcd.ts'
import { apiServerOutput, type ApiServerRun } from './api-server-run.ts'

export interface StoredStateOptions {
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly programs: Programs
  readonly clock: Clock
  readonly form: SavedForm
  readonly signal: AbortSignal
}

export interface StoredState extends AsyncDisposable {
  readonly from: 'running' | 'stopped'
  readonly chunks: AsyncIterable<Uint8Array>
}

/** Undefined when nothing answers at the API server's address. */
async function ofServer(options: StoredStateOptions): Promise<StoredState | undefined> {
  const { form, signal } = options
  const client = clusterClient(options)
  const close = async (): Promise<void> => client.close()
  try {
    const path = `/debug/state?form=${form}`
    const { chunks } = await client.rest.stream({ method: 'GET', path, signal })
    return { from: 'running', chunks, [Symbol.asyncDispose]: close }
  } catch (error) {
    client.close()
    if (isStatusError(error, 'NotFound')) {
      throw new ClusterError('failed', 'the API server is of a release that cannot be saved', {
        hint: 'restart it with this release: skiff restart api-server',
        cause: error,
      })
    }
    if (!(error instanceof ConnectionError)) throw error
    const isElsewhere = error.code === 'refused' || error.code === 'untrusted'
    const holder = lockHolder(options.paths)
    // Another process may have the port of a stopped cluster.
    if (isElsewhere && holder === undefined) return undefined
    throw notAnswering(options.config, holder?.pid)
  }
}

/** What the store of a stopped cluster holds, as the API server that would run on it reads it. The caller holds the lock. */
export function printedState({
  form,
  ...run
}: Omit<ApiServerRun, 'flags'> & { readonly form: SavedForm }): AsyncGenerator<Buffer> {
  return apiServerOutput({ ...run, flags: [`--print-state=${form}`] })
}

/** The cluster's lock is held until the state is disposed: nothing starts the cluster meanwhile. */
async function ofStore(options: StoredStateOptions): Promise<StoredState> {
  const { paths, clock, config } = options
  const place = storePlaceOf(config, paths)
  if (!mayExist(place)) {
    throw new ClusterError(
      'failed',
      `cluster "${config.name}" has no store: ${describeStore(place)}`,
      {
        hint: 'it has never been started to its end',
      },
    )
  }
  const lock = acquireLock(paths, clock)
  if (!lock.ok) throw notAnswering(config, lock.holder.pid)
  try {
    const etcd = await startOwnEtcd(options)
    return {
      from: 'stopped',
      chunks: printedState(options),
      [Symbol.asyncDispose]: async () => {
        await etcd[Symbol.asyncDispose]()
        releaseLock(paths)
      },
    }
  } catch (error) {
    releaseLock(paths)
    throw error
  }
}

function notAnswering({ name }: ClusterConfig, pid: number | undefined): ClusterError {
  const who = pid === undefined ? '' : ` (supervisor: pid ${pid})`
  return new ClusterError(
    'failed',
    `cluster "${name}" runs${who}, but its API server does not answer`,
    { hint: `check it with: skiff status${nameFlagOf(name)}` },
  )
}

/** Opens it; dispose it when its lines have been read. Rejects with a ClusterError. */
export async function openStoredState(options: StoredStateOptions): Promise<StoredState> {
  return (await ofServer(options)) ?? (await ofStore(options))
}
