/** Definitions of custom kinds: the schema an author wrote, with what every object has. */
import type { Dialect } from '../../api/dialect.ts'
import { type JsonObject, reference } from './definitions.ts'
import type { GroupVersion } from './group-version.ts'
import { customDefinitionName, definitionName, extension } from './names.ts'

/** One definition for each custom kind of the group version and one for its list. */
export function customDefinitions(
  version: 2 | 3,
  dialect: Dialect,
  from: GroupVersion,
): Record<string, JsonObject> {
  const definitions: Record<string, JsonObject> = {}
  const target = (name: string, description: string) => {
    const to = reference(version, name)
    return version === 3 ? { description, allOf: [to] } : { description, ...to }
  }
  const typeMeta = {
    apiVersion: { description: 'The version of the schema of this object.', type: 'string' },
    kind: { description: 'The kind of this object.', type: 'string' },
  }
  for (const { resource, schema } of from.custom) {
    const { group, version: served, kind, listKind } = resource
    const name = customDefinitionName(group, served, kind)
    const metadata = target(definitionName(dialect, 'meta/v1.ObjectMeta'), "The object's metadata.")
    const listMetadata = target(definitionName(dialect, 'meta/v1.ListMeta'), "The list's metadata.")
    const own = version === 3 ? schema : withoutVersion3(schema)
    const properties = (own['properties'] ?? {}) as JsonObject
    definitions[name] = {
      ...own,
      type: 'object',
      properties: { ...typeMeta, metadata, ...properties },
      [`${extension}group-version-kind`]: [{ group, kind, version: served }],
    }
    definitions[customDefinitionName(group, served, listKind)] = {
      description: `${listKind} is a list of ${kind}`,
      type: 'object',
      required: ['items'],
      properties: {
        ...typeMeta,
        items: {
          description: `List of ${resource.plural}.`,
          type: 'array',
          items: version === 3 ? { allOf: [reference(version, name)] } : reference(version, name),
        },
        metadata: listMetadata,
      },
      [`${extension}group-version-kind`]: [{ group, kind: listKind, version: served }],
    }
  }
  return definitions
}

/** OpenAPI 2 has no alternatives, no `nullable` and no mix of stated and other fields: such parts become free. */
function withoutVersion3(schema: JsonObject): JsonObject {
  const result: JsonObject = {}
  const free = schema[`${extension}preserve-unknown-fields`] === true
  for (const [key, value] of Object.entries(schema)) {
    if (/^(?:oneOf|anyOf|not|nullable|default)$/.test(key)) continue
    if (free && (key === 'properties' || key === 'items')) continue
    if (key === 'properties') {
      result[key] = Object.fromEntries(
        Object.entries(value as JsonObject).map(([name, child]) => [
          name,
          withoutVersion3(child as JsonObject),
        ]),
      )
    } else if (
      (key === 'items' || key === 'additionalProperties') &&
      typeof value === 'object' &&
      value !== null
    ) {
      result[key] = withoutVersion3(value as JsonObject)
    } else result[key] = value
  }
  return result
}
