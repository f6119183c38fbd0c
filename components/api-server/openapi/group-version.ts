/** The contents of one group version's part of OpenAPI: its paths and the structs that they name. */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { findSchema } from '../../api/schemas.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { StructSchema } from '../../machinery/schema/schema.ts'
import type { DefinitionContext, GroupVersionKind } from './definitions.ts'
import type { Descriptions } from './descriptions.ts'
import { customDefinitionName, definitionName, scalarDefinitionName } from './names.ts'
import { pathsOf, type PathItem } from './operations.ts'

/** A kind whose schema is an object of the cluster, not one of the tables. */
export interface CustomKind {
  readonly resource: Resource
  /** Its structural schema, as the definition has it. */
  readonly schema: JSONSchemaProps
  /** Whether the definition itself preserves unknown fields, as those of v1beta1 did. */
  readonly keepsUnknown: boolean
}

export interface GroupVersion {
  readonly group: string
  readonly version: string
  readonly resources: readonly Resource[]
  readonly custom: readonly CustomKind[]
}

/** The resources by group version, in the order given. */
export function groupVersionsOf(
  resources: readonly Resource[],
  custom: readonly CustomKind[],
): GroupVersion[] {
  const found = new Map<string, { -readonly [K in keyof GroupVersion]: GroupVersion[K] }>()
  const entry = ({ group, version }: Resource) => {
    const key = `${group}/${version}`
    const known = found.get(key) ?? { group, version, resources: [], custom: [] }
    found.set(key, known)
    return known
  }
  for (const resource of resources) {
    const at = entry(resource)
    at.resources = [...at.resources, resource]
  }
  for (const kind of custom) {
    const at = entry(kind.resource)
    at.custom = [...at.custom, kind]
  }
  return [...found.values()]
}

/** `api/v1`, `apis/apps/v1`: the name of a group version's document. */
export function documentName({ group, version }: { group: string; version: string }): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`
}

/** Its paths, those of custom resources included. */
export function groupVersionPaths(dialect: Dialect, from: GroupVersion): PathItem[] {
  const resources = [...from.resources, ...from.custom.map(({ resource }) => resource)]
  return resources.flatMap((resource) => pathsOf(dialect, resource))
}

/** The structs that paths and custom kinds name, as roots of definitions. */
export function namedStructs(from: GroupVersion, paths: readonly PathItem[]): StructSchema[] {
  const names = new Set(from.custom.length === 0 ? [] : ['meta/v1.ObjectMeta', 'meta/v1.ListMeta'])
  for (const { methods } of paths) {
    for (const { body, answer } of Object.values(methods)) {
      if (body !== undefined) names.add(body)
      names.add(answer)
    }
  }
  return [...names].flatMap((name) => findSchema(name) ?? [])
}

const everywhere = new Set(['DeleteOptions', 'WatchEvent'])

/** How definitions of one document are written: which kinds a struct is follows from what the cluster serves. */
export function definitionContext(options: {
  version: 2 | 3
  dialect: Dialect
  cbor: boolean
  texts: Descriptions
  all: readonly Resource[]
}): DefinitionContext {
  const { all } = options
  const groups = new Map(all.map(({ package: name, group }) => [name, group]))
  const versions = [...new Set(all.map(({ group, version }) => `${group}/${version}`))].toSorted()
  const kindsOf = (schemaName: string): GroupVersionKind[] => {
    const [packageName = '', kind = ''] = schemaName.split('.')
    const version = packageName.slice(packageName.indexOf('/') + 1)
    if (packageName === 'meta/v1') {
      if (everywhere.has(kind)) {
        return versions.map((text) => {
          const [group = '', served = ''] = text.split('/')
          return { group, kind, version: served }
        })
      }
      return /^(?:Status|API.*List|APIGroup|APIVersions)$/.test(kind)
        ? [{ group: '', kind, version }]
        : []
    }
    const group = groups.get(packageName)
    const fields = findSchema(schemaName)?.fields
    const isKind = fields?.has('kind') && fields.has('apiVersion') && fields.has('metadata')
    return group === undefined || isKind !== true ? [] : [{ group, kind, version }]
  }
  return { ...options, kindsOf }
}

/** The name of the definition of a path's body or answer; undefined for plain text. */
export function targetName(dialect: Dialect, from: GroupVersion, name: string): string | undefined {
  if (name === 'text') return undefined
  if (name === 'Patch') return scalarDefinitionName(dialect, 'Patch')
  const isCustom = from.custom.some(({ resource }) => name.startsWith(`${resource.package}.`))
  if (!isCustom || name.startsWith('meta/') || name.startsWith('autoscaling/'))
    return definitionName(dialect, name)
  return customDefinitionName(from.group, from.version, name.slice(name.lastIndexOf('.') + 1))
}
