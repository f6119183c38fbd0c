/** StoreOfEtcd: where the API server keeps its store, so that what it holds lives as long as the etcd that it was given. */
import { join } from 'node:path'
import { StartError } from '../components/component-base/component.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { messageOf } from '../components/component-base/log.ts'
import { askForPlace } from './etcd-health.ts'
import type { DataPlace } from './etcd-health.ts'

const retryMs = 200
/** Ten seconds; envtest itself gives a server twenty. */
const tries = 50

async function firstAnswer(
  url: string,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<DataPlace | undefined> {
  for (let left = tries; ; left -= 1) {
    try {
      return await askForPlace(url)
    } catch (error) {
      if (left > 1) await clock.sleep(retryMs, signal)
      else throw new StartError(`--etcd-servers ${url}: ${messageOf(error)}`, error)
    }
  }
}

/** The values of --store and --unsafe-no-fsync. Rejects with a StartError for an etcd that is not ours. */
export async function storeOfEtcd(
  url: string,
  parts: { clock: Clock; signal: AbortSignal },
): Promise<{ readonly store: string; readonly 'unsafe-no-fsync': boolean }> {
  if (URL.parse(url)?.protocol !== 'http:') {
    throw new StartError(`invalid value "${url}" for --etcd-servers: must be http://HOST:PORT`)
  }
  const place = await firstAnswer(url, parts)
  if (place === undefined) {
    throw new StartError(
      `--etcd-servers ${url} is not the etcd of this folder: this server stores nothing in an etcd; start the etcd beside it`,
    )
  }
  return { store: `sqlite:${join(place.dataDir, 'skiff.db')}`, 'unsafe-no-fsync': !place.isSynced }
}
