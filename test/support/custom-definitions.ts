/** Custom resource definitions for tests: one call makes a definition and waits until its kind is served. */
import type { TestApiServer } from './api-server.ts'
import { eventually } from './eventually.ts'

/** What a test says of its kind; everything else is filled in. */
export interface DefinitionSetup {
  readonly group: string
  readonly kind: string
  readonly scope?: 'Namespaced' | 'Cluster'
  /** Properties of `spec`. */
  readonly spec?: Record<string, unknown>
  /** The whole schema, in place of one with that spec and a free status. */
  readonly schema?: Record<string, unknown>
  /** More fields of the one version. */
  readonly version?: Record<string, unknown>
  /** In place of the one version v1. */
  readonly versions?: readonly Record<string, unknown>[]
  readonly names?: Record<string, unknown>
  readonly conversion?: Record<string, unknown>
}

/** The definition as a client sends it. */
export function definitionOf(server: TestApiServer, setup: DefinitionSetup) {
  const { group, kind, scope = 'Namespaced', spec = {}, version = {}, names = {} } = setup
  const plural = `${kind.toLowerCase()}s`
  const openAPIV3Schema = setup.schema ?? {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: spec },
      status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  }
  const only = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema }, ...version }
  return {
    apiVersion: `${server.group('apiextensions')}/v1`,
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, kind, ...names },
      versions: setup.versions ?? [only],
      ...(setup.conversion && { conversion: setup.conversion }),
    },
  }
}

/** The path of all definitions. */
export function definitionsPath(server: TestApiServer): string {
  return `/apis/${server.group('apiextensions')}/v1/customresourcedefinitions`
}

/** The definition once its condition of that type is true. */
export async function whenTrue(server: TestApiServer, name: string, type: string) {
  return await eventually(async () => {
    const found = await server.ok('GET', `${definitionsPath(server)}/${name}`)
    const conditions = (found.status?.conditions ?? []) as { type: string; status: string }[]
    if (conditions.some((one) => one.type === type && one.status === 'True')) return found
    throw new Error(`${name} is not ${type}: ${JSON.stringify(conditions)}`)
  })
}

/** Makes the definition and waits until it is established; gives the path of the kind's objects in a namespace. */
export async function define(
  server: TestApiServer,
  setup: DefinitionSetup,
): Promise<(namespace?: string, version?: string) => string> {
  const definition = definitionOf(server, setup)
  await server.ok('POST', definitionsPath(server), { body: definition })
  await whenTrue(server, definition.metadata.name, 'Established')
  const { plural } = definition.spec.names
  return (namespace = '', version = 'v1') =>
    `/apis/${setup.group}/${version}/${namespace === '' ? '' : `namespaces/${namespace}/`}${plural}`
}
