/** OpenAPI version 2: one document for everything (upstream: kube-openapi pkg/builder). */
import { customDefinitions } from './custom-definitions.ts'
import { definitionsOf, type DefinitionContext, type JsonObject, reference } from './definitions.ts'
import { discoveryPaths, discoveryStructs, versionDefinition } from './discovery-paths.ts'
import { type GroupVersion, groupVersionPaths, namedStructs, targetName } from './group-version.ts'
import { answerTypes, bodyTypes, descriptionOf, patchDefinition } from './media-types.ts'
import { extension } from './names.ts'
import type { Operation, PathItem } from './operations.ts'
import type { Parameter } from './parameters.ts'
import type { Info } from './v3.ts'

/**
 * The document of all group versions. It is large, so `pause` is awaited after each of them: the server goes on answering
 * meanwhile.
 */
export async function buildV2(
  all: readonly GroupVersion[],
  context: DefinitionContext,
  more: { info: Info; pause: () => Promise<void> },
): Promise<JsonObject> {
  const { dialect } = context
  const paths: JsonObject = discoveryPaths(dialect, all)
  const definitions: Record<string, JsonObject> = {
    ...patchDefinition(dialect),
    ...versionDefinition(dialect),
    ...definitionsOf(discoveryStructs(), context),
  }
  for (const from of all) {
    const items = groupVersionPaths(dialect, from)
    for (const item of items) paths[item.path] = pathItem(context, from, item)
    Object.assign(
      definitions,
      definitionsOf(namedStructs(from, items), context),
      customDefinitions(context, from),
    )
    await more.pause()
  }
  return {
    swagger: '2.0',
    info: more.info,
    paths: sorted(paths),
    definitions: sorted(definitions),
    securityDefinitions: {
      BearerToken: {
        description: 'Bearer Token authentication',
        type: 'apiKey',
        name: 'authorization',
        in: 'header',
      },
    },
    security: [{ BearerToken: [] }],
  }
}

function sorted(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function pathItem(context: DefinitionContext, from: GroupVersion, item: PathItem): JsonObject {
  const methods = Object.entries(item.methods).map(
    ([method, operation]) => [method, methodOf(context, from, operation)] as const,
  )
  return { ...Object.fromEntries(methods), parameters: item.parameters.map(parameterOf) }
}

function methodOf(
  context: DefinitionContext,
  from: GroupVersion,
  operation: Operation,
): JsonObject {
  const { body, parameters, kind } = operation
  const schema = (name: string) => {
    const target = targetName(context.dialect, from, name)
    return target === undefined ? { type: 'string' } : reference(2, target)
  }
  const bodyParameter = (name: string) => ({
    name: 'body',
    in: 'body',
    // A delete may come without options.
    ...(name.endsWith('.DeleteOptions') ? {} : { required: true }),
    schema: schema(name),
  })
  return {
    description: operation.description,
    consumes: bodyTypes(context, operation),
    produces: answerTypes(context, operation),
    schemes: ['https'],
    tags: [operation.tag],
    operationId: operation.id,
    parameters: [
      ...(body === undefined ? [] : [bodyParameter(body)]),
      ...parameters.map(parameterOf),
    ],
    responses: {
      ...Object.fromEntries(
        operation.codes.map((code) => [
          code,
          { description: descriptionOf(code), schema: schema(operation.answer) },
        ]),
      ),
      401: { description: 'Unauthorized' },
    },
    [`${extension}action`]: operation.action,
    [`${extension}group-version-kind`]: kind,
  }
}

function parameterOf({ name, in: place, description, type }: Parameter): JsonObject {
  return {
    uniqueItems: true,
    type,
    description,
    name,
    in: place,
    ...(place === 'path' ? { required: true } : {}),
  }
}
