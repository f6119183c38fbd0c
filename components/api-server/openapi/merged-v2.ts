/** OpenAPI version 2 with what extension API servers say of themselves (upstream: kube-openapi pkg/aggregator). */
import { deepEqual } from '../../machinery/objects/object.ts'
import type { JsonObject } from './definitions.ts'

/** The paths of one group version and the definitions that they need. */
export interface ExtensionSwagger {
  readonly paths: JsonObject
  readonly definitions: JsonObject
}

/** What an extension API server says of one group version. */
export interface ExtensionOpenApi {
  /** Where its document of version 3 is; undefined when it has none. */
  readonly v3Address: string | undefined
  readonly swagger: ExtensionSwagger | undefined
}

const definitionPrefix = '#/definitions/'

/** The value with other names in its references. */
function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key !== '$ref' || typeof item !== 'string') return [key, renamed(item, names)]
      const name = names.get(item.slice(definitionPrefix.length))
      return [key, name === undefined ? item : `${definitionPrefix}${name}`]
    }),
  )
}

/** The whole document. Paths that it has already stay as they are; a definition that differs from one of its name gets another. */
export function mergedV2(own: JsonObject, extensions: Iterable<ExtensionOpenApi>): JsonObject {
  const paths: Record<string, unknown> = { ...(own['paths'] as JsonObject) }
  const definitions: Record<string, unknown> = { ...(own['definitions'] as JsonObject) }
  let isOther = false
  for (const { swagger } of extensions) {
    if (swagger === undefined) continue
    isOther = true
    const names = new Map<string, string>()
    for (const [name, definition] of Object.entries(swagger.definitions)) {
      const held = definitions[name]
      if (held === undefined || deepEqual(held, definition)) continue
      let at = 2
      while (definitions[`${name}_v${at}`] !== undefined) at += 1
      names.set(name, `${name}_v${at}`)
    }
    for (const [name, definition] of Object.entries(swagger.definitions)) {
      definitions[names.get(name) ?? name] = renamed(definition, names)
    }
    for (const [path, item] of Object.entries(swagger.paths)) paths[path] ??= renamed(item, names)
  }
  return isOther ? ({ ...own, paths, definitions } as JsonObject) : own
}
