/**
 * Definitions of custom kinds and of their lists: the schema an author wrote, with what every object has
 * (upstream: apiextensions-apiserver pkg/controller/openapi/builder/builder.go).
 */
import { type DefinitionContext, type JsonObject, reference } from './definitions.ts'
import type { CustomKind, GroupVersion } from './group-version.ts'
import { customDefinitionName, definitionName, extension } from './names.ts'
import { publishedSchema } from './published-schema.ts'

const conventions =
  'More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md'
const metadataText = `Standard object's metadata. ${conventions}#metadata`
const listMetadataText = `Standard list metadata. ${conventions}#types-kinds`
const embeddedVersionText = `apiVersion defines the versioned schema of this representation of an object. ${conventions}#resources`
const embeddedKindText = `kind is a string value representing the type of this object. In CamelCase. ${conventions}#types-kinds`

/** A kind whose texts for apiVersion and kind are those of all kinds. */
const anyKind = 'core/v1.ConfigMap'

/** One definition for each custom kind of the group version and one for its list. */
export function customDefinitions(
  context: DefinitionContext,
  from: GroupVersion,
): Record<string, JsonObject> {
  const definitions: Record<string, JsonObject> = {}
  for (const custom of from.custom) {
    const { group, version, kind, listKind } = custom.resource
    const name = customDefinitionName(group, version, kind)
    definitions[name] = { ...definitionOf(custom, context), ...marksOf(custom, kind) }
    definitions[customDefinitionName(group, version, listKind)] = {
      ...listDefinition(custom, name, context),
      ...marksOf(custom, listKind),
    }
  }
  return definitions
}

/** What tells clients which kind it is and what it can be selected by. Release 1.32 publishes an empty list, too. */
function marksOf({ resource }: CustomKind, kind: string): JsonObject {
  const { group, version, selectableFields } = resource
  return {
    [`${extension}group-version-kind`]: [{ group, kind, version }],
    [`${extension}selectable-fields`]: selectableFields.map((fieldPath) => ({ fieldPath })),
  }
}

function definitionOf(
  { schema, keepsUnknown }: CustomKind,
  context: DefinitionContext,
): JsonObject {
  const { version } = context
  const isFree = keepsUnknown || schema['x-kubernetes-preserve-unknown-fields'] === true
  // With any field at all kubectl rejects every other one.
  if (version === 2 && isFree) return { type: 'object' }
  const metadata = metadataOf(context, 'ObjectMeta', metadataText)
  const embedded = {
    apiVersion: { description: embeddedVersionText, type: 'string' },
    kind: { description: embeddedKindText, type: 'string' },
    metadata,
  }
  const published = publishedSchema(schema, { version, embedded })
  const own = (published['properties'] ?? {}) as JsonObject
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  return {
    ...published,
    properties: { ...own, ...typeMeta(context), metadata, ...(isEmbedded && embedded) },
  }
}

function listDefinition(
  { resource }: CustomKind,
  name: string,
  context: DefinitionContext,
): JsonObject {
  const { kind, listKind, plural } = resource
  return {
    description: `${listKind} is a list of ${kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      ...typeMeta(context),
      items: {
        description: `List of ${plural}. ${conventions}`,
        type: 'array',
        items: reference(context.version, name),
      },
      metadata: metadataOf(context, 'ListMeta', listMetadataText),
    },
  }
}

function typeMeta({ texts }: DefinitionContext): JsonObject {
  const field = (name: string) => ({ description: texts.field(anyKind, name), type: 'string' })
  return { apiVersion: field('apiVersion'), kind: field('kind') }
}

function metadataOf(
  { version, dialect }: DefinitionContext,
  kind: 'ObjectMeta' | 'ListMeta',
  description: string,
): JsonObject {
  const to = reference(version, definitionName(dialect, `meta/v1.${kind}`))
  return version === 3 ? { description, allOf: [to] } : { description, ...to }
}
