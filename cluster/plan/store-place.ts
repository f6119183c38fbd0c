/** StorePlace: where a cluster keeps its state: in a file of its own, or in etcd. */
import { existsSync } from 'node:fs'
import { ClusterError } from '../cluster-error.ts'
import type { ClusterConfig } from './cluster-config.ts'
import type { StatePaths } from '../state/state-dir.ts'

export type StorePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'etcd'; readonly servers: string; readonly prefix: string }
  | { readonly kind: 'memory' }

/** Of the API server's: by default all keys in etcd begin with it. */
export const defaultPrefix = '/registry'

/** The part of a configuration that says where the state is. */
type StoreConfig = Pick<ClusterConfig, 'extraFlags' | 'etcd' | 'apiServers'>

/** What the configuration and the API server's flags say. */
export function storePlaceOf({ extraFlags, etcd }: StoreConfig, paths: StatePaths): StorePlace {
  const flags = extraFlags['api-server'] ?? {}
  const { store = '', 'etcd-servers': listed, 'etcd-prefix': prefix = defaultPrefix } = flags
  const named = store.startsWith('etcd:') ? store.slice('etcd:'.length) : etcd?.servers.join()
  const servers = listed ?? named
  if (servers !== undefined) return { kind: 'etcd', servers, prefix }
  if (store.startsWith('memory:')) return { kind: 'memory' }
  const path = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : paths.store
  return { kind: 'sqlite', path }
}

/**
 * The configuration with the store there; the cluster's own file is what it has by default. Throws a ClusterError for a file that
 * several API servers would share.
 */
export function withStorePlace<C extends StoreConfig>(
  config: C,
  place: StorePlace,
  paths: StatePaths,
): C {
  const {
    store: _store,
    'etcd-servers': _servers,
    'etcd-prefix': _prefix,
    ...rest
  } = config.extraFlags['api-server'] ?? {}
  const own: Record<string, string> = {}
  const { etcd, ...others } = config
  const isSame = place.kind === 'etcd' && etcd?.servers.join() === place.servers
  if (place.kind === 'etcd') {
    if (!isSame) own['store'] = `etcd:${place.servers}`
    if (place.prefix !== defaultPrefix) own['etcd-prefix'] = place.prefix
  } else if (place.kind === 'sqlite' && place.path !== paths.store) {
    own['store'] = `sqlite:${place.path}`
  }
  const count = config.apiServers?.length ?? 1
  if (place.kind === 'sqlite' && count > 1) {
    throw new ClusterError('usage', `${count} API servers cannot share a file`, {
      hint: 'use --to etcd:ADDRESS',
    })
  }
  const extraFlags = { ...config.extraFlags, 'api-server': { ...rest, ...own } }
  return (isSame ? { ...config, extraFlags } : { ...others, extraFlags }) as C
}

/** For messages: the file, or the keys in etcd. */
export function describeStore(place: StorePlace): string {
  if (place.kind === 'sqlite') return place.path
  if (place.kind === 'memory') return 'memory'
  return `the keys below ${place.prefix}/ of etcd at ${place.servers}`
}

/** False when it is known to be missing; of etcd only its own answer could tell. */
export function mayExist(place: StorePlace): boolean {
  return place.kind === 'sqlite' ? existsSync(place.path) : place.kind === 'etcd'
}

/** What `--to` asks for: the cluster's own file, or etcd. */
export type StoreTarget =
  | { readonly kind: 'sqlite' }
  | { readonly kind: 'etcd'; readonly servers: string; readonly prefix: string }

/** `sqlite`, or `etcd:http://HOST:PORT,...`. Throws a ClusterError. */
export function parseStoreTarget(text: string, prefix = defaultPrefix): StoreTarget {
  if (text === 'sqlite') return { kind: 'sqlite' }
  const servers = text.startsWith('etcd:') ? text.slice('etcd:'.length).split(',') : []
  const areUrls = servers.every((server) => URL.canParse(server) && /^https?:/.test(server))
  if (servers.length > 0 && areUrls) return { kind: 'etcd', servers: servers.join(','), prefix }
  throw new ClusterError('usage', `invalid store "${text}"`, {
    hint: 'use sqlite, or etcd:http://HOST:PORT with more addresses after commas',
  })
}

export function targetPlace(target: StoreTarget, paths: StatePaths): StorePlace {
  return target.kind === 'sqlite' ? { kind: 'sqlite', path: paths.store } : target
}
