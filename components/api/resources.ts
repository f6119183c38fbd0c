/** The one list of all built-in Resources of release 1.32, by name and as a list. */
import type { Resource, Subresource } from '../machinery/objects/resource.ts'
import { remembered } from '../machinery/values/remembered.ts'
import { admissionregistration } from './admissionregistration.ts'
import { apiextensions } from './apiextensions.ts'
import { apiregistration } from './apiregistration.ts'
import { apps } from './apps.ts'
import { authentication } from './authentication.ts'
import { authorization } from './authorization.ts'
import { autoscaling } from './autoscaling.ts'
import { batch } from './batch.ts'
import { certificates } from './certificates.ts'
import { coordination } from './coordination.ts'
import { core } from './core.ts'
import type { Dialect } from './dialect.ts'
import { apiGroup } from './dialect.ts'
import { discovery } from './discovery.ts'
import { events } from './events.ts'
import { flowcontrol } from './flowcontrol.ts'
import type { GroupTable, KindEntry } from './group-table.ts'
import { allVerbs } from './group-table.ts'
import { internalApiserver } from './internal-apiserver.ts'
import { metrics } from './metrics.ts'
import { networking } from './networking.ts'
import { node } from './node.ts'
import { policy } from './policy.ts'
import { rbac } from './rbac.ts'
import { resource } from './resource.ts'
import { scheduling } from './scheduling.ts'
import { storage } from './storage.ts'
import { storagemigration } from './storagemigration.ts'

/** Every group in the order of its priority, as `/apis` lists them; the core group is among them. */
const tables = [
  apiregistration,
  core,
  apps,
  events,
  authentication,
  authorization,
  autoscaling,
  batch,
  certificates,
  networking,
  policy,
  rbac,
  storage,
  admissionregistration,
  apiextensions,
  scheduling,
  coordination,
  node,
  discovery,
  flowcontrol,
  internalApiserver,
  resource,
  storagemigration,
  metrics,
] as const

type KeysOf<Table> = Table extends GroupTable<infer Key> ? Key : never

/** A resource's name in code: its plural in camel case; other than preferred versions end in the version. */
export type ResourceKey = KeysOf<(typeof tables)[number]>

/** All resources of a dialect. `all` holds those that are off by default too (`servedByDefault: false`). */
export type Resources = Readonly<Record<ResourceKey, Resource>> & {
  readonly all: readonly Resource[]
  /** The groups in the order of `/apis` (the core group has the name ''), each with its versions, preferred first. */
  readonly groups: readonly ResourceGroup[]
}

export interface ResourceGroup {
  /** In the dialect; '' is the core group. */
  readonly name: string
  /** `GroupPriorityMinimum` and `VersionPriority` of the built-in APIService objects. */
  readonly priority: number
  readonly versions: readonly { readonly version: string; readonly priority: number }[]
}

const stable = /^v[0-9]+$/

function resourceOf(dialect: Dialect, table: GroupTable, key: string, entry: KindEntry): Resource {
  const version = entry.version ?? 'v1'
  const group = apiGroup(dialect, table.stem)
  const plural = entry.plural ?? key.toLowerCase()
  const own = `${table.package}/${version}`
  const storedAs = entry.storedAs ?? own
  const [storedGroup = '', storedVersion = ''] = storedAs.split('/')
  // The only objects stored under another group are events, in the core group.
  const storedStem = storedGroup === table.package ? table.stem : ''
  const storedApiGroup = apiGroup(dialect, storedStem)
  return {
    group,
    package: own,
    version,
    plural,
    singular: entry.kind.toLowerCase(),
    kind: entry.kind,
    listKind: `${entry.kind}List`,
    namespaced: entry.namespaced ?? true,
    verbs: entry.verbs ?? allVerbs,
    shortNames: entry.shortNames ?? [],
    categories: entry.categories ?? [],
    subresources: (entry.subresources ?? []).map(
      ({ name, verbs, kind = entry.kind, group: stem, version: v }): Subresource => ({
        name,
        verbs,
        kind,
        ...(stem === undefined ? {} : { group: apiGroup(dialect, stem) }),
        ...(v === undefined ? {} : { version: v }),
      }),
    ),
    selectableFields: entry.selectableFields ?? [],
    createOnUpdate: entry.createOnUpdate ?? false,
    virtual: entry.virtual ?? false,
    storagePrefix: `${storedGroup}/${plural}`,
    storageVersion: {
      package: storedAs,
      apiVersion: storedApiGroup === '' ? storedVersion : `${storedApiGroup}/${storedVersion}`,
    },
    lifecycle: replacementIn(dialect, table, entry.lifecycle),
    servedByDefault: stable.test(version),
  }
}

/** Tables name a replacement by its package; on the wire it has the dialect's group name. */
function replacementIn(
  dialect: Dialect,
  table: GroupTable,
  lifecycle: KindEntry['lifecycle'],
): KindEntry['lifecycle'] {
  if (lifecycle.replacement === undefined) return lifecycle
  const rest = lifecycle.replacement.slice(lifecycle.replacement.indexOf('/'))
  return { ...lifecycle, replacement: `${apiGroup(dialect, table.stem)}${rest}` }
}

function build(dialect: Dialect): Resources {
  // Filled with every key of every table below, which the type checker cannot see.
  const byKey = {} as Record<ResourceKey, Resource>
  for (const table of tables as readonly GroupTable[]) {
    for (const [key, entry] of Object.entries(table.kinds)) {
      byKey[key as ResourceKey] = Object.freeze(resourceOf(dialect, table, key, entry))
    }
  }
  const groups = tables.map((table: GroupTable) => ({
    name: apiGroup(dialect, table.stem),
    priority: table.priority,
    versions: Object.entries(table.versions).map(([version, priority]) => ({ version, priority })),
  }))
  return Object.freeze({ ...byKey, all: Object.values(byKey), groups })
}

/** The resources in that dialect's names: one value per dialect, so entries can be compared by identity. */
export const resourcesOf = remembered((dialect: Dialect): Resources => build(dialect))

/** `apps/v1beta1` in names of groups -> `apps/v1beta1` in names of packages; undefined for a group that there never was. */
export function packageOfVersion(apiVersion: string, resources: Resources): string | undefined {
  const slash = apiVersion.indexOf('/')
  const group = slash < 0 ? '' : apiVersion.slice(0, slash)
  const version = apiVersion.slice(slash + 1)
  if (group === 'extensions') return `extensions/${version}`
  const known = resources.all.find((resource) => resource.group === group)
  return known === undefined ? undefined : `${known.package.split('/')[0]}/${version}`
}
