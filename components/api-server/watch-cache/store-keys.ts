/**
 * store-keys: where objects lie in the store. The layout is upstream's, in every backend and dialect (upstream: pkg/kubeapiserver
 * default_storage_factory_builder.go; apiserver pkg/server/storage, ResourcePrefix).
 */
import { dialects } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Resource } from '../../machinery/objects/resource.ts'

/** All keys of this product's objects in a store start with it. `--etcd-prefix` stands in its place in etcd. */
export const storeRoot = '/registry/'

/** Built-in kinds that do not lie below their plural (upstream: SpecialDefaultResourcePrefixes). */
const special: Readonly<Record<string, string>> = {
  'core/endpoints': 'services/endpoints',
  'core/nodes': 'minions',
  'core/replicationcontrollers': 'controllers',
  'core/services': 'services/specs',
  'networking/ingresses': 'ingress',
}

/** Kinds of API servers that upstream puts together with its own: they lie below group and plural, as custom resources do. */
const grouped: ReadonlySet<string> = new Set(['apiextensions', 'apiregistration'])

function folders(): Map<string, string> {
  const found = new Map<string, string>()
  for (const { virtual, storagePrefix, group, plural } of resourcesOf(dialects.kubernetes).all) {
    if (virtual || found.has(storagePrefix)) continue
    const own = grouped.has(storagePrefix.split('/', 1)[0] ?? '') ? `${group}/${plural}` : plural
    found.set(storagePrefix, special[storagePrefix] ?? own)
  }
  return found
}

/** Storage prefix of a built-in kind -> its folder below the root. */
const folderOf: ReadonlyMap<string, string> = folders()
const prefixOf: ReadonlyMap<string, string> = new Map(
  Array.from(folderOf, ([prefix, folder]) => [folder, prefix]),
)
/** First parts of folders that have two. */
const doubled: ReadonlySet<string> = new Set(
  Array.from(prefixOf.keys(), (folder) => folder.split('/')).flatMap(([first = '', second]) =>
    second === undefined ? [] : [first],
  ),
)

/** The key of what lies below a storage prefix. */
export function keyBelow(storagePrefix: string, key: string): string {
  return `${storeRoot}${folderOf.get(storagePrefix) ?? storagePrefix}/${key}`
}

/** The store key of an object; `key` is `namespace/name` or `name`. */
export function storeKey(resource: Resource, key: string): string {
  return keyBelow(resource.storagePrefix, key)
}

/**
 * A store key's storage prefix, as in Resource, and the rest: `/registry/minions/a` -> `core/nodes` and `a`. Undefined for what is
 * no object of this product: `/registry/ranges/serviceips`, and kinds that are not known. Groups of custom resources have a dot,
 * which no other first part of a key has.
 */
export function splitStoreKey(storeKeyText: string): { prefix: string; key: string } | undefined {
  const start = storeRoot.length
  const first = storeKeyText.indexOf('/', start)
  if (first < 0) return undefined
  const name = storeKeyText.slice(start, first)
  const isCustom = name.includes('.')
  if (!isCustom && !doubled.has(name)) {
    const prefix = prefixOf.get(name)
    return prefix === undefined ? undefined : { prefix, key: storeKeyText.slice(first + 1) }
  }
  const second = storeKeyText.indexOf('/', first + 1)
  if (second < 0) return undefined
  const folder = storeKeyText.slice(start, second)
  const prefix = prefixOf.get(folder) ?? (isCustom ? folder : undefined)
  return prefix === undefined ? undefined : { prefix, key: storeKeyText.slice(second + 1) }
}

/** As `splitStoreKey`, for keys below storage prefixes that `takes` accepts. */
export function placesOf(takes: (storagePrefix: string) => boolean): typeof splitStoreKey {
  return (storeKeyText) => {
    const place = splitStoreKey(storeKeyText)
    return place !== undefined && takes(place.prefix) ? place : undefined
  }
}

/** Store key -> key in etcd: `prefix`, as in `--etcd-prefix`, stands in the place of the root. */
export function keysBelow(prefix: string): (storeKeyText: string) => string {
  const parts = prefix.split('/').filter((part) => part !== '')
  const root = `/${parts.map((part) => `${part}/`).join('')}`
  return (key) => root + key.slice(storeRoot.length)
}

/** Where earlier releases kept what lies below a prefix now: earlier prefix -> prefix. */
export const earlierPrefixes: ReadonlyMap<string, string> = new Map(
  Array.from(folderOf, ([prefix, folder]) => [`${storeRoot}${prefix}/`, `${storeRoot}${folder}/`]),
)

/** The key that earlier releases gave the object: they encrypted it under that name. */
export function earlierKey(storeKeyText: string): string {
  const place = splitStoreKey(storeKeyText)
  return place === undefined ? storeKeyText : `${storeRoot}${place.prefix}/${place.key}`
}
