/** OpenAPI version 3: one document for each group version (upstream: kube-openapi pkg/builder3). */
import { customDefinitions } from './custom-definitions.ts'
import { definitionsOf, type DefinitionContext, type JsonObject, reference } from './definitions.ts'
import { type GroupVersion, groupVersionPaths, namedStructs, targetName } from './group-version.ts'
import { answerTypes, bodyTypes, descriptionOf, patchDefinition } from './media-types.ts'
import { extension } from './names.ts'
import type { Operation, PathItem } from './operations.ts'
import type { Parameter } from './parameters.ts'

/** The `info` of every document. */
export interface Info {
  readonly title: string
  readonly version: string
}

/** The document of one group version. */
export function buildV3(from: GroupVersion, context: DefinitionContext, info: Info): JsonObject {
  const { dialect } = context
  const items = groupVersionPaths(dialect, from)
  const paths: JsonObject = {}
  for (const item of items) paths[item.path] = pathItem(context, from, item)
  return {
    openapi: '3.0.0',
    info,
    paths,
    components: {
      schemas: {
        ...definitionsOf(namedStructs(from, items), context),
        ...customDefinitions(context, from),
        ...patchDefinition(dialect),
      },
      securitySchemes: {
        BearerToken: {
          description: 'Bearer Token authentication',
          type: 'apiKey',
          name: 'authorization',
          in: 'header',
        },
      },
    },
  }
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
  const { body, answer, parameters, kind } = operation
  const schema = (name: string) => {
    const target = targetName(context.dialect, from, name)
    return { schema: target === undefined ? { type: 'string' } : reference(3, target) }
  }
  const answered = content(answerTypes(context, operation), schema(answer))
  return {
    tags: [operation.tag],
    description: operation.description,
    operationId: operation.id,
    ...(parameters.length === 0 ? {} : { parameters: parameters.map(parameterOf) }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            content: content(bodyTypes(context, operation), schema(body)),
            // A delete may come without options.
            ...(body.endsWith('.DeleteOptions') ? {} : { required: true }),
          },
        }),
    responses: {
      ...Object.fromEntries(
        operation.codes.map((code) => [
          code,
          { description: descriptionOf(code), content: answered },
        ]),
      ),
      401: { description: 'Unauthorized' },
    },
    [`${extension}action`]: operation.action,
    [`${extension}group-version-kind`]: kind,
  }
}

function content(types: readonly string[], value: JsonObject): JsonObject {
  return Object.fromEntries(types.map((type) => [type, value]))
}

function parameterOf(parameter: Parameter): JsonObject {
  const { name, in: place, description, type } = parameter
  return {
    name,
    in: place,
    description,
    ...(place === 'path' ? { required: true } : {}),
    schema: { type, uniqueItems: true },
  }
}
